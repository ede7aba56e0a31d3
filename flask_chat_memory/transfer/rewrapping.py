"""Encrypts anew, with the first of the keys, what older ones have encrypted; while the site goes on."""

from __future__ import annotations

import collections
import collections.abc as cabc
import functools
import logging

from ..errors import CorruptRecord
from ..events import log_event
from ..plugins.encrypted import EncryptedPlugin
from ..plugins.encrypted_.restoring import ByChunks
from ..plugins.records import Scope
from ..storage.base import Storage
from ..storage.encrypted import EncryptedStorage
from .copying import Counts
from .reading import StoredThread
from .reading import ThreadChanged
from .stores import movable

logger = logging.getLogger(__name__)

ATTEMPTS = 5


class Rewrap:
    """Goes through all that is encrypted. Each thread and each document changes in one step, if it is as it was read.

    :param write: False only counts.
    :ivar counts: of threads and documents: ``written``, or to be written; ``same``, if the first key has encrypted all
        of it; ``running`` and ``changed``, which are for another pass; ``expired``; ``unreadable``.
    """

    def __init__(self, *, write: bool = True) -> None:
        self._write = write
        self.counts: Counts = collections.Counter()

    @property
    def left(self) -> int:
        """How many are not of the first key, as far as it is known."""
        return sum(
            count for (_, outcome), count in self.counts.items() if outcome not in ("same", "written", "expired")
        )

    def plugin(self, plugin: EncryptedPlugin) -> cabc.Iterator[str]:
        """Rewrap the threads of a plugin; yield after each.

        :raises ConfigurationError: if the wrapped plugin cannot restore threads.
        """
        wrapped = movable(plugin.wrapped)
        for scope, thread in wrapped.all_threads():
            for _ in range(ATTEMPTS):
                try:
                    outcome = self._thread(plugin, scope, thread.id)
                except ThreadChanged:
                    outcome = "changed"
                except CorruptRecord as error:
                    log_event(logger, logging.ERROR, "a thread is not rewrapped", error)
                    outcome = "unreadable"
                if outcome != "changed":
                    break
            self.counts["threads", outcome] += 1
            yield thread.id

    def _thread(self, plugin: EncryptedPlugin, scope: Scope, thread_id: str) -> str:
        wrapped, sealing = movable(plugin.wrapped), plugin.sealing
        stored = StoredThread.find(wrapped, scope, thread_id)
        if stored is None:
            return "expired"
        if stored.whole.running(plugin.clock()):
            return "running"
        texts = sealing.texts_of(stored.whole)
        if all(map(sealing.is_current, (*texts, *(message.content for message in stored)))):
            return "same"
        whole = sealing.seal_whole(scope, sealing.open_whole(scope, stored.whole))
        opened = ByChunks(functools.partial(sealing.open, scope, thread_id), stored)
        messages = ByChunks(functools.partial(sealing.seal, scope, thread_id), opened)
        if not self._write:
            return "written"
        return "written" if wrapped.restore_thread(scope, whole, messages, instead_of=stored.whole) else "changed"

    def storage(self, storage: Storage) -> cabc.Iterator[str]:
        """Rewrap the documents of a storage, if it is encrypted; yield after each."""
        if not isinstance(storage, EncryptedStorage):
            return
        for key in storage.list():
            outcome = self._document(storage, key)
            if outcome is not None:
                self.counts["documents", outcome] += 1
            yield key

    def _document(self, storage: EncryptedStorage, key: str) -> str | None:
        try:
            for _ in range(ATTEMPTS):
                done = storage.rewrap(key, write=self._write)
                if done is not None:
                    return "written" if done else "same"
                if not storage.exists(key):
                    return None
        except CorruptRecord as error:
            log_event(logger, logging.ERROR, "a document is not rewrapped", error)
            return "unreadable"
        return "changed"
