"""The threads of all scopes, each kept as a whole, and which of them are still there."""

from __future__ import annotations

import abc
import collections.abc as cabc
import logging
import typing as t

from ...errors import CorruptRecord
from ...events import log_event
from ..base import Clock
from ..options import PluginOptions
from ..records import Scope
from ..rules import is_thread_id
from .ledger import AnswersLedger
from .thread import StoredThread

logger = logging.getLogger(__name__)


class Found(t.NamedTuple):
    """A thread, and where it is."""

    scope: Scope
    thread_id: str
    thread: StoredThread


Read = cabc.Callable[[], Found | None]
"""Reads a thread that was there a moment ago; raises CorruptRecord if it cannot."""


class Threads(abc.ABC):
    """The threads of all scopes, the ongoing one of each, and what their answers have cost.

    A store gives and keeps whole values; what it gave may be changed, and is kept so by giving it back. Whoever changes
    something holds the lock of the plugin.
    """

    def __init__(self, options: PluginOptions, clock: Clock) -> None:
        self._options = options
        self.clock = clock

    @abc.abstractmethod
    def load(self, scope: Scope, thread_id: str) -> StoredThread | None:
        """Return a thread, also one that is expired."""

    @abc.abstractmethod
    def keep(self, scope: Scope, thread_id: str, thread: StoredThread) -> None:
        """Keep a thread in the place of what is there, in one step."""

    @abc.abstractmethod
    def drop(self, scope: Scope, thread_id: str) -> None:
        """Remove a thread, even one that cannot be read."""

    @abc.abstractmethod
    def readers(self, scope: Scope | None = None) -> list[Read]:
        """Return what reads each thread of a scope, or of all scopes; also those that are expired."""

    @abc.abstractmethod
    def load_named(self, scope: Scope) -> str | None:
        """Return the id that was last kept as that of the ongoing thread, which may be gone."""

    @abc.abstractmethod
    def keep_named(self, scope: Scope, thread_id: str | None) -> None:
        """Keep the id of the ongoing thread."""

    @abc.abstractmethod
    def load_ledger(self, scope: Scope) -> AnswersLedger:
        """Return what the answers of a scope have cost."""

    @abc.abstractmethod
    def keep_ledger(self, scope: Scope, ledger: AnswersLedger) -> None:
        """Keep a ledger in the place of what is there, in one step."""

    @abc.abstractmethod
    def drop_ledger(self, scope: Scope) -> None:
        """Remove a ledger."""

    @abc.abstractmethod
    def ledger_scopes(self) -> list[Scope]:
        """Return every scope that has a ledger."""

    def new(self) -> StoredThread:
        now = self.clock()
        return StoredThread(created_at=now, last_activity=now)

    def stored(self, scope: Scope, thread_id: str) -> StoredThread | None:
        """Return what there is under any value that may be an id."""
        return self.load(scope, thread_id) if is_thread_id(thread_id) else None

    def alive(self, scope: Scope, thread_id: str) -> StoredThread | None:
        """Return a thread that is not expired."""
        thread = self.stored(scope, thread_id)
        return thread if thread and self.is_alive(thread) else None

    def is_alive(self, thread: StoredThread) -> bool:
        now, expiry = self.clock(), self._options.expiry
        return expiry is None or thread.last_activity >= now - expiry or bool(thread.running(now))

    def current(self, scope: Scope) -> str | None:
        """Return the id of the ongoing thread."""
        named = self.load_named(scope)
        return named if named is not None and self.goes_on(scope, named) else None

    def goes_on(self, scope: Scope, thread_id: str) -> bool:
        """Tell whether a thread is there; one that cannot be read is, and a reset is the way out."""
        try:
            return self.alive(scope, thread_id) is not None
        except CorruptRecord:
            return True

    def stays_ongoing(self, scope: Scope, thread_id: str) -> bool:
        """Tell whether the ongoing thread stays so when another one is written to."""
        return self.goes_on(scope, thread_id)

    def readable(self, readers: cabc.Iterable[Read]) -> cabc.Iterator[Found]:
        """Yield what is read; what cannot be read is logged and passed over."""
        for read in readers:
            try:
                found = read()
            except CorruptRecord as error:
                log_event(logger, logging.ERROR, "a thread is passed over", error)
                continue
            if found is not None:
                yield found

    def write(self, scope: Scope, thread_id: str, thread: StoredThread, is_new: bool) -> None:
        """Keep a thread to which messages were written; it is the ongoing one if there is no other.

        If it is new and there are too many, those that were idle longest go.
        """
        thread.last_activity = self.clock()
        # First, for the name of a thread that a crash has kept from being made counts as none.
        named = self.load_named(scope)
        if named is None or (named != thread_id and not self.stays_ongoing(scope, named)):
            self.keep_named(scope, thread_id)
        self.keep(scope, thread_id, thread)
        if is_new and self._limit(scope, thread_id) and self.load_named(scope) is None:
            # It was the ongoing thread that had to go.
            self.keep_named(scope, thread_id)

    def restore(self, scope: Scope, thread_id: str, thread: StoredThread, is_current: bool) -> None:
        """Put a thread in the place of what is there; no other makes room for it."""
        if is_current:
            self.keep_named(scope, thread_id)
        elif self.load_named(scope) == thread_id:
            self.keep_named(scope, None)
        self.keep(scope, thread_id, thread)

    def move(self, source: Scope, target: Scope, thread_id: str, thread: StoredThread) -> None:
        """Give a thread to another scope, where it is the ongoing one if it was so and there is no other."""
        # Should a crash leave it in both scopes, it is not added to itself when the move is repeated.
        thread.remember(f"adopt:{thread_id}", thread.sequence)
        if self.load_named(source) == thread_id and self.current(target) is None:
            self.keep_named(target, thread_id)
        self.keep(target, thread_id, thread)
        self._limit(target, thread_id)
        self.remove(source, thread_id)

    def remove(self, scope: Scope, thread_id: str) -> None:
        self.drop(scope, thread_id)
        if self.load_named(scope) == thread_id:
            self.keep_named(scope, None)

    def _limit(self, scope: Scope, newest: str) -> bool:
        """Remove the threads that are too many; tell whether there were such."""
        readers = self.readers(scope)
        surplus = len(readers) - self._options.max_threads
        if surplus <= 0:
            return False
        now = self.clock()
        others = (found for found in self.readable(readers) if found.thread_id != newest)
        idle = [found for found in others if not found.thread.running(now)]
        idle.sort(key=lambda found: found.thread.last_activity)
        for found in idle[:surplus]:
            self.remove(scope, found.thread_id)
        return True
