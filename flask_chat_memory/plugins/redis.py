"""Threads in Redis or Valkey, on one server or a cluster."""

from __future__ import annotations

import collections.abc as cabc
import time
import typing as t

import redis
from redis.cluster import RedisCluster

from ..errors import ConfigurationError
from ..message import ChatMessage
from ..values import clean
from .abilities import MovesThreads
from .abilities import Reseals
from .abilities import SearchesMessages
from .base import Clock
from .counting import total_tokens
from .options import Option
from .options import PluginOptions
from .records import Scope
from .records import Search
from .redis_ import scripts
from .redis_.lines import RedisLines
from .redis_.location import check_cluster
from .redis_.location import check_url
from .redis_.location import plain_url
from .redis_.marks import RedisMarks
from .redis_.moving import Move
from .redis_.packing import bounded
from .redis_.packing import pack
from .redis_.restoring import RedisRestoring
from .redis_.server import Server
from .redis_.turns import RedisTurns
from .registry import chat_memory_plugin
from .reports import StoreReport
from .rules import check_append
from .rules import is_thread_id
from .rules import KEYS_KEPT
from .rules import new_id
from .searching import search_by_reading

SLACK = 60
"""Seconds, at least, that Redis keeps what is expired, which is so by the clock of the plugin.

Of a long expiry it is a hundredth: a deadline is moved only when it is off by half of that.
"""


@chat_memory_plugin(
    "redis",
    label="Redis",
    description="Conversations in Redis or Valkey, on one server or a cluster, for sites on several hosts.",
)
class RedisPlugin(RedisLines, RedisTurns, RedisMarks, RedisRestoring, MovesThreads, SearchesMessages):
    """Keeps threads in keys of its own; each operation is one script, and so one step and one round trip."""

    storage = "redis"
    shared_by_processes = True

    class Options(PluginOptions, frozen=True, kw_only=True):
        """Where the server is: ``url``, or ``client`` for one that the site has opened."""

        url: t.Annotated[
            str | None,
            Option(label="Redis URL", help="redis://, rediss:// or unix://, as redis://localhost:6379/0.", secret=True),
        ] = None
        client: t.Annotated[
            t.Any, Option(label="Client", help="The site's redis.Redis or RedisCluster.", secret=True)
        ] = None
        cluster: t.Annotated[
            bool, Option(label="Cluster", help="The URL is that of one server of a Redis Cluster.")
        ] = False
        key_prefix: t.Annotated[str, Option(label="Key prefix", help="Begins the name of every key.")] = "chat-memory:"

        def __post_init__(self) -> None:
            if (self.url is None) == (self.client is None):
                raise ConfigurationError("redis: give either url, as redis://localhost:6379/0, or client")
            if self.url is not None:
                check_url(self.url, self.cluster)
            elif self.cluster:
                raise ConfigurationError("redis: cluster goes with url; a client of a cluster is a RedisCluster")
            elif not isinstance(self.client, (redis.Redis, RedisCluster)) or isinstance(
                self.client, redis.client.Pipeline
            ):
                raise ConfigurationError("redis: client must be a redis.Redis or a RedisCluster, not an async one")
            elif isinstance(self.client, RedisCluster):
                check_cluster(vars(self.client))
            if "{" in self.key_prefix or "}" in self.key_prefix or clean(self.key_prefix) != self.key_prefix:
                raise ConfigurationError("redis: key_prefix must not hold braces, which mark what keeps keys together")

    options: Options

    def __init__(
        self, options: PluginOptions | cabc.Mapping[str, t.Any] | None = None, *, clock: Clock = time.time
    ) -> None:
        super().__init__(options, clock=clock)
        url, is_cluster = plain_url(self.options.url, self.options.cluster)
        self._server = Server(self.options.client, url, is_cluster)
        self._prefix = self.options.key_prefix
        self._rules = {
            "expiry": bounded(self.options.expiry),
            "slack": max(SLACK, (self.options.expiry or 0) // 100),
            "one": self.options.threads == "one",
            "max_messages": bounded(self.options.max_messages),
            "max_threads": bounded(self.options.max_threads),
            "keys_kept": KEYS_KEPT,
        }

    def create_thread_id(self) -> str:
        return new_id()

    def save_messages(self, scope: Scope, thread_id: str, messages: cabc.Sequence[ChatMessage]) -> None:
        check_append(thread_id, None)
        messages = list(messages)
        packed, bodies = pack(messages)
        self._write(scripts.REPLACE, scope, thread_id, bodies, messages=packed, tokens=total_tokens(messages))

    def delete_thread(self, scope: Scope, thread_id: str) -> bool:
        return bool(self._run(scripts.DELETE, scope, thread_id))

    def clear_messages(self, scope: Scope, thread_id: str) -> None:
        if is_thread_id(thread_id):
            self._write(scripts.CLEAR, scope, thread_id)

    def search_messages(self, scope: Scope, text: str, *, limit: int | None = None) -> Search:
        return search_by_reading(self, scope, text, limit)

    def move_threads(self, source: Scope, target: Scope, *, reseal: Reseals | None = None) -> int:
        if source == target:
            return 0
        given = {**self._times(), **self._rules}
        return Move(self._server, self._prefix, source, target, given, reseal).run()

    def store_identity(self) -> object:
        return self.id, self.options.client or self.options.url, self._prefix

    def examine_store(self) -> StoreReport:
        return self._server.examine()

    def ping(self) -> None:
        self._server.ping(self._prefix)

    def close(self) -> None:
        self._server.close()

    def after_fork(self) -> None:
        super().after_fork()
        self._server.after_fork()
