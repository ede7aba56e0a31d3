"""Copies what one store holds to another, while the site goes on using the first."""

from __future__ import annotations

import collections
import collections.abc as cabc
import functools
import logging
import typing as t

from ..errors import CorruptRecord
from ..events import log_event
from ..message import ChatMessage
from ..plugins.abilities import PurgesThreads
from ..plugins.abilities import RestoresUsage
from ..plugins.base import ChatMemoryPlugin
from ..plugins.records import FORGOTTEN
from ..plugins.records import Scope
from ..plugins.records import WholeThread
from ..storage.base import Storage
from ..storage.keys import pattern_of
from .entries import Digest
from .entries import line_of
from .entries import MessageEntry
from .reading import StoredThread
from .reading import ThreadChanged
from .restoring import restore_document
from .restoring import restore_thread
from .restoring import restore_usage
from .stores import DOMAINS
from .stores import movable
from .stores import Stores

logger = logging.getLogger(__name__)

What = t.Literal["threads", "messages", "usage", "documents"]
Counts = collections.Counter[tuple[What, str]]
"""How many of what had which outcome."""

PROBLEMS = ("different", "unreadable")
"""Outcomes that should not be."""


class Copy:
    """A copy from one plugin to another, with the ledgers, and from one storage to another.

    Each thread is copied in one step, after which both stores have it with the same digest. So whatever interrupts the
    copy, the next one goes on; and one of a store that has not changed changes nothing.

    :param chatbot: only the threads and ledgers of this chatbot.
    :param delete: remove from the target what the source does not have (any more); of ledgers, the names.
    :param write: False only tells what would become of everything.
    :ivar counts: of each kind of thing, how many had which outcome: those of ``Outcome``; ``changed`` while it was
        read, ``unreadable``, ``different`` after it was copied, ``superfluous`` in the target, or ``removed`` there.
        Messages are counted of threads that both stores have.
    """

    def __init__(self, *, chatbot: str | None = None, delete: bool = False, write: bool = True) -> None:
        self._chatbot = chatbot
        self._delete = delete
        self._write = write
        self.counts: Counts = collections.Counter()

    @property
    def is_whole(self) -> bool:
        """Whether there was no problem, and nothing is left for another pass."""
        return not any(self.counts[key] for key in self.counts if key[1] in (*PROBLEMS, "running", "changed"))

    @property
    def is_sound(self) -> bool:
        """Whether there was no problem."""
        return not any(self.counts[key] for key in self.counts if key[1] in PROBLEMS)

    def plugins(self, source: ChatMemoryPlugin, target: ChatMemoryPlugin) -> cabc.Iterator[Scope]:
        """Copy the threads and the ledgers; yield after each thread."""
        for scope, thread in movable(source).all_threads(chatbot=self._chatbot):
            outcome, messages = self._thread(source, target, scope, thread.id)
            self.counts["threads", outcome] += 1
            if outcome in ("written", "same"):
                self.counts["messages", outcome] += messages
            yield scope
        yield from self._clear_out(source, target)
        self._ledgers(source, target)

    def stores(self, source: Stores, target: Stores) -> cabc.Iterator[str]:
        """Copy the documents of the domains for which both have a storage; yield after each."""
        for domain in DOMAINS:
            old, new = source.storages.get(domain), target.storages.get(domain)
            if old is not None and new is not None and old is not new:
                yield from self._domain(old, new, domain)

    def _domain(self, source: Storage, target: Storage, domain: str) -> cabc.Iterator[str]:
        keys = source.list(pattern_of(domain))
        for key in keys:
            self.counts["documents", self._document(source, target, key)] += 1
            yield key
        for key in sorted({*target.list(pattern_of(domain))} - {*keys}):
            self._superfluous("documents", functools.partial(target.delete, key))

    def _thread(
        self, source: ChatMemoryPlugin, target: ChatMemoryPlugin, scope: Scope, thread_id: str
    ) -> tuple[str, int]:
        try:
            stored = StoredThread.find(movable(source), scope, thread_id)
            if stored is None:
                return "expired", 0
            if stored.whole.running(source.clock()):
                return "running", 0
            counted = _Counted(stored)
            outcome: str = restore_thread(target, scope, counted, exactly=True, write=self._write)
            if outcome in ("written", "same") and self._write:
                outcome = self._verified(target, counted, outcome)
            return outcome, stored.whole.thread.messages
        except ThreadChanged:
            return "changed", 0
        except CorruptRecord as error:
            log_event(logger, logging.ERROR, "a thread is not copied", error)
            return "unreadable", 0

    def _verified(self, target: ChatMemoryPlugin, counted: _Counted, outcome: str) -> str:
        expected = counted.digest or counted.stored.digest()
        scope, thread_id = counted.stored.scope, counted.whole.thread.id
        for _ in range(2):
            there = StoredThread.find(target, scope, thread_id)
            if there is not None and there.digest() == expected:
                return outcome
            if outcome == "written":
                break
            # It only looked the same.
            movable(target).restore_thread(scope, counted.whole, counted)
            outcome = "written"
        log_event(logger, logging.ERROR, "a thread is not the same after it was copied")
        return "different"

    def _clear_out(self, source: ChatMemoryPlugin, target: ChatMemoryPlugin) -> cabc.Iterator[Scope]:
        plugin = movable(target)
        for scope, thread in plugin.all_threads(chatbot=self._chatbot):
            if not source.has_thread(scope, thread.id):
                self._superfluous("threads", functools.partial(_remove, plugin, scope, thread.id))
                yield scope

    def _superfluous(self, what: What, remove: cabc.Callable[[], bool]) -> None:
        self.counts[what, "removed" if self._delete and self._write and remove() else "superfluous"] += 1

    def _ledgers(self, source: ChatMemoryPlugin, target: ChatMemoryPlugin) -> None:
        if not isinstance(source, RestoresUsage):
            return
        scopes = self._scopes(source)
        if isinstance(target, RestoresUsage):
            # Before those of the forgotten are copied, to which they are added.
            for scope in sorted(self._scopes(target) - scopes, key=str):
                if scope.owner != FORGOTTEN:
                    self._superfluous("usage", functools.partial(_forget, target, scope))
        for scope in scopes:
            is_sum = self._delete and scope.owner == FORGOTTEN
            try:
                days = source.list_usage(scope)
                outcomes = restore_usage(target, scope, days, exactly=is_sum, write=self._write)
            except CorruptRecord as error:
                log_event(logger, logging.ERROR, "a ledger is not copied", error)
                self.counts["usage", "unreadable"] += 1
                continue
            self.counts.update(("usage", outcome) for outcome in outcomes)

    def _scopes(self, plugin: RestoresUsage) -> set[Scope]:
        return {scope for scope in plugin.usage_scopes() if self._chatbot in (None, scope.chatbot)}

    def _document(self, source: Storage, target: Storage, key: str) -> str:
        try:
            document = source.load(key)
            if document is None:
                return "changed"
            outcome = restore_document(target, key, document, exactly=True, write=self._write)
            if outcome == "written" and self._write and target.load(key) != document:
                return "different"
            return outcome
        except CorruptRecord as error:
            log_event(logger, logging.ERROR, "a document is not copied", error)
            return "unreadable"


def _remove(plugin: PurgesThreads, scope: Scope, thread_id: str) -> bool:
    return plugin.purge_thread(scope, thread_id, _EVER) is not None


def _forget(plugin: RestoresUsage, scope: Scope) -> bool:
    return plugin.forget_usage(scope) > 0


_EVER = float(2**62)
"""A time after all others, which every database can compare."""


class _Counted:
    """A thread that keeps the digest of what was last read of it."""

    def __init__(self, stored: StoredThread) -> None:
        self.stored = stored
        self.whole: WholeThread = stored.whole
        self.digest: str | None = None

    def __iter__(self) -> cabc.Iterator[ChatMessage]:
        digest = Digest()
        for entry in self.stored.head():
            digest.add(line_of(entry))
        for message in self.stored:
            digest.add(line_of(MessageEntry.of(message)))
            yield message
        self.digest = str(digest)
