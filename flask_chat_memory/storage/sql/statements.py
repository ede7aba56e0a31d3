"""The statements about documents."""

from __future__ import annotations

import typing as t

import sqlalchemy as sa
from sqlalchemy.dialects import mysql
from sqlalchemy.dialects import postgresql
from sqlalchemy.dialects import sqlite

CHUNK = 100
"""Documents that are removed at once: others may be waiting to write."""
_CHANGED = ("body", "updated_at")


class Statements:
    """Made once for each database.

    The parameters are ``wanted`` (a document key), ``start``, ``end``, ``after`` (names), ``before`` (a time),
    ``old`` and ``new`` (bodies).

    :param dialect: the name of the database.
    """

    def __init__(self, table: sa.Table, dialect: str) -> None:
        column = table.c
        this = column.document_key == sa.bindparam("wanted")
        self.save, self.create = _inserts(table, dialect)
        self.exchange = (
            sa.update(table).where(this, column.body == sa.bindparam("old")).values(body=sa.bindparam("new"))
        )
        self.load = sa.select(column.body).where(this)
        self.exists = sa.select(column.document_key).where(this)
        self.delete = sa.delete(table).where(this)
        self.delete_old = sa.delete(table).where(this, column.updated_at < sa.bindparam("before", type_=sa.Double))
        self.names = sa.select(column.name).where(column.name >= sa.bindparam("start"))
        self.names_between = self.names.where(column.name < sa.bindparam("end"))
        self.times = sa.select(column.name, column.updated_at).where(column.name >= sa.bindparam("start"))
        self.times_between = self.times.where(column.name < sa.bindparam("end"))
        self.old = (
            self.names.where(
                column.updated_at < sa.bindparam("before", type_=sa.Double), column.name > sa.bindparam("after")
            )
            .order_by(column.name)
            .limit(CHUNK)
        )
        self.old_between = self.old.where(column.name < sa.bindparam("end"))
        self.documents = sa.select(column.name, column.body).where(column.name >= sa.bindparam("start"))
        self.documents_between = self.documents.where(column.name < sa.bindparam("end"))


def _inserts(table: sa.Table, dialect: str) -> tuple[sa.Executable, sa.Executable]:
    """Return what stores a document in place of the one that is there, and what does so only if there is none."""
    values = {column.name: sa.bindparam(column.name, type_=column.type) for column in table.c}
    if dialect in ("mysql", "mariadb"):
        statement = mysql.insert(table).values(values)
        changed = {name: statement.inserted[name] for name in _CHANGED}
        return statement.on_duplicate_key_update(changed), statement.prefix_with("IGNORE")
    insert = t.cast(t.Any, {"postgresql": postgresql.insert, "sqlite": sqlite.insert}[dialect])(table).values(values)
    changed = {name: insert.excluded[name] for name in _CHANGED}
    key: t.Any = {"index_elements": ["document_key"]}
    return insert.on_conflict_do_update(**key, set_=changed), insert.on_conflict_do_nothing(**key)
