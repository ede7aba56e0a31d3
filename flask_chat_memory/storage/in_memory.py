"""Documents in the memory of the process, for tests: gone when it ends."""

from __future__ import annotations

import builtins
import collections.abc as cabc
import time
import typing as t

from ..plugins.base import Clock
from ..plugins.options import CheckedOptions
from .base import BuiltInStorage
from .rules import check_key
from .rules import decode
from .rules import Document
from .rules import encode
from .rules import matching


class InMemoryStorage(BuiltInStorage):
    """Keeps documents in a dict, as JSON."""

    id = "in_memory"

    def __init__(
        self, options: CheckedOptions | cabc.Mapping[str, t.Any] | None = None, *, clock: Clock = time.time
    ) -> None:
        super().__init__(options, clock=clock)
        self._records: dict[str, tuple[float, bytes]] = {}

    def save(self, key: str, document: cabc.Mapping[str, t.Any]) -> None:
        record = self.clock(), encode(document)
        with self.lock:
            self._records[check_key(key)] = record

    def create(self, key: str, document: cabc.Mapping[str, t.Any]) -> bool:
        record = self.clock(), encode(document)
        with self.lock:
            return self._records.setdefault(check_key(key), record) is record

    def exchange(self, key: str, document: cabc.Mapping[str, t.Any], other: cabc.Mapping[str, t.Any]) -> bool:
        old, new = encode(document), encode(other)
        with self.lock:
            time, there = self._records.get(check_key(key), (0.0, None))
            if there != old:
                return False
            self._records[key] = time, new
            return True

    def load(self, key: str) -> Document | None:
        with self.lock:
            record = self._records.get(check_key(key))
        return None if record is None else decode(record[1], key)

    def delete(self, key: str) -> bool:
        with self.lock:
            return self._records.pop(check_key(key), None) is not None

    def list(self, pattern: str = "*") -> builtins.list[str]:
        with self.lock:
            return matching(self._records, pattern)

    def exists(self, key: str) -> bool:
        with self.lock:
            return check_key(key) in self._records

    def stored_times(self, pattern: str = "*") -> dict[str, float | None]:
        with self.lock:
            return {key: self._records[key][0] for key in self.list(pattern)}

    def clean_up(self, before: float, pattern: str = "*") -> int:
        with self.lock:
            old = [key for key in self.list(pattern) if self._records[key][0] < before]
            return sum(self.delete(key) for key in old)
