"""The lines of threads."""

from __future__ import annotations

import abc

from ..abilities import ChangeLines
from ..abilities import HidesMessages
from ..lines import Lines
from ..records import Scope
from .holding import Holding


class Hiding(HidesMessages, Holding, abc.ABC):
    """What the ability changes, for the plugin that has these threads."""

    def find_lines(self, scope: Scope, thread_id: str) -> Lines:
        with self._reading:
            thread = self._threads.alive(scope, thread_id)
            return thread.lines if thread else Lines()

    def change_lines(self, scope: Scope, thread_id: str, change: ChangeLines) -> bool:
        with self.lock:
            thread = self._threads.alive(scope, thread_id)
            lines = change(thread.lines, thread.sequence) if thread else None
            if thread is None or lines is None or lines == thread.lines:
                return False
            thread.lines = lines
            self._threads.keep(scope, thread_id, thread)
            return True
