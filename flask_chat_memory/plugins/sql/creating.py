"""The first use of a database."""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy.schema import CreateIndex
from sqlalchemy.schema import CreateTable

from .dialect import Dialect
from .tables import TableSet


def create_tables_once(engine: sa.Engine, dialect: Dialect, tables: TableSet) -> None:
    """Create the tables where there is none of them; safe when several processes do so at once.

    If only some are missing, somebody has renamed or dropped them: new ones would hide what they hold. Where
    creating is no transaction, a process may also have been killed in the middle of it; then they are empty.
    """
    with engine.connect() as connection:
        if len(dialect.table_names(connection, tables)) == len(tables.all()):
            return
        with dialect.creating(connection, tables):
            found = dialect.table_names(connection, tables)
            if any(_holds_rows(connection, table) for table in tables.all() if table.name in found):
                return
            for table in tables.all():
                if table.name not in found:
                    connection.execute(CreateTable(table, if_not_exists=True))
                    for index in table.indexes:
                        connection.execute(CreateIndex(index, if_not_exists=True))


def _holds_rows(connection: sa.Connection, table: sa.Table) -> bool:
    return connection.execute(sa.select(sa.literal(1)).select_from(table).limit(1)).first() is not None
