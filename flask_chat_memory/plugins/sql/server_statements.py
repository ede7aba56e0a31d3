"""Statements for databases whose planners do not know how long a thread is."""

from __future__ import annotations

import typing as t

import sqlalchemy as sa

from .statements import Statements

_p = sa.bindparam


class ServerStatements(Statements):
    """Statements that say where the newest messages begin.

    The planner takes a long thread for one of average length, and would rather sort it than read its end. As
    sequences are distinct and positive, the newest ones are among as many numbers as there are to be messages,
    and as many more as are missing.
    """

    def _define_reading(self, thread: sa.Table, message: sa.Table) -> None:
        super()._define_reading(thread, message)
        limit = _p("limit", type_=sa.BigInteger)
        before = _p("before", type_=sa.BigInteger)
        missing = thread.c.sequence - thread.c.messages
        beginning, hidden = self._values(
            sa.select(
                (sa.func.least(before, thread.c.sequence) - missing - limit).label("beginning"),
                thread.c.hidden_ranges,
            ).where(thread.c.thread_key == _p("thread_key"), self.alive())
        )
        in_thread = message.c.thread_key == _p("thread_key")
        self.newest = (
            sa.select(message.c.sequence, self._body(hidden))
            .where(in_thread, message.c.sequence < before, message.c.sequence >= beginning)
            .order_by(message.c.sequence.desc())
            .limit(limit)
        )
        current = self._tables.current
        newest = sa.and_(message.c.thread_key == thread.c.thread_key, message.c.sequence > thread.c.messages - limit)
        self.newest_of_current = (
            sa.select(thread.c.thread_id, message.c.sequence, self._body(thread.c.hidden_ranges))
            .select_from(current.join(thread, thread.c.thread_key == current.c.thread_key).outerjoin(message, newest))
            .where(current.c.scope_key == _p("scope_key"), self.alive())
            .order_by(message.c.sequence.desc())
            .limit(limit)
        )

    def _values(self, row: sa.Select[t.Any]) -> list[sa.ScalarSelect[t.Any]]:
        """Return the columns of a query that finds one row."""
        return [row.with_only_columns(column).scalar_subquery() for column in row.selected_columns]
