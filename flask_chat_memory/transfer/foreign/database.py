"""Tables of other libraries, read row by row."""

from __future__ import annotations

import collections.abc as cabc
import contextlib
import itertools
import json
import os
import typing as t

import sqlalchemy as sa

from ...errors import ImportRefused
from ...plugins.sql.engines import check_url

ROWS = 500
"""Rows that are read at once."""

Row = cabc.Mapping[str, t.Any]


class ForeignDatabase:
    """A database that is only read.

    :param where: a URL, or the path of a file of SQLite.
    """

    def __init__(self, where: str) -> None:
        url = check_url(where) if "://" in where else sa.URL.create("sqlite", database=where)
        if url.get_backend_name() == "sqlite" and not os.path.isfile(url.database or ""):
            raise ImportRefused("there is no such file of SQLite")
        self._url = url

    def groups(self, name: str, by: str, needed: cabc.Collection[str]) -> cabc.Iterator[tuple[str, list[Row]]]:
        """Yield the rows of a table in groups, each in the order of its ids.

        :param by: the column that a group has in common.
        :param needed: columns without which it is another table.
        :raises ImportRefused: if there is no such table, or the database cannot be read.
        """
        with self._read(name, {by, "id", *needed}) as (connection, table):
            query = sa.select(table).order_by(table.c[by], table.c.id)
            rows = connection.execution_options(yield_per=ROWS).execute(query).mappings()
            for group, members in itertools.groupby(rows, key=lambda row: str(row[by])):
                yield group, [dict(row) for row in members]

    @contextlib.contextmanager
    def _read(self, name: str, needed: cabc.Collection[str]) -> cabc.Iterator[tuple[sa.Connection, sa.Table]]:
        engine = sa.create_engine(self._url, poolclass=sa.NullPool)
        try:
            with engine.connect() as connection:
                if not sa.inspect(connection).has_table(name):
                    raise ImportRefused(f"the database has no table {name!r}")
                columns = [column["name"] for column in sa.inspect(connection).get_columns(name)]
                missing = sorted(set(needed) - set(columns))
                if missing:
                    raise ImportRefused(f"the table {name!r} has no {', '.join(missing)}")
                # Without types, for what other libraries write is not always what their columns say.
                yield connection, sa.Table(name, sa.MetaData(), *(sa.Column(column) for column in columns))
        except sa.exc.SQLAlchemyError as error:
            raise ImportRefused(f"the database cannot be read ({type(error).__name__})") from error
        finally:
            engine.dispose()


def decoded(value: object) -> t.Any:
    """Return what the JSON of a column holds; drivers decode some of it themselves.

    :raises ValueError: if it is none.
    """
    return json.loads(value) if isinstance(value, (str, bytes)) else value
