"""The connection: scripts are run, driver errors become storage errors, a child process gets connections of its own."""

from __future__ import annotations

import collections.abc as cabc
import functools
import re
import threading
import time
import typing as t

import msgspec
import redis
from redis.backoff import NoBackoff
from redis.client import NEVER_DECODE
from redis.cluster import RedisCluster
from redis.exceptions import NoScriptError
from redis.exceptions import RedisClusterException
from redis.retry import Retry

from ...errors import CorruptRecord
from ...errors import NewerFormat
from ...errors import StorageError
from ..reports import StoreReport
from .names import types_of
from .scripts import Script

TIMEOUT = 10.0
"""Seconds, unless the URL says otherwise."""

Client = redis.Redis | RedisCluster

_encode = msgspec.msgpack.Encoder().encode
_AS_BYTES = {NEVER_DECODE: True}
_CODE = re.compile(r"[A-Z]{3,}\b")
"""The word with which an error of the server begins; what follows may quote what a visitor wrote."""
_NEWER = re.compile(r"NEWER (\d+)")
_LOST = (redis.ConnectionError, redis.TimeoutError)
_FAILED = (redis.RedisError, RedisClusterException, OSError)


class Server:
    """One server or a cluster.

    :param client: the site's, which is never closed; or None to open the URL on first use.
    """

    def __init__(self, client: Client | None, url: str | None, cluster: bool) -> None:
        self._url = url
        self._client = client
        self.is_cluster = cluster or isinstance(client, RedisCluster)
        self._closed = False
        self._inherited: list[Client] = []
        self._opening = threading.Lock()

    def run(
        self,
        script: Script,
        index: str | bytes,
        given: cabc.Mapping[str, t.Any],
        bodies: cabc.Iterable[bytes] = (),
        *,
        repeatable: bool,
        others: cabc.Iterable[str | bytes] = (),
    ) -> t.Any:
        """Run a script in one round trip and return its answer, text as bytes.

        :param index: name of a scope's index; ``others`` are those of further scopes.
        :param bodies: JSON of messages.
        :param repeatable: run it once more if the connection is lost: it may have run already.
        """
        keys, texts = (index, *others), tuple(bodies)

        def call(told: cabc.Mapping[str, t.Any] = given) -> t.Any:
            return self._evaluate(script, (len(keys), *keys, _encode(told), *texts))

        return self._guarded(call, repeatable, index, given.get("digest"), again=lambda: call({**given, "again": True}))

    def ping(self, prefix: str) -> None:
        """Ask the server, all of a cluster, for a sign of life.

        :param prefix: names the place in errors.
        """
        self._guarded(lambda: t.cast(t.Any, self._opened()).ping(), True, prefix, None)

    def newest(self, index: str, digest: str, limit: int | None) -> list[bytes]:
        """Return the head of a thread and, before it, the newest messages, all without a limit."""
        arguments = ("LRANGE", f"{index}:{digest}:messages", 0 if limit is None else -limit - 1, -1)
        return t.cast("list[bytes]", self._guarded(lambda: self._execute(*arguments), True, index, digest))

    def scan(self, pattern: str) -> cabc.Iterator[list[bytes]]:
        """Yield the names that match, some at a time, on all servers that hold keys."""
        client = self._opened()
        for node in t.cast(t.Any, client).get_primaries() if self.is_cluster else [None]:
            where: dict[str, t.Any] = {"target_nodes": node} if node else {}
            cursor: t.Any = 0
            while cursor is not None:
                arguments = ("SCAN", cursor, "MATCH", pattern, "COUNT", 1000)
                found = self._guarded(functools.partial(self._execute, *arguments, **where), True, pattern, None)
                cursor = found[0][node.name] if node else found[0]
                cursor = int(cursor) or None
                yield found[1]

    def _guarded(
        self,
        call: cabc.Callable[[], t.Any],
        repeatable: bool,
        index: str | bytes,
        digest: str | None,
        again: cabc.Callable[[], t.Any] | None = None,
    ) -> t.Any:
        """Make a call.

        :param again: is called instead when the first may have been made although the connection was lost.
        """
        try:
            try:
                return call()
            except _LOST as error:
                if not repeatable or isinstance(error, redis.AuthenticationError):
                    raise
                return (again or call)()
        except _FAILED as error:
            # Without the driver's text: it may quote an address or what a visitor wrote.
            code = _CODE.match(str(error)) if isinstance(error, redis.ResponseError) else None
            reason = f"{type(error).__name__}{f' ({code[0]})' if code else ''}"
            if code and code[0] == "CORRUPT":
                raise CorruptRecord(f"Redis: a thread at {index!r} cannot be read") from error
            newer = _NEWER.match(str(error))
            if newer:
                raise NewerFormat(f"Redis: a thread at {index!r}", int(newer[1])) from error
            if code and code[0] == "WRONGTYPE":
                reason = self._find_misplaced(index, digest) or reason
            raise StorageError(f"Redis failed at {index!r}: {reason}") from error

    def _evaluate(self, script: Script, arguments: tuple[t.Any, ...]) -> t.Any:
        try:
            return self._execute("EVALSHA", script.digest, *arguments)
        except NoScriptError:
            return self._execute("EVAL", script.text, *arguments)

    def _execute(self, *command: t.Any, **where: t.Any) -> t.Any:
        client = t.cast(t.Any, self._opened())
        if self._url is None or self.is_cluster:
            # Not decoded, whatever the site's client does to its own replies.
            return client.execute_command(*command, **_AS_BYTES, **where)
        # What the driver does besides, retries and metrics, costs as much as the rest of a round trip. A connection
        # that fails closes itself.
        connection = client.connection_pool.get_connection()
        try:
            connection.send_command(*command)
            return connection.read_response(disable_decoding=True)
        finally:
            client.connection_pool.release(connection)

    def _find_misplaced(self, index: str | bytes, digest: str | None) -> str | None:
        """Name the key of another type, as far as it is still there."""
        index = index if isinstance(index, str) else index.decode(errors="replace")
        digests = {digest}
        try:
            if self._execute("TYPE", f"{index}:current") == b"string":
                digests.add(self._execute("GET", f"{index}:current").decode())
            for name, kind in types_of(index, *(digest for digest in digests if digest)).items():
                found = self._execute("TYPE", name).decode()
                if found not in (kind, "none"):
                    return f"the key {name!r} is a {found}, not a {kind}"
        except (*_FAILED, AttributeError):
            pass
        return None

    def examine(self) -> StoreReport:
        """Return what the server tells of itself."""
        client: t.Any = self._opened()
        # Of a cluster, any server answers.
        where: dict[str, t.Any] = {"target_nodes": RedisCluster.RANDOM} if self.is_cluster else {}
        before = time.time()
        seconds, micros = self._guarded(functools.partial(client.time, **where), True, "TIME", None)
        ahead = seconds + micros / 1e6 - (before + time.time()) / 2
        info = self._guarded(functools.partial(client.info, "server", **where), True, "INFO", None)
        place = "the Redis Cluster" if self.is_cluster else "the Redis server"
        return StoreReport(place=place, version=f"Redis {info['redis_version']}", ahead=ahead)

    def close(self) -> None:
        self._closed = True
        if self._url is not None and self._client is not None:
            self._client.close()

    def after_fork(self) -> None:
        """Leave the connections to the parent process, which goes on using them."""
        self._opening = threading.Lock()
        if self._url is not None and self._client is not None:
            # Kept, for even closing a connection of the parent would disturb it.
            self._inherited.append(self._client)
            self._client = None

    def _opened(self) -> Client:
        if self._closed:
            raise StorageError("the plugin is closed")
        client = self._client
        if client is None:
            with self._opening:
                client = self._client = self._client or self._open(t.cast(str, self._url))
        return client

    def _open(self, url: str) -> Client:
        timeouts: dict[str, t.Any] = {"socket_timeout": TIMEOUT, "socket_connect_timeout": TIMEOUT}
        if self.is_cluster:
            return RedisCluster.from_url(url, **timeouts)
        # What may be sent again is decided here, not by the driver.
        return redis.Redis.from_url(url, retry=Retry(NoBackoff(), 0), **timeouts)
