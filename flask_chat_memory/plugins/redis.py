"""Threads in Redis or Valkey, on one server or a cluster."""

from __future__ import annotations

import collections.abc as cabc
import secrets
import time
import typing as t

import redis
from redis.cluster import RedisCluster

from ..errors import ConfigurationError
from ..message import ChatMessage
from ..values import clean
from .abilities import CurrentThread
from .abilities import KeepsLiveTurns
from .abilities import MovesThreads
from .abilities import Reseals
from .base import ChatMemoryPlugin
from .base import Clock
from .counting import total_tokens
from .options import Option
from .options import PluginOptions
from .records import Appended
from .records import LiveTurn
from .records import Renewal
from .records import Scope
from .redis_ import scripts
from .redis_.location import check_cluster
from .redis_.location import check_url
from .redis_.location import plain_url
from .redis_.moving import Move
from .redis_.names import index_name
from .redis_.names import thread_digest
from .redis_.packing import bounded
from .redis_.packing import pack
from .redis_.packing import unpack
from .redis_.packing import unpack_head
from .redis_.packing import unpack_live
from .redis_.server import Server
from .redis_.threads import RedisThreads
from .redis_.usage import RedisUsage
from .redis_.usage import usage_fields
from .registry import chat_memory_plugin
from .rules import check_append
from .rules import check_range
from .rules import is_thread_id
from .rules import KEYS_KEPT
from .rules import new_id

SLACK = 60
"""Seconds, at least, that Redis keeps what is expired, which is so by the clock of the plugin.

Of a long expiry it is a hundredth: a deadline is moved only when it is off by half of that.
"""


