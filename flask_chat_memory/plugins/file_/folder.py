"""How the operations of the plugin get at its folder."""

from __future__ import annotations

import abc
import collections.abc as cabc
import contextlib
import threading
import typing as t

from ...disk.files import DiskErrors
from ...disk.locks import Locks
from ...errors import CorruptRecord
from ..base import Clock
from ..options import PluginOptions
from ..records import Scope
from .names import Names
from .names import scope_name
from .threads import Threads
from .writing import Writer

T = t.TypeVar("T")


class InFolder(abc.ABC):
    """What the operations of a plugin with a folder share. Reading takes no lock."""

    _names: Names
    _locks: Locks
    _errors: DiskErrors
    options: PluginOptions
    lock: threading.RLock
    clock: Clock

    def _read(self, scope: Scope, read: cabc.Callable[[Threads], T]) -> T:
        with self._errors:
            try:
                return read(Threads(self._names, self.options, self.clock()))
            except CorruptRecord:
                # A reader may meet a torn batch while a writer cuts it off.
                with self._writing(scope) as writer:
                    return read(writer)

    @contextlib.contextmanager
    def _writing(self, *scopes: Scope) -> cabc.Iterator[Writer]:
        with self._errors, self._locks.hold(self.lock, *map(scope_name, scopes)):
            yield Writer(self._names, self.options, self.clock())
