"""Messages that are hidden, marked, searched."""

from __future__ import annotations

import abc

from ...message import ChatMessage
from ..abilities import ChangeLines
from ..abilities import HidesMessages
from ..abilities import MarksMessages
from ..abilities import SearchesMessages
from ..lines import Lines
from ..records import Mark
from ..records import Scope
from ..records import Search
from ..rules import check_mark
from ..rules import check_range
from ..rules import is_thread_id
from ..searching import search_by_reading
from .listing import FileThreads
from .notes import Notes
from .threads import Threads


class FileMessages(FileThreads, HidesMessages, MarksMessages, SearchesMessages, abc.ABC):
    """The three abilities, for the plugin whose folder this is."""

    def load_messages(
        self,
        scope: Scope,
        thread_id: str,
        *,
        limit: int | None = None,
        before: int | None = None,
        after: int | None = None,
        hidden: bool = False,
    ) -> list[ChatMessage]:
        check_range(limit, before, after)
        if not is_thread_id(thread_id):
            return []

        def load(threads: Threads) -> list[ChatMessage]:
            with threads.find(scope, thread_id) as thread:
                return [] if thread is None else thread.body.messages(limit, before, after, hidden)

        return self._read(scope, load)

    def find_lines(self, scope: Scope, thread_id: str) -> Lines:
        return self._notes(scope, thread_id).lines

    def change_lines(self, scope: Scope, thread_id: str, change: ChangeLines) -> bool:
        if not is_thread_id(thread_id):
            return False
        with self._writing(scope) as writer:
            return writer.change_lines(scope, thread_id, change)

    def mark_message(self, scope: Scope, thread_id: str, message_id: str, mark: Mark | None) -> bool:
        checked = None if mark is None else check_mark(mark)
        if not is_thread_id(thread_id):
            return False
        with self._writing(scope) as writer:
            return writer.mark(scope, thread_id, message_id, checked)

    def load_marks(self, scope: Scope, thread_id: str) -> dict[str, Mark]:
        return self._notes(scope, thread_id).records()

    def search_messages(self, scope: Scope, text: str, *, limit: int | None = None) -> Search:
        return search_by_reading(self, scope, text, limit)

    def _notes(self, scope: Scope, thread_id: str) -> Notes:
        if not is_thread_id(thread_id):
            return Notes()

        def read(threads: Threads) -> Notes:
            with threads.find(scope, thread_id) as thread:
                return Notes() if thread is None else thread.body.notes

        return self._read(scope, read)
