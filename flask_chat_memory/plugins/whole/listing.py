"""Threads without their messages: lists, descriptions, and what the operator does with all of them."""

from __future__ import annotations

import abc
import collections.abc as cabc
import typing as t

from ..abilities import DescribesThreads
from ..abilities import ListsThreads
from ..abilities import PurgesThreads
from ..records import Position
from ..records import Scope
from ..records import Thread
from ..records import ThreadChanges
from ..rules import check_changes
from ..rules import select_threads
from .holding import Holding


class Listing(ListsThreads, DescribesThreads, PurgesThreads, Holding, abc.ABC):
    """The three abilities, for the plugin that has these threads."""

    def list_threads(
        self,
        scope: Scope,
        *,
        limit: int | None = None,
        before: Position | None = None,
        pinned: bool | None = None,
        archived: bool | None = None,
    ) -> list[Thread]:
        with self._reading:
            threads = [
                thread.record(thread_id)
                for _, thread_id, thread in self._threads.readable(self._threads.readers(scope))
                if self._threads.is_alive(thread)
            ]
            return select_threads(threads, limit, before, pinned, archived)

    def find_thread(self, scope: Scope, thread_id: str) -> Thread | None:
        with self._reading:
            thread = self._threads.alive(scope, thread_id)
            return thread.record(thread_id) if thread else None

    def update_thread(self, scope: Scope, thread_id: str, **changes: t.Unpack[ThreadChanges]) -> bool:
        checked = check_changes(changes)
        with self.lock:
            thread = self._threads.alive(scope, thread_id)
            if thread:
                thread.description.update(t.cast(ThreadChanges, checked))
                self._threads.keep(scope, thread_id, thread)
            return thread is not None

    def all_threads(self, *, chatbot: str | None = None) -> cabc.Iterator[tuple[Scope, Thread]]:
        with self._reading:
            readers = self._threads.readers()
        for scope, thread_id, thread in self._threads.readable(readers):
            if chatbot in (None, scope.chatbot):
                yield scope, thread.record(thread_id)

    def purge_thread(self, scope: Scope, thread_id: str, before: float) -> int | None:
        with self.lock:
            thread = self._threads.stored(scope, thread_id)
            if thread is None or thread.last_activity >= before or thread.running(self.clock()):
                return None
            self._threads.remove(scope, thread_id)
            return len(thread.messages)
