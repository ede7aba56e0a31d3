"""Threads without their messages: what the head and the newest lines tell."""

from __future__ import annotations

import abc
import collections.abc as cabc
import contextlib
import functools
import logging
import os
import typing as t

from ...disk import files as disk
from ...errors import CorruptRecord
from ...events import log_event
from .. import records
from ..abilities import DescribesThreads
from ..abilities import ListsThreads
from ..abilities import PurgesThreads
from ..records import Position
from ..records import Purged
from ..records import Scope
from ..records import ThreadChanges
from ..rules import check_changes
from ..rules import check_range
from ..rules import is_thread_id
from ..rules import select_threads
from .folder import InFolder
from .names import ThreadFiles
from .threads import Threads

logger = logging.getLogger(__name__)


class FileThreads(InFolder, ListsThreads, DescribesThreads, PurgesThreads, abc.ABC):
    """The three abilities, for the plugin whose folder this is."""

    def list_threads(
        self,
        scope: Scope,
        *,
        limit: int | None = None,
        before: Position | None = None,
        pinned: bool | None = None,
        archived: bool | None = None,
    ) -> list[records.Thread]:
        check_range(limit, None, None)
        found = []
        with self._errors:
            for files in self._names.threads(scope):
                try:
                    stored = self._read(scope, functools.partial(Threads.stored, files=files))
                except CorruptRecord as error:
                    _pass_over(files, error)
                    continue
                if stored is not None:
                    found.append(stored[1])
        return select_threads(found, limit, before, pinned, archived)

    def find_thread(self, scope: Scope, thread_id: str) -> records.Thread | None:
        if not is_thread_id(thread_id):
            return None
        files = self._names.thread(scope, thread_id)
        stored = self._read(scope, functools.partial(Threads.stored, files=files))
        return None if stored is None else stored[1]

    def update_thread(self, scope: Scope, thread_id: str, **changes: t.Unpack[ThreadChanges]) -> bool:
        checked = check_changes(changes)
        if not (checked and is_thread_id(thread_id)):
            return self.find_thread(scope, thread_id) is not None
        with self._writing(scope) as writer:
            return writer.describe(scope, thread_id, checked)

    def all_threads(self, *, chatbot: str | None = None) -> cabc.Iterator[tuple[Scope, records.Thread]]:
        threads = Threads(self._names, self.options, self.clock())
        with self._errors:
            for files in self._names.all_threads():
                try:
                    stored = threads.stored(files, expired=True)
                except CorruptRecord as error:
                    _pass_over(files, error)
                    continue
                if stored is not None and chatbot in (None, stored[0].chatbot):
                    yield stored

    def purge_threads(self, before: float, *, chatbot: str | None = None, batch: int = 500) -> cabc.Iterator[Purged]:
        yield from super().purge_threads(before, chatbot=chatbot, batch=batch)
        with self._errors:
            for folder in self._names.folders():
                if self._names.is_left_over(folder):
                    self._tidy(folder)

    def _tidy(self, folder: str) -> None:
        """Remove what a removal has left that was cut short: the head would go on telling the title."""
        with self._locks.hold(self.lock, os.path.basename(folder)):
            for path in self._names.leftovers(folder):
                disk.remove_file(path)
            with contextlib.suppress(OSError):
                os.rmdir(folder)

    def purge_thread(self, scope: Scope, thread_id: str, before: float) -> int | None:
        if not is_thread_id(thread_id):
            return None
        with self._writing(scope) as writer:
            return writer.purge(scope, thread_id, before)


def _pass_over(files: ThreadFiles, error: CorruptRecord) -> None:
    # A thread that is removed meanwhile loses its head after its body.
    if os.path.lexists(files.body):
        log_event(logger, logging.WARNING, "a thread is passed over", error)
