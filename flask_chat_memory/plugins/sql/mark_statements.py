"""The statements for the marks of messages."""

from __future__ import annotations

import sqlalchemy as sa

from .conditions import Conditions

_p = sa.bindparam


class MarkStatements(Conditions):
    def _define_marks(self) -> None:
        mark, message, thread = self._tables.mark, self._tables.message, self._tables.thread
        in_thread = mark.c.thread_key == _p("thread_key")
        alive = sa.exists().where(thread.c.thread_key == _p("thread_key"), self.alive())
        of_mark = sa.and_(message.c.thread_key == mark.c.thread_key, message.c.message_id == mark.c.message_id)
        self.find_message = self._by_id(
            sa.select(message.c.sequence).where(
                message.c.thread_key == _p("thread_key"), message.c.message_id == _p("message_id"), alive
            )
        ).limit(1)
        self.put_mark = self._adding(
            mark,
            {column.name: _p(column.name) for column in mark.c},
            {name: _p(name) for name in ("rating", "comment")},
        )
        # Changes nothing but the row itself.
        self.renew_thread = (
            sa.update(thread).where(thread.c.thread_key == _p("thread_key")).values(messages=thread.c.messages)
        )
        self.remove_mark = sa.delete(mark).where(in_thread, mark.c.message_id == _p("message_id"))
        self.marks = sa.select(mark.c.message_id, mark.c.rating, mark.c.comment).where(in_thread)
        # With the message, which has its id whole.
        self.marks_of_messages = self._by_id(
            sa.select(message.c.sequence, message.c.body, mark.c.rating, mark.c.comment)
            .select_from(mark.join(message, of_mark))
            .where(in_thread, alive)
        )
        marked = sa.exists(self._by_id(sa.select(message.c.sequence).where(of_mark)).correlate(mark))
        self.drop_marks = sa.delete(mark).where(in_thread, sa.not_(marked))
