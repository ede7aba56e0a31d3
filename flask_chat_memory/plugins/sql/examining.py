"""What a database tells the operator of itself."""

from __future__ import annotations

import os
import time

import sqlalchemy as sa

from ..reports import StoreReport
from ..reports import Trouble
from ..reports import troubles_of
from .dialect import Dialect
from .tables import TableSet


def examine(engine: sa.Engine, dialect: Dialect, tables: TableSet, *, ours: bool, creates: bool) -> StoreReport:
    """Return what is known of a database; nothing is made, not even the file of SQLite.

    :param ours: the engine is nobody else's, and so is the file.
    :param creates: missing tables are made on first use.
    """
    path, place = dialect.file(), dialect.place()
    troubles = troubles_of(path) if path is not None and ours else ()
    if path is not None and not os.path.exists(path):
        return StoreReport(place=place, made=False, one_host=True, troubles=troubles)
    with engine.connect() as connection:
        version = connection.exec_driver_sql(dialect.version).scalar_one()
        ahead = _ahead(connection, dialect.time) if dialect.time else None
        missing = {table.name for table in tables.all()} - dialect.table_names(connection, tables)
    made = len(missing) < len(tables.all())
    if missing and (made or not creates):
        text = f"{place} lacks {', '.join(sorted(missing))}"
        troubles += (Trouble(text, "make the tables with flask chat-memory upgrade, or restore them"),)
    return StoreReport(
        place=place,
        version=f"{dialect.label} {version}",
        made=made,
        one_host=path is not None,
        ahead=ahead,
        troubles=troubles,
    )


def _ahead(connection: sa.Connection, query: str) -> float:
    """Return by how many seconds the clock of a server is ahead of ours."""
    before = time.time()
    theirs = float(connection.exec_driver_sql(query).scalar_one())
    return theirs - (before + time.time()) / 2
