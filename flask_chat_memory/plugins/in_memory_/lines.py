"""The lines of threads."""

from __future__ import annotations

import abc
import threading

from ..abilities import ChangeLines
from ..abilities import HidesMessages
from ..lines import Lines
from ..records import Scope
from .threads import Threads


class InMemoryLines(HidesMessages, abc.ABC):
    """What the ability changes, for the plugin that has these threads."""

    _threads: Threads
    lock: threading.RLock

    def find_lines(self, scope: Scope, thread_id: str) -> Lines:
        with self.lock:
            thread = self._threads.alive(scope, thread_id)
            return thread.lines if thread else Lines()

    def change_lines(self, scope: Scope, thread_id: str, change: ChangeLines) -> bool:
        with self.lock:
            thread = self._threads.alive(scope, thread_id)
            lines = change(thread.lines, thread.sequence) if thread else None
            if thread is None or lines in (None, thread.lines):
                return False
            thread.lines = lines
            return True
