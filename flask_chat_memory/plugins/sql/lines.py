"""The lines of a thread: what of it is seen, and what is not."""

from __future__ import annotations

import functools

from ...message import ChatMessage
from ..abilities import ChangeLines
from ..abilities import HidesMessages
from ..hiding import read_visible
from ..lines import Lines
from ..records import Scope
from ..rules import check_range
from ..rules import is_thread_id
from .moving import Mover
from .part import SQLPart
from .rows import bounded
from .rows import lines_of
from .rows import Page
from .rows import page_of


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
        page = self._page(scope, thread_id, limit, before, after)
        return page[0] if hidden else self._visible(scope, thread_id, page, limit, before, after)

    def _page(self, scope: Scope, thread_id: str, limit: int | None, before: int | None, after: int | None) -> Page:
        """Return messages of all lines, and what is hidden of the thread."""
        parameters = self._of_thread(scope, thread_id)
        parameters["limit"] = bounded(limit)
        if after is not None:
            parameters["after"] = bounded(after)
            return page_of(self._database.rows(self._statements.oldest, parameters), parameters["thread_key"])
        parameters["before"] = bounded(before)
        messages, hidden = page_of(self._database.rows(self._statements.newest, parameters), parameters["thread_key"])
        return messages[::-1], hidden

    def _visible(
        self,
        scope: Scope,
        thread_id: str,
        page: Page,
        limit: int | None,
        before: int | None = None,
        after: int | None = None,
    ) -> list[ChatMessage]:
        """Return the visible messages of a range, of which the first page is read already."""
        messages, hidden = page
        if not hidden:
            return messages
        pages = [page]
        more = functools.partial(self._page, scope, thread_id)
        return read_visible(lambda *place: pages.pop() if pages else more(*place), limit, before, after)

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
