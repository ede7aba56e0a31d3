"""What statements are made of, with what the databases differ in."""

from __future__ import annotations

import typing as t

import sqlalchemy as sa
from sqlalchemy.dialects import sqlite

from .tables import Tables

_p = sa.bindparam


class Conditions:
    """The conditions of the statements for a set of tables.

    The parameters ``now`` and ``cutoff`` are UNIX times in seconds: a thread is alive if its last activity is not
    before ``cutoff`` or if one of its turns holds a lease beyond ``now``.
    """

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def running(self) -> sa.ColumnElement[bool]:
        """Return the condition that a turn of the thread holds a lease."""
        live, thread = self._tables.live, self._tables.thread
        return sa.exists().where(live.c.thread_key == thread.c.thread_key, live.c.lease > _p("now")).correlate(thread)

    def alive(self) -> sa.ColumnElement[bool]:
        """Return the condition that the thread is not expired."""
        return sa.or_(self._tables.thread.c.last_activity >= _p("cutoff"), self.running())

    def holds(self, column: sa.Column[t.Any], text: sa.BindParameter[t.Any]) -> sa.ColumnElement[bool]:
        """Return the condition that a text is part of what the column has, taken literally."""
        return sa.func.instr(column, text) > 0

    def listed(self, name: str) -> sa.Select[t.Any]:
        """Return a query for the values of a parameter, which is a list in JSON."""
        return sa.select(sa.func.json_each(_p(name)).table_valued("value").c.value)

    def among(self, column: sa.Column[str], few: sa.Select[t.Any]) -> sa.ColumnElement[bool]:
        """Return the condition that a column has one of the values of a query, which are few."""
        return column.in_(few)

    def _body(
        self, hidden: sa.ColumnElement[str | None], body: sa.ColumnElement[str] | None = None
    ) -> sa.ColumnElement[str]:
        """Return the bodies of messages, after a line with what their thread hides, if it hides any.

        A column of its own would cost a tenth of the time that SQLite takes to give a message.
        """
        body = self._tables.message.c.body if body is None else body
        return sa.case((hidden.is_(None), body), else_=hidden + sa.literal_column("'\n'") + body).label("body")

    def _apart(self, query: sa.Select[t.Any]) -> sa.ScalarSelect[t.Any]:
        """Return a query for the WHERE of a statement that changes a table which the query reads."""
        return query.scalar_subquery()

    def _by_id(self, query: sa.Select[t.Any]) -> sa.Select[t.Any]:
        """Return a query that finds a message by its id."""
        return query

    def _adding(self, table: sa.Table, values: dict[str, t.Any], more: dict[str, t.Any]) -> sa.Insert:
        """Return the statement that inserts a row, or changes the one that has its primary key."""
        return sqlite.insert(table).values(values).on_conflict_do_update(index_elements=table.primary_key, set_=more)
