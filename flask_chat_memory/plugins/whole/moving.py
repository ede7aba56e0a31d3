"""Threads that get another owner."""

from __future__ import annotations

import abc
import typing as t

import msgspec

from ...errors import CorruptRecord
from ..abilities import MovesThreads
from ..abilities import Reseals
from ..records import Mark
from ..records import Scope
from .appending import Appending
from .thread import StoredThread
from .threads import Found


class Moving(Appending, MovesThreads, abc.ABC):
    """The ability, for the plugin that has these threads."""

    def move_threads(self, source: Scope, target: Scope, *, reseal: Reseals | None = None) -> int:
        """Do what the ability promises.

        :raises CorruptRecord: for a thread that cannot be read, after all others have been moved.
        """
        with self.lock:
            left = 0
            unreadable: CorruptRecord | None = None
            named = self._threads.load_named(source)
            for read in self._threads.readers(source):
                try:
                    found = read()
                    left += found is not None and self._move_one(found, target, named, reseal)
                except CorruptRecord as error:
                    unreadable = error
            if unreadable is not None:
                raise unreadable
            return left

    def _move_one(self, found: Found, target: Scope, named: str | None, reseal: Reseals | None) -> bool:
        """Move a thread; tell whether it was left because a turn is running.

        :param named: the ongoing thread of the source.
        """
        source, thread_id, thread = found
        if thread.running(self.clock()):
            return True
        if not self._threads.is_alive(thread):
            self._threads.remove(source, thread_id)
        elif self._threads.alive(target, thread_id):
            self._join(found, target, thread_id, reseal)
        elif thread_id == named and self.options.threads == "one" and (into := self._threads.current(target)):
            self._join(found, target, into, reseal)
        else:
            moved = _resealed(thread, thread_id, reseal) if reseal else thread
            self._threads.move(source, target, thread_id, moved)
        return False

    def _join(self, found: Found, target: Scope, into: str, reseal: Reseals | None) -> None:
        """Append what is visible of a thread to another one, and remove the thread."""
        source, thread_id, thread = found
        messages, marks = thread.select(), thread.marks
        if reseal:
            messages = reseal.messages(thread_id, into, messages)
            marks = _resealed_marks(marks, thread_id, into, reseal)

        def mark(joined: StoredThread, _is_new: bool) -> None:
            joined.marks = marks | joined.marks
            joined.drop_marks()

        self._append(target, into, messages, key=f"adopt:{thread_id}", change=mark)
        self._threads.remove(source, thread_id)


def _resealed(thread: StoredThread, thread_id: str, reseal: Reseals) -> StoredThread:
    """Return a thread as another scope keeps it; the one that was there stays, should a part of it be unreadable."""
    messages = reseal.messages(thread_id, thread_id, thread.messages)
    marks = _resealed_marks(thread.marks, thread_id, thread_id, reseal)
    live = {
        turn: msgspec.structs.replace(record, text=record.text and reseal.live_text(thread_id, turn, record.text))
        for turn, record in thread.live.items()
    }
    title = thread.description.get("title")
    if title:
        title = reseal.title(thread_id, title)
    description = t.cast(t.Any, thread.description | {"title": title})
    return msgspec.structs.replace(thread, messages=messages, marks=marks, live=live, description=description)


def _resealed_marks(marks: dict[str, Mark], old: str, new: str, reseal: Reseals) -> dict[str, Mark]:
    return {
        id: msgspec.structs.replace(mark, comment=mark.comment and reseal.comment(old, new, id, mark.comment))
        for id, mark in marks.items()
    }
