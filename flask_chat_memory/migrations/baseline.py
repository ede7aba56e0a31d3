"""Compares tables of which no version is noted with those that the first migration makes."""

from __future__ import annotations

import collections.abc as cabc
import re
import typing as t

import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.operations import Operations
from sqlalchemy.engine.mock import MockConnection
from sqlalchemy.schema import CreateIndex
from sqlalchemy.schema import CreateTable

_COLLATION = re.compile(r"COLLATE \"?(\w+)")
_OF_MYSQL = "SELECT column_name, collation_name FROM information_schema.columns WHERE table_schema = DATABASE() "
_COLLATIONS = {
    "postgresql": "SELECT attname, collname FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid "
    "LEFT JOIN pg_collation ON pg_collation.oid = attcollation "
    "WHERE relname = :name AND pg_table_is_visible(pg_class.oid) AND attnum > 0",
    **dict.fromkeys(("mysql", "mariadb"), f"{_OF_MYSQL} AND table_name = :name"),
}


def differences(connection: sa.Connection, expected: sa.MetaData, names: cabc.Collection[str]) -> list[str]:
    """Return in words how tables differ from what is expected.

    Tables and indexes that are missing are no difference, for the migration makes them; nor are indexes that are there
    besides.

    :param names: of the tables that are there.
    """
    context = MigrationContext.configure(
        connection,
        opts={
            "compare_type": True,
            "compare_server_default": True,
            "include_name": lambda name, kind, _parents: kind != "table" or name in names,
        },
    )
    found = [_words(change) for change in _flat(compare_metadata(context, expected))]
    return [*filter(None, found), *_collations(connection, expected, names)]


def made_by(migration: cabc.Callable[[], None], dialect: sa.Dialect, prefix: str) -> sa.MetaData:
    """Return the tables that a migration makes on an empty database."""
    metadata = sa.MetaData()

    def note(statement: t.Any, *_parameters: object, **_options: object) -> None:
        if isinstance(statement, CreateTable):
            statement.element.to_metadata(metadata)
        elif isinstance(statement, CreateIndex):
            index = statement.element
            table = metadata.tables[t.cast(sa.Table, index.table).name]
            sa.Index(index.name, *(table.c[column.name] for column in index.columns))

    connection = t.cast(sa.Connection, MockConnection(dialect, note))
    with Operations.context(MigrationContext.configure(connection, opts={"table_prefix": prefix})):
        migration()
    return metadata


def _flat(changes: cabc.Iterable[t.Any]) -> cabc.Iterator[tuple[t.Any, ...]]:
    for change in changes:
        if isinstance(change, list):
            yield from _flat(change)
        else:
            yield change


def _words(change: tuple[t.Any, ...]) -> str | None:
    kind, *what = change
    if kind in ("add_table", "add_index", "remove_index"):
        return None
    if kind in ("add_column", "remove_column"):
        _schema, table, column = what
        return f"{table}.{column.name} {'is missing' if kind == 'add_column' else 'is not known'}"
    if kind.startswith("modify_"):
        return f"{what[1]}.{what[2]} has another {kind.removeprefix('modify_')}"
    return str(kind)


def _collations(connection: sa.Connection, expected: sa.MetaData, names: cabc.Collection[str]) -> cabc.Iterator[str]:
    """Yield the columns that compare text otherwise, which Alembic does not look at everywhere."""
    query = _COLLATIONS.get(connection.dialect.name)
    if query is None:
        return
    for name in names:
        found = {column: collation for column, collation in connection.execute(sa.text(query), {"name": name})}
        for column in expected.tables[name].c:
            collation = _COLLATION.search(column.type.compile(connection.dialect))
            if collation and column.name in found and found[column.name] != collation[1]:
                yield f"{name}.{column.name} has another collation"