@chat_memory_plugin(
    "redis",
    label="Redis",
    description="Conversations in Redis or Valkey, on one server or a cluster, for sites on several hosts.",
)
class RedisPlugin(ChatMemoryPlugin, CurrentThread, KeepsLiveTurns, MovesThreads, RedisThreads, RedisUsage):
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

    def has_thread(self, scope: Scope, thread_id: str) -> bool:
        return is_thread_id(thread_id) and self._newest(scope, thread_id, 0) is not None

    def load_messages(
        self,
        scope: Scope,
        thread_id: str,
        *,
        limit: int | None = None,
        before: int | None = None,
        after: int | None = None,
    ) -> list[ChatMessage]:
        check_range(limit, before, after)
        if not is_thread_id(thread_id) or limit == 0:
            return []
        if before is None and after is None:
            return self._newest(scope, thread_id, bounded(limit)) or []
        range_ = {"limit": bounded(limit), "before": bounded(before), "after": bounded(after)}
        given = {**self._times(), "digest": thread_digest(thread_id), **range_}
        found = self._server.run(scripts.LOAD, self._index(scope), given, repeatable=True)
        return [] if found is None else unpack(found[1], self._name(scope, thread_id))

    def save_messages(self, scope: Scope, thread_id: str, messages: cabc.Sequence[ChatMessage]) -> None:
        check_append(thread_id, None)
        messages = list(messages)
        packed, bodies = pack(messages)
        self._write(scripts.REPLACE, scope, thread_id, bodies, messages=packed, tokens=total_tokens(messages))

    def delete_thread(self, scope: Scope, thread_id: str) -> bool:
        return bool(self._run(scripts.DELETE, scope, thread_id))

    def append_messages(
        self,
        scope: Scope,
        thread_id: str,
        messages: cabc.Sequence[ChatMessage],
        *,
        key: str | None = None,
        reply_to: str | None = None,
        only_into: str | None = None,
    ) -> Appended | None:
        return self._append(scope, thread_id, messages, key, reply_to, only_into)

    def clear_messages(self, scope: Scope, thread_id: str) -> None:
        if is_thread_id(thread_id):
            self._write(scripts.CLEAR, scope, thread_id)

    def current_thread(self, scope: Scope) -> str | None:
        return self.load_current(scope, limit=0)[0]

    def load_current(self, scope: Scope, *, limit: int | None = None) -> tuple[str | None, list[ChatMessage]]:
        check_range(limit, None, None)
        given = {**self._times(), "limit": bounded(limit)}
        found = self._server.run(scripts.LOAD, self._index(scope), given, repeatable=True)
        if found is None:
            return None, []
        current = found[0].decode()
        return current, unpack(found[1][:-1], self._name(scope, current))

    def start_turn(
        self,
        scope: Scope,
        thread_id: str,
        question: ChatMessage,
        *,
        key: str,
        live: LiveTurn,
        only_into: str | None = None,
    ) -> Appended:
        begins = [clean(live.turn), float(live.lease), [live.question_id, live.answer_id]]
        return t.cast(Appended, self._append(scope, thread_id, [question], key, None, only_into, begins=begins))

    def renew_turns(self, turns: cabc.Collection[Renewal], lease: float) -> set[str]:
        # The keys of several scopes can be in one script, unless they are on several servers.
        scopes: dict[str, list[tuple[str, list[str | None]]]] = {}
        for scope, thread_id, turn, text in turns:
            index = self._index(scope)
            group = scopes.setdefault(index if self._server.is_cluster else "", [])
            group.append((index, [thread_digest(thread_id), clean(turn), text]))
        unwanted: set[str] = set()
        for group in scopes.values():
            indexes, names = zip(*group, strict=True)
            given = {**self._times(), **self._rules, "lease": float(lease), "turns": names}
            stops = self._server.run(scripts.RENEW, indexes[0], given, repeatable=True, others=indexes[1:])
            unwanted.update(turn.decode() for turn in stops)
        return unwanted

    def stop_turn(self, scope: Scope, thread_id: str, turn: str) -> bool:
        if not is_thread_id(thread_id):
            return False
        given = {**self._times(), **self._rules, "digest": thread_digest(thread_id), "turn": clean(turn)}
        return bool(self._server.run(scripts.STOP, self._index(scope), given, repeatable=True))

    def end_turn(
        self,
        scope: Scope,
        thread_id: str,
        turn: str,
        messages: cabc.Sequence[ChatMessage],
        *,
        key: str,
        reply_to: str,
        only_into: str | None = None,
    ) -> Appended | None:
        return self._append(scope, thread_id, messages, key, reply_to, only_into, ends=clean(turn))

    def live_turns(self, scope: Scope, thread_id: str) -> list[LiveTurn]:
        if not is_thread_id(thread_id):
            return []
        given = {**self._times(), "digest": thread_digest(thread_id)}
        packed = self._server.run(scripts.LIVE, self._index(scope), given, repeatable=True)
        return unpack_live(packed, self._name(scope, thread_id))

    def move_threads(self, source: Scope, target: Scope, *, reseal: Reseals | None = None) -> int:
        if source == target:
            return 0
        given = {**self._times(), **self._rules}
        return Move(self._server, self._prefix, source, target, given, reseal).run()

    def close(self) -> None:
        self._server.close()

    def after_fork(self) -> None:
        super().after_fork()
        self._server.after_fork()

    def _append(
        self,
        scope: Scope,
        thread_id: str,
        messages: cabc.Sequence[ChatMessage],
        key: str | None,
        reply_to: str | None = None,
        only_into: str | None = None,
        **turn: t.Any,
    ) -> Appended | None:
        check_append(thread_id, key)
        messages = list(messages)
        packed, bodies = pack(messages)
        stored = self._write(
            scripts.APPEND,
            scope,
            thread_id,
            bodies,
            repeatable=key is not None,
            messages=packed,
            tokens=total_tokens(messages),
            key=key,
            reply_to=None if reply_to is None else clean(reply_to),
            only_into=only_into,
            usage=[] if reply_to is None else usage_fields(messages, self.clock()),
            **turn,
        )
        return None if stored is None else Appended(stored[0].decode(), stored[1], bool(stored[2]))

    def _newest(self, scope: Scope, thread_id: str, limit: int | None) -> list[ChatMessage] | None:
        """Read with a command of Redis itself: what passes through a script is copied several times."""
        found = self._server.newest(self._index(scope), thread_digest(thread_id), limit)
        if not found:
            return None
        name = self._name(scope, thread_id)
        head = unpack_head(found.pop(), name)
        return None if self.is_expired(head.active) and head.lease <= self.clock() else unpack(found, name)

    def _write(
        self,
        script: scripts.Script,
        scope: Scope,
        thread_id: str,
        bodies: cabc.Iterable[bytes] = (),
        *,
        repeatable: bool = False,
        **given: t.Any,
    ) -> t.Any:
        given |= self._times()
        given |= self._rules
        given["owner"] = scope.owner
        given["chatbot"] = scope.chatbot
        given["id"] = thread_id
        given["digest"] = thread_digest(thread_id)
        # Tells the same call, sent again, from another one.
        given["nonce"] = secrets.token_hex(8)
        return self._server.run(script, self._index(scope), given, bodies, repeatable=repeatable)

    def _times(self) -> dict[str, t.Any]:
        now, expiry = float(self.clock()), self.options.expiry
        return {"now": now, "time": repr(now), "cutoff": float("-inf") if expiry is None else now - expiry}

    def _index(self, scope: Scope) -> str:
        return index_name(self._prefix, scope)

    def _name(self, scope: Scope, thread_id: str) -> str:
        return f"{self._index(scope)}:{thread_digest(thread_id)}"
