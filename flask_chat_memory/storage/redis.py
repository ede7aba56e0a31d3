"""Documents in Redis or Valkey, on one server or a cluster."""

from __future__ import annotations

import builtins
import collections.abc as cabc
import hashlib
import itertools
import time
import typing as t

from ..errors import NewerFormat
from ..plugins.base import Clock
from ..plugins.options import CheckedOptions
from ..plugins.redis import RedisPlugin
from ..plugins.redis_.location import plain_url
from ..plugins.redis_.names import escaped
from ..plugins.redis_.scripts import Script
from ..plugins.redis_.server import Server
from ..plugins.reports import StoreReport
from ..values import clean
from .base import BuiltInStorage
from .beside import location_options
from .rules import check_key
from .rules import corrupt
from .rules import decode
from .rules import Document
from .rules import encode
from .rules import end_of_range
from .rules import literal_start
from .rules import matching

PAGE = 1000
"""Names that one call asks for: a script keeps everybody else waiting."""
WHOLE_PAGE = 200
"""Documents that one call asks for."""

_SAVE, _CREATE, _EXCHANGE, _LOAD, _EXISTS, _DELETE, _CLEAN_UP = (
    Script(name, ("documents",), f"{__package__}.redis_")
    for name in ("save", "create", "exchange", "load", "exists", "delete", "clean_up")
)
_LIST, _LOAD_ALL, _TIMES = (
    Script(name, ("documents", "alive"), f"{__package__}.redis_") for name in ("list", "load_all", "times")
)


class RedisStorage(BuiltInStorage):
    """Keeps each document in a key of its own, beside an index of its top folder, with which it changes in one step."""

    id = "redis"
    Options = location_options(RedisPlugin)

    def __init__(
        self, options: CheckedOptions | cabc.Mapping[str, t.Any] | None = None, *, clock: Clock = time.time
    ) -> None:
        super().__init__(options, clock=clock)
        url, is_cluster = plain_url(self.options.url, self.options.cluster)
        self._server = Server(self.options.client, url, is_cluster)

    def save(self, key: str, document: cabc.Mapping[str, t.Any]) -> None:
        body = encode(document)
        self._run(_SAVE, check_key(key), body, time=repr(float(self.clock())))

    def create(self, key: str, document: cabc.Mapping[str, t.Any]) -> bool:
        body = encode(document)
        # Sent again, it would find what it has stored.
        return bool(self._run(_CREATE, check_key(key), body, repeatable=False, time=repr(float(self.clock()))))

    def exchange(self, key: str, document: cabc.Mapping[str, t.Any], other: cabc.Mapping[str, t.Any]) -> bool:
        old, new = encode(document), encode(other)
        # Sent again, it would not find what it has replaced.
        return bool(self._run(_EXCHANGE, check_key(key), old, new, repeatable=False))

    def load(self, key: str) -> Document | None:
        record = self._run(_LOAD, check_key(key))
        return None if record is None else _document(record, key)

    def delete(self, key: str) -> bool:
        # Sent again, it would not find what it has removed.
        return bool(self._run(_DELETE, check_key(key), repeatable=False))

    def list(self, pattern: str = "*") -> builtins.list[str]:
        names = (name.decode() for (names,) in self._pages(_LIST, pattern, PAGE) for name in names)
        return matching(names, pattern)

    def load_all(self, pattern: str = "*") -> builtins.list[tuple[str, Document]]:
        found: dict[str, bytes] = {}
        for names, records in self._pages(_LOAD_ALL, pattern, WHOLE_PAGE):
            found.update(zip((name.decode() for name in names), records, strict=True))
        return [(name, _document(found[name], name)) for name in matching(found, pattern)]

    def exists(self, key: str) -> bool:
        return bool(self._run(_EXISTS, check_key(key)))

    def clean_up(self, before: float, pattern: str = "*") -> int:
        count = 0
        for index, group in itertools.groupby(self.list(pattern), self._index):
            names = builtins.list(group)
            for place in range(0, len(names), PAGE):
                given = {"before": float(before), "names": names[place : place + PAGE]}
                count += self._server.run(_CLEAN_UP, index, given, repeatable=False)
        return count

    def stored_times(self, pattern: str = "*") -> dict[str, float | None]:
        found: dict[str, float | None] = {}
        for names, times in self._pages(_TIMES, pattern, PAGE):
            found.update(zip((name.decode() for name in names), map(_time_of, times), strict=True))
        return {name: found[name] for name in matching(found, pattern)}

    def examine_store(self) -> StoreReport:
        return self._server.examine()

    def ping(self) -> None:
        self._server.ping(self._prefix)

    def close(self) -> None:
        self._server.close()

    def after_fork(self) -> None:
        super().after_fork()
        self._server.after_fork()

    def _run(self, script: Script, key: str, *bodies: bytes, repeatable: bool = True, **given: t.Any) -> t.Any:
        return self._server.run(script, self._index(key), {"name": key, **given}, bodies, repeatable=repeatable)

    def _pages(self, script: Script, pattern: str, count: int) -> cabc.Iterator[builtins.list[t.Any]]:
        """Yield what a script tells of all names that begin as the pattern does, so many in a call."""
        start = literal_start(pattern)
        if clean(start) != start:
            return
        pinned = "/" in start or start == pattern
        end = end_of_range(start)
        for index in [self._index(start)] if pinned else self._indexes():
            given = {"from": f"[{start}", "to": "+" if end is None else f"({end}", "count": count}
            while given["from"]:
                *told, last = self._server.run(script, index, given, repeatable=True)
                yield told
                given["from"] = last and f"({last.decode()}"

    def _indexes(self) -> builtins.list[str]:
        found = self._server.scan(f"{escaped(self._prefix)}{{*}}")
        return sorted({name.decode() for names in found for name in names})

    @property
    def _prefix(self) -> str:
        return f"{self.options.key_prefix}document:"

    def _index(self, key: str) -> str:
        """Return the name of the index of a key's top folder: in braces, so that a cluster keeps all of it together."""
        digest = hashlib.blake2b(key.partition("/")[0].encode(), digest_size=16).hexdigest()
        return f"{self._prefix}{{{digest}}}"


def _time_of(text: bytes) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _document(record: bytes, key: str) -> Document:
    time, separator, body = record.partition(b" ")
    if time.startswith(b"#") and time[1:].isdigit():
        # As a later release begins what is to be read in another way.
        raise NewerFormat(f"the stored document {key!r}", int(time[1:]))
    if not separator:
        raise corrupt(key)
    return decode(body, key)
