"""Exports what stores hold, as entries one after the other."""

from __future__ import annotations

import collections.abc as cabc
import logging
import typing as t

from ..errors import CorruptRecord
from ..events import log_event
from ..message import timestamp
from ..plugins.abilities import CountsUsage
from ..plugins.abilities import ListsThreads
from ..plugins.abilities import RestoresUsage
from ..plugins.base import ChatMemoryPlugin
from ..plugins.records import Position
from ..plugins.records import Scope
from ..storage.base import Storage
from ..storage.keys import pattern_of
from .entries import Digest
from .entries import DocumentEntry
from .entries import End
from .entries import Entry
from .entries import FORMAT
from .entries import Header
from .entries import line_of
from .entries import MessageEntry
from .entries import ThreadEnd
from .entries import UsageEntry
from .entries import VERSION
from .reading import StoredThread
from .reading import ThreadChanged
from .stores import DOMAINS
from .stores import movable
from .stores import Stores

logger = logging.getLogger(__name__)

ATTEMPTS = 10
S = t.TypeVar("S")
PAGE = 200
"""Threads of an owner that are listed at once."""


class Export:
    """The entries of an export, to be gone through once: threads with their messages, usage, documents.

    Neither the threads nor the messages of one are held in memory. What cannot be read is logged, left out and counted;
    so is a thread that changes again and again.

    :param now: UNIX time in seconds.
    :param owner: only what is this owner's.
    :param chatbot: only the threads and the usage of this chatbot, and no documents.
    :ivar threads: how many there were so far, as ``messages``, ``usage``, ``documents`` and ``unreadable``.
    """

    def __init__(self, stores: Stores, now: float, *, owner: str | None = None, chatbot: str | None = None) -> None:
        self._stores = stores
        self._now = now
        self._owner = owner
        self._chatbot = chatbot
        self.threads = self.messages = self.documents = self.usage = self.unreadable = 0

    def __iter__(self) -> cabc.Iterator[Entry]:
        yield Header(
            format=FORMAT,
            version=VERSION,
            exported_at=timestamp(self._now),
            owner=self._owner,
            chatbot=self._chatbot,
        )
        for plugin in distinct(self._stores.plugins.values()):
            for scope, thread_id in self._threads_of(plugin):
                yield from self._thread(plugin, scope, thread_id)
            for scope in self._ledgers_of(plugin):
                yield from self._ledger(plugin, scope)
        if self._chatbot is None:
            for domain in DOMAINS:
                if domain in self._stores.storages:
                    yield from self._documents_of(self._stores.storages[domain], domain)
        yield End(
            threads=self.threads,
            messages=self.messages,
            documents=self.documents,
            usage=self.usage,
            unreadable=self.unreadable,
        )

    def lines(self) -> cabc.Iterator[bytes]:
        """Give the entries as lines of JSON."""
        return map(line_of, self)

    def _threads_of(self, plugin: ChatMemoryPlugin) -> cabc.Iterator[tuple[Scope, str]]:
        if self._owner is None:
            for scope, thread in movable(plugin).all_threads(chatbot=self._chatbot):
                yield scope, thread.id
            return
        for scope in self._scopes_of(plugin, self._owner):
            yield from ((scope, id) for id in ids_of(plugin, scope))

    def _scopes_of(self, plugin: ChatMemoryPlugin, owner: str) -> list[Scope]:
        return [
            Scope(owner, chatbot)
            for chatbot, other in self._stores.plugins.items()
            if other is plugin and self._chatbot in (None, chatbot)
        ]

    def _thread(self, plugin: ChatMemoryPlugin, scope: Scope, thread_id: str) -> cabc.Iterator[Entry]:
        for _ in range(ATTEMPTS):
            try:
                stored = StoredThread.find(movable(plugin), scope, thread_id)
                if stored is None:
                    return
                digest, messages = Digest(), 0
                for entry in stored.entries():
                    messages += isinstance(entry, MessageEntry)
                    digest.add(line_of(entry))
                    yield entry
                yield ThreadEnd(messages=messages, digest=str(digest))
                self.threads += 1
                self.messages += messages
                return
            except ThreadChanged:
                continue
            except CorruptRecord as error:
                log_event(logger, logging.ERROR, "a thread is not exported", error, thread_id=thread_id)
                self.unreadable += 1
                return
        log_event(logger, logging.ERROR, "a thread is not exported, for it changes all the time", thread_id=thread_id)
        self.unreadable += 1

    def _ledgers_of(self, plugin: ChatMemoryPlugin) -> cabc.Iterator[Scope]:
        if self._owner is not None:
            yield from self._scopes_of(plugin, self._owner)
        elif isinstance(plugin, RestoresUsage):
            yield from (scope for scope in plugin.usage_scopes() if self._chatbot in (None, scope.chatbot))

    def _ledger(self, plugin: ChatMemoryPlugin, scope: Scope) -> cabc.Iterator[Entry]:
        if not isinstance(plugin, CountsUsage):
            return
        try:
            days = plugin.list_usage(scope)
        except CorruptRecord as error:
            log_event(logger, logging.ERROR, "a ledger is not exported", error)
            self.unreadable += 1
            return
        for day in days:
            yield UsageEntry.of(scope, day)
            self.usage += 1

    def _documents_of(self, storage: Storage, domain: str) -> cabc.Iterator[Entry]:
        for key in storage.list(pattern_of(domain, self._owner)):
            try:
                document = storage.load(key)
            except CorruptRecord as error:
                log_event(logger, logging.ERROR, "a document is not exported", error)
                self.unreadable += 1
                continue
            if document is not None:
                yield DocumentEntry(domain=domain, key=key, document=document)
                self.documents += 1


def ids_of(plugin: ChatMemoryPlugin, scope: Scope) -> cabc.Iterator[str]:
    """Yield the ids of the threads of a scope, as they are listed page by page."""
    if not isinstance(plugin, ListsThreads):
        return
    before: Position | None = None
    while threads := plugin.list_threads(scope, limit=PAGE, before=before):
        yield from (thread.id for thread in threads)
        before = threads[-1].position


def distinct(stores: cabc.Iterable[S]) -> list[S]:
    """Return each plugin or storage once."""
    return list({id(store): store for store in stores}.values())
