"""What the abilities of the plugin share."""

from __future__ import annotations

import abc
import collections.abc as cabc
import typing as t

from ..records import Appended
from ..records import Scope
from .database import Database
from .database import R
from .moving import Mover
from .rows import Append
from .statements import Statements


class SQLPart(abc.ABC):
    """Part of the plugin whose database and statements these are."""

    _database: Database
    _statements: Statements

    @abc.abstractmethod
    def _write(self, work: cabc.Callable[[Mover], R], *scopes: Scope) -> R:
        """Do work in a transaction that keeps others from the scopes."""

    @abc.abstractmethod
    def _append(self, append: Append) -> Appended | None: ...

    @abc.abstractmethod
    def _times(self) -> dict[str, t.Any]:
        """Return the parameters ``now`` and ``cutoff`` of :class:`Conditions`."""

    @abc.abstractmethod
    def _of_thread(self, scope: Scope, thread_id: str) -> dict[str, t.Any]:
        """Return the parameters of a statement about a thread."""
