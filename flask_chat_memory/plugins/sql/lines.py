"""The lines of a thread: what of it is seen, and what is not."""

from __future__ import annotations

from ...message import ChatMessage
from ..abilities import ChangeLines
from ..abilities import HidesMessages
from ..hiding import Hidden
from ..hiding import Read
from ..hiding import read_visible
from ..lines import Lines
from ..records import Scope
from ..rules import check_range
from ..rules import is_thread_id
from .moving import Mover
from .part import SQLPart
from .rows import bounded
from .rows import lines_of
from .rows import page_of
from .tables import thread_key
from .transaction import Row


class SQLLines(SQLPart, HidesMessages):
    """The ability, for the plugin whose database this is."""

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
        read = self._reader(scope, thread_id)
        return read(limit, before, after)[0] if hidden else read_visible(read, limit, before, after)

    def _reader(self, scope: Scope, thread_id: str) -> Read:
        parameters = self._of_thread(scope, thread_id)

        def read(limit: int | None, before: int | None, after: int | None) -> tuple[list[ChatMessage], Hidden]:
            values = {**parameters, "limit": bounded(limit), "before": bounded(before), "after": bounded(after)}
            statement = self._statements.newest if after is None else self._statements.oldest
            return page_of(self._database.rows(statement, values), values["thread_key"], newest=after is None)

        return read

    def _load_current(self, scope: Scope, thread_id: str, newest: list[Row], limit: int | None) -> list[ChatMessage]:
        """Return the newest visible messages, of which the first page is read already."""
        pages = [page_of(newest, thread_key(scope, thread_id), newest=True)]
        more = self._reader(scope, thread_id)
        return read_visible(lambda *place: pages.pop() if pages else more(*place), limit, None, None)

    def find_lines(self, scope: Scope, thread_id: str) -> Lines:
        if not is_thread_id(thread_id):
            return Lines()
        this = self._of_thread(scope, thread_id)
        rows = self._database.rows(self._statements.lines, this)
        return lines_of(rows[0][0], this["thread_key"]) if rows else Lines()

    def change_lines(self, scope: Scope, thread_id: str, change: ChangeLines) -> bool:
        return is_thread_id(thread_id) and self._write(lambda writer: _change(writer, scope, thread_id, change), scope)


def _change(writer: Mover, scope: Scope, thread_id: str, change: ChangeLines) -> bool:
    thread = writer.look(scope, thread_id, redirect=False)
    if not (thread and thread.alive):
        return False
    before = lines_of(thread.lines, thread.key)
    lines = change(before, thread.sequence)
    if lines is None or lines == before:
        return False
    writer.show(thread.key, lines)
    return True
