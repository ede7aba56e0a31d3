"""Threads that get another owner."""

from __future__ import annotations

import dataclasses
import typing as t

from ..abilities import MovesThreads
from ..abilities import Reseals
from ..records import Mark
from ..records import Scope
from .appending import Appending
from .threads import StoredThread


class InMemoryMoves(Appending, MovesThreads):
    """The ability, for the plugin that has these threads."""

    def move_threads(self, source: Scope, target: Scope, *, reseal: Reseals | None = None) -> int:
        with self.lock:
            left = 0
            current = self._threads.current(source)
            for thread_id in list(self._threads.of_scopes.get(source, {})):
                thread = self._threads.alive(source, thread_id)
                if thread is None:
                    self._threads.remove(source, thread_id)
                elif thread.running(self.clock()):
                    left += 1
                elif self._threads.alive(target, thread_id):
                    self._join(source, thread_id, target, thread_id, reseal)
                elif thread_id == current and self.options.threads == "one" and self._threads.current(target):
                    self._join(source, thread_id, target, t.cast(str, self._threads.current(target)), reseal)
                else:
                    if reseal:
                        self._threads.of_scopes[source][thread_id] = _resealed(thread, thread_id, reseal)
                    self._threads.move(source, target, thread_id)
            return left

    def _join(self, source: Scope, thread_id: str, target: Scope, into: str, reseal: Reseals | None) -> None:
        """Append what is visible of a thread to another one, and remove the thread."""
        thread = self._threads.of_scopes[source][thread_id]
        messages, marks = thread.select(), thread.marks
        if reseal:
            messages = reseal.messages(thread_id, into, messages)
            marks = _resealed_marks(marks, thread_id, into, reseal)
        self._append(target, into, messages, key=f"adopt:{thread_id}")
        joined = self._threads.of_scopes[target][into]
        joined.marks = marks | joined.marks
        joined.drop_marks()
        self._threads.remove(source, thread_id)


def _resealed(thread: StoredThread, thread_id: str, reseal: Reseals) -> StoredThread:
    """Return a thread as another scope keeps it; the one that was there stays, should a part of it be unreadable."""
    messages = reseal.messages(thread_id, thread_id, thread.messages)
    marks = _resealed_marks(thread.marks, thread_id, thread_id, reseal)
    live = {
        turn: dataclasses.replace(record, text=record.text and reseal.live_text(thread_id, turn, record.text))
        for turn, record in thread.live.items()
    }
    title = thread.description.get("title")
    if title:
        title = reseal.title(thread_id, title)
    description = t.cast(t.Any, thread.description | {"title": title})
    moved = dataclasses.replace(thread, messages=messages, marks=marks, live=live, description=description)
    moved.created_at = thread.created_at
    return moved


def _resealed_marks(marks: dict[str, Mark], old: str, new: str, reseal: Reseals) -> dict[str, Mark]:
    return {
        id: dataclasses.replace(mark, comment=mark.comment and reseal.comment(old, new, id, mark.comment))
        for id, mark in marks.items()
    }
