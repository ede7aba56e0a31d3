"""What people think of messages."""

from __future__ import annotations

import abc

from ..abilities import MarksMessages
from ..records import Mark
from ..records import Scope
from ..rules import check_mark
from .holding import Holding


class Marking(MarksMessages, Holding, abc.ABC):
    """The ability, for the plugin that has these threads."""

    def mark_message(self, scope: Scope, thread_id: str, message_id: str, mark: Mark | None) -> bool:
        checked = None if mark is None else check_mark(mark)
        with self.lock:
            thread = self._threads.alive(scope, thread_id)
            if thread is None or thread.find(message_id) is None:
                return False
            thread.marks.pop(message_id, None)
            if checked is not None:
                thread.marks[message_id] = checked
            self._threads.keep(scope, thread_id, thread)
            return True

    def load_marks(self, scope: Scope, thread_id: str) -> dict[str, Mark]:
        with self._reading:
            thread = self._threads.alive(scope, thread_id)
            return dict(thread.marks) if thread else {}
