"""What a database tells the operator of itself."""

from __future__ import annotations

import collections.abc as cabc
import os
import time

import sqlalchemy as sa

from ..reports import StoreReport
from ..reports import Trouble
from ..reports import troubles_of
from .schema import Found
from .schema import Schema

UPGRADE = "run flask chat-memory upgrade"


def examine(engine: sa.Engine, schema: Schema, *, ours: bool, creates: bool) -> StoreReport:
    """Return what is known of a database; nothing is made, not even the file of SQLite.

    :param ours: the engine is nobody else's, and so is the file.
    :param creates: missing tables are made on first use.
    """
    dialect = schema.dialect
    path, place = dialect.file(), schema.place
    troubles = troubles_of(path) if path is not None and ours else ()
    if path is not None and not os.path.exists(path):
        return StoreReport(place=place, made=False, one_host=True, troubles=troubles)
    with engine.connect() as connection:
        version = connection.exec_driver_sql(dialect.version).scalar_one()
        ahead = _ahead(connection, dialect.time) if dialect.time else None
        found = schema.found(connection)
    return StoreReport(
        place=place,
        version=f"{dialect.label} {version}",
        made=bool(found.tables),
        one_host=path is not None,
        ahead=ahead,
        troubles=troubles + tuple(_troubles(schema, found, creates)),
    )


def _troubles(schema: Schema, found: Found, creates: bool) -> cabc.Iterator[Trouble]:
    missing = sorted({table.name for table in schema.tables.all()} - found.tables)
    if missing and (found.tables or not creates):
        yield Trouble(f"{schema.place} lacks {', '.join(missing)}", f"{UPGRADE}, or restore them")
    wanted = schema.tables.version
    if found.version is not None and found.version != wanted:
        text = f"{schema.place} has tables of version {found.version}, and this release works with {wanted}"
        yield Trouble(text, UPGRADE if found.version < wanted else "run the release that has upgraded them")


def _ahead(connection: sa.Connection, query: str) -> float:
    """Return by how many seconds the clock of a server is ahead of ours."""
    before = time.time()
    theirs = float(connection.exec_driver_sql(query).scalar_one())
    return theirs - (before + time.time()) / 2
