"""The abilities of a wrapped plugin for messages, told on with what it hides."""

from __future__ import annotations

import logging
import typing as t

import msgspec

from ...errors import DecryptionFailed
from ...events import log_event
from ...message import ChatMessage
from ...values import clean
from ..abilities import ChangeLines
from ..abilities import HidesMessages
from ..abilities import MarksMessages
from ..abilities import SearchesMessages
from ..lines import Lines
from ..records import Mark
from ..records import Scope
from ..records import Search
from ..rules import check_mark
from ..rules import is_thread_id
from ..rules import Sealed
from ..searching import search_by_reading
from .threads import WithLists
from .wrapping import Wrapping

logger = logging.getLogger(__name__)

SEARCHED = 2000
"""Messages that a search decrypts at most, from the newest thread on."""


class WithLines(Wrapping, HidesMessages):
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
        load = self._wrapped.load_messages
        sealed = load(scope, thread_id, limit=limit, before=before, after=after, hidden=hidden)
        return self._sealing.open(scope, thread_id, sealed) if sealed else []

    def find_lines(self, scope: Scope, thread_id: str) -> Lines:
        return t.cast(Lines, self._wrapped.find_lines(scope, thread_id))

    def change_lines(self, scope: Scope, thread_id: str, change: ChangeLines) -> bool:
        return t.cast(bool, self._wrapped.change_lines(scope, thread_id, change))


class WithMarks(Wrapping, MarksMessages):
    def mark_message(self, scope: Scope, thread_id: str, message_id: str, mark: Mark | None) -> bool:
        checked = None if mark is None else check_mark(mark)
        if clean(message_id) != message_id or not is_thread_id(thread_id):
            return False
        if checked and checked.comment is not None:
            comment = self._sealing.seal_text(checked.comment, "comment", scope, thread_id, message_id)
            checked = msgspec.structs.replace(checked, comment=Sealed(comment))
        return t.cast(bool, self._wrapped.mark_message(scope, thread_id, message_id, checked))

    def load_marks(self, scope: Scope, thread_id: str) -> dict[str, Mark]:
        marks: dict[str, Mark] = self._wrapped.load_marks(scope, thread_id)
        return {id: self._opened(mark, scope, thread_id, id) for id, mark in marks.items()}

    def _opened(self, mark: Mark, scope: Scope, *place: str) -> Mark:
        if mark.comment is None:
            return mark
        try:
            comment = self._sealing.open_text(mark.comment, "comment", scope, *place)
        except DecryptionFailed as error:
            log_event(logger, logging.ERROR, "a mark is shown without its comment", error)
            comment = None
        return msgspec.structs.replace(mark, comment=comment)


class WithSearch(WithLists, SearchesMessages):
    def search_messages(self, scope: Scope, text: str, *, limit: int | None = None) -> Search:
        return search_by_reading(self, scope, text, limit, SEARCHED)
