"""What people think of messages."""

from __future__ import annotations

import typing as t

from ...values import clean
from ..abilities import MarksMessages
from ..records import Mark
from ..records import Scope
from ..rules import check_mark
from ..rules import is_thread_id
from .moving import Mover
from .part import SQLPart
from .rows import messages_of
from .tables import id_key
from .tables import thread_key


class SQLMarks(SQLPart, MarksMessages):
    """The ability, for the plugin whose database this is."""

    def mark_message(self, scope: Scope, thread_id: str, message_id: str, mark: Mark | None) -> bool:
        checked = None if mark is None else check_mark(mark)
        return is_thread_id(thread_id) and self._write(
            lambda writer: self._mark(writer, scope, thread_id, message_id, checked), scope
        )

    def _mark(self, writer: Mover, scope: Scope, thread_id: str, message_id: str, mark: Mark | None) -> bool:
        key = thread_key(scope, thread_id)
        writer.hold(scope, key)
        this = {"thread_key": key, "message_id": id_key(clean(message_id)), **writer.times}
        if not writer.rows(self._statements.find_message, this):
            return False
        if mark is None:
            writer.run(self._statements.remove_mark, this)
        else:
            # Or a deletion in one statement, which sees the tables as they were before, would leave the mark behind.
            writer.run(self._statements.renew_thread, this)
            writer.run(self._statements.put_mark, {**this, "rating": mark.rating, "comment": mark.comment})
        return True

    def load_marks(self, scope: Scope, thread_id: str) -> dict[str, Mark]:
        if not is_thread_id(thread_id):
            return {}
        this = self._of_thread(scope, thread_id)
        rows = self._database.rows(self._statements.marks_of_messages, this)
        messages = messages_of([row[:2] for row in rows], this["thread_key"])
        return {
            t.cast(str, message.id): Mark(rating, comment)
            for message, (_, _, rating, comment) in zip(messages, rows, strict=True)
        }
