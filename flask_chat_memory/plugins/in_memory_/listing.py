"""Threads without their messages: lists, descriptions, and what the operator does with all of them."""

from __future__ import annotations

import collections.abc as cabc
import threading
import typing as t

from ..abilities import DescribesThreads
from ..abilities import ListsThreads
from ..abilities import PurgesThreads
from ..base import Clock
from ..records import Position
from ..records import Scope
from ..records import Thread
from ..records import ThreadChanges
from ..rules import check_changes
from ..rules import select_threads
from .threads import Threads


class InMemoryThreads(ListsThreads, DescribesThreads, PurgesThreads):
    """The three abilities, for the plugin that has these threads."""

    _threads: Threads
    lock: threading.RLock
    clock: Clock

    def list_threads(
        self,
        scope: Scope,
        *,
        limit: int | None = None,
        before: Position | None = None,
        pinned: bool | None = None,
        archived: bool | None = None,
    ) -> list[Thread]:
        with self.lock:
            threads = [self.find_thread(scope, thread_id) for thread_id in self._threads.of_scopes.get(scope, {})]
            return select_threads(filter(None, threads), limit, before, pinned, archived)

    def find_thread(self, scope: Scope, thread_id: str) -> Thread | None:
        with self.lock:
            thread = self._threads.alive(scope, thread_id)
            return thread.record(thread_id) if thread else None

    def update_thread(self, scope: Scope, thread_id: str, **changes: t.Unpack[ThreadChanges]) -> bool:
        checked = check_changes(changes)
        with self.lock:
            thread = self._threads.alive(scope, thread_id)
            if thread:
                thread.description.update(t.cast(ThreadChanges, checked))
            return thread is not None

    def all_threads(self, *, chatbot: str | None = None) -> cabc.Iterator[tuple[Scope, Thread]]:
        with self.lock:
            stored = [
                (scope, thread.record(thread_id))
                for scope, threads in self._threads.of_scopes.items()
                for thread_id, thread in threads.items()
                if chatbot in (None, scope.chatbot)
            ]
        yield from stored

    def purge_thread(self, scope: Scope, thread_id: str, before: float) -> int | None:
        with self.lock:
            thread = self._threads.stored(scope, thread_id)
            if thread is None or thread.last_activity >= before or thread.running(self.clock()):
                return None
            self._threads.remove(scope, thread_id)
            return len(thread.messages)
