"""The abilities of a wrapped plugin for threads as such, told on with titles in clear."""

from __future__ import annotations

import collections.abc as cabc
import logging
import typing as t

import msgspec

from ...errors import DecryptionFailed
from ...events import log_event
from ..abilities import DescribesThreads
from ..abilities import ListsThreads
from ..abilities import PurgesThreads
from ..records import Position
from ..records import Purged
from ..records import Scope
from ..records import Thread
from ..records import ThreadChanges
from ..rules import check_changes
from ..rules import is_thread_id
from .sealing import Sealing
from .wrapping import Wrapping

logger = logging.getLogger(__name__)


class WithLists(Wrapping, ListsThreads):
    def list_threads(
        self,
        scope: Scope,
        *,
        limit: int | None = None,
        before: Position | None = None,
        pinned: bool | None = None,
        archived: bool | None = None,
    ) -> list[Thread]:
        threads = self._wrapped.list_threads(scope, limit=limit, before=before, pinned=pinned, archived=archived)
        return [_listed(self._sealing, scope, thread) for thread in threads]


class WithDescriptions(Wrapping, DescribesThreads):
    def find_thread(self, scope: Scope, thread_id: str) -> Thread | None:
        thread = self._wrapped.find_thread(scope, thread_id)
        return None if thread is None else self._sealing.open_thread(scope, thread)

    def update_thread(self, scope: Scope, thread_id: str, **changes: t.Unpack[ThreadChanges]) -> bool:
        checked = check_changes(changes)
        if not is_thread_id(thread_id):
            return False
        if "title" in checked:
            checked["title"] = self._seal_title(scope, thread_id, checked["title"])
        return t.cast(bool, self._wrapped.update_thread(scope, thread_id, **checked))


class WithPurges(Wrapping, PurgesThreads):
    def all_threads(self, *, chatbot: str | None = None) -> cabc.Iterator[tuple[Scope, Thread]]:
        # Those with titles that a lost key has made unreadable, too: they are to be deleted, and missed by a copy.
        for scope, thread in self._wrapped.all_threads(chatbot=chatbot):
            yield scope, _listed(self._sealing, scope, thread)

    def purge_thread(self, scope: Scope, thread_id: str, before: float) -> int | None:
        return t.cast("int | None", self._wrapped.purge_thread(scope, thread_id, before))

    def purge_threads(self, before: float, *, chatbot: str | None = None, batch: int = 500) -> cabc.Iterator[Purged]:
        # Not by the titles, which a lost key may have made unreadable.
        yield from self._wrapped.purge_threads(before, chatbot=chatbot, batch=batch)


def _listed(sealing: Sealing, scope: Scope, thread: Thread) -> Thread:
    try:
        return sealing.open_thread(scope, thread)
    except DecryptionFailed as error:
        log_event(logger, logging.ERROR, "a thread is listed without its title", error, thread_id=thread.id)
        return msgspec.structs.replace(thread, title=None)
