"""Statements on one driver connection."""

from __future__ import annotations

import collections.abc as cabc
import typing as t

import sqlalchemy as sa

Parameters = cabc.Mapping[str, t.Any]
Row = tuple[t.Any, ...]


class Prepared:
    """A statement in the words of the driver, with the order of its parameters."""

    def __init__(self, statement: sa.Executable, dialect: sa.Dialect) -> None:
        compiled = t.cast(sa.Compiled, t.cast(t.Any, statement).compile(dialect=dialect))
        self.text = str(compiled)
        self._names: list[str] = list(t.cast(t.Any, compiled).positiontup)
        self._constants = dict(compiled.params)

    def values(self, parameters: Parameters) -> list[t.Any]:
        return [*map({**self._constants, **parameters}.__getitem__, self._names)]


class Transaction:
    """Runs statements on one driver connection.

    :ivar repeated: the work may be done already: it was committed over a connection that was lost.
    """

    def __init__(
        self,
        cursor: t.Any,
        prepare: cabc.Callable[[sa.Executable], Prepared],
        locks_rows: bool,
        repeated: bool,
    ) -> None:
        self.cursor = cursor
        self._prepare = prepare
        self._locks_rows = locks_rows
        self.repeated = repeated

    def run(self, statement: sa.Executable, parameters: Parameters) -> int:
        """Run a statement and return the number of rows that it changed."""
        prepared = self._prepare(statement)
        self.cursor.execute(prepared.text, prepared.values(parameters))
        return t.cast(int, self.cursor.rowcount)

    def run_many(self, statement: sa.Executable, rows: cabc.Iterable[Parameters]) -> None:
        prepared = self._prepare(statement)
        self.cursor.executemany(prepared.text, [prepared.values(row) for row in rows])

    def rows(self, statement: sa.Executable, parameters: Parameters) -> list[Row]:
        prepared = self._prepare(statement)
        self.cursor.execute(prepared.text, prepared.values(parameters))
        # Some drivers give a tuple.
        return list(self.cursor.fetchall())

    def lock(self, statement: sa.Executable, parameters: Parameters) -> None:
        """Lock the rows of a query, where the beginning of the transaction has not locked them already."""
        if self._locks_rows:
            self.rows(statement, parameters)
