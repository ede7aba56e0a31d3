"""Documents in a table of a SQL database."""

from __future__ import annotations

import builtins
import collections.abc as cabc
import functools
import time
import typing as t

import sqlalchemy as sa

from ..errors import ConfigurationError
from ..plugins.base import Clock
from ..plugins.options import CheckedOptions
from ..plugins.reports import StoreReport
from ..plugins.sql.database import Database
from ..plugins.sql.schema import Schema
from ..plugins.sql.transaction import Transaction
from ..plugins.sqlalchemy import SQLAlchemyPlugin
from ..values import clean
from .base import BuiltInStorage
from .beside import location_options
from .rules import decode
from .rules import Document
from .rules import encode
from .rules import end_of_range
from .rules import literal_start
from .rules import matching
from .sql.statements import Statements
from .sql.tables import define_document_table
from .sql.tables import document_key
from .sql.tables import document_tables

__all__ = ["SQLAlchemyStorage", "define_document_table"]


class SQLAlchemyStorage(BuiltInStorage):
    """Keeps documents as JSON in the table ``<prefix>document``."""

    id = "sqlalchemy"
    Options = location_options(SQLAlchemyPlugin)

    def __init__(
        self, options: CheckedOptions | cabc.Mapping[str, t.Any] | None = None, *, clock: Clock = time.time
    ) -> None:
        super().__init__(options, clock=clock)
        database: sa.Engine | str | None = self.options.engine or self.options.url
        if database is None:
            raise ConfigurationError("sqlalchemy: outside an app, give url or engine")
        tables = document_tables(sa.MetaData(), self.options.table_prefix)
        self._database = Database(database, tables, self.options.create_tables)
        url = database.url if isinstance(database, sa.Engine) else sa.make_url(database)
        self._statements = Statements(tables.document, url.get_backend_name())

    def save(self, key: str, document: cabc.Mapping[str, t.Any]) -> None:
        values = self._values(key, document)
        self._database.write(lambda transaction: transaction.run(self._statements.save, values))

    def create(self, key: str, document: cabc.Mapping[str, t.Any]) -> bool:
        values = self._values(key, document)
        # Done again after a commit whose end nobody knows, it would find what it has stored.
        create = self._statements.create
        return self._database.write(lambda transaction: transaction.run(create, values), repeatable=False) > 0

    def exchange(self, key: str, document: cabc.Mapping[str, t.Any], other: cabc.Mapping[str, t.Any]) -> bool:
        old, new = encode(document).decode(), encode(other).decode()
        if old == new:
            return self.load(key) == document
        values = {"wanted": document_key(key), "old": old, "new": new}
        exchange = self._statements.exchange
        return self._database.write(lambda transaction: transaction.run(exchange, values), repeatable=False) > 0

    def load(self, key: str) -> Document | None:
        rows = self._database.rows(self._statements.load, {"wanted": document_key(key)})
        return decode(rows[0][0], key) if rows else None

    def delete(self, key: str) -> bool:
        this = {"wanted": document_key(key)}
        return self._database.write(lambda transaction: transaction.run(self._statements.delete, this)) > 0

    def list(self, pattern: str = "*") -> builtins.list[str]:
        rows = self._rows(pattern, self._statements.names, self._statements.names_between)
        return matching((name for (name,) in rows), pattern)

    def load_all(self, pattern: str = "*") -> builtins.list[tuple[str, Document]]:
        rows = self._rows(pattern, self._statements.documents, self._statements.documents_between)
        bodies = {name: body for name, body in rows}
        return [(name, decode(bodies[name], name)) for name in matching(bodies, pattern)]

    def exists(self, key: str) -> bool:
        return bool(self._database.rows(self._statements.exists, {"wanted": document_key(key)}))

    def clean_up(self, before: float, pattern: str = "*") -> int:
        count, after = 0, ""
        statements = self._statements
        while found := self._rows(pattern, statements.old, statements.old_between, before=float(before), after=after):
            names = [name for (name,) in found]
            old = [{"wanted": document_key(name), "before": float(before)} for name in matching(names, pattern)]
            count += self._database.write(functools.partial(self._delete_old, old))
            after = names[-1]
        return count

    def _delete_old(self, old: cabc.Iterable[dict[str, t.Any]], transaction: Transaction) -> int:
        return sum(transaction.run(self._statements.delete_old, this) for this in old)

    def stored_times(self, pattern: str = "*") -> dict[str, float | None]:
        times = dict(self._rows(pattern, self._statements.times, self._statements.times_between))
        return {name: times[name] for name in matching(times, pattern)}

    def _values(self, key: str, document: cabc.Mapping[str, t.Any]) -> dict[str, t.Any]:
        return {
            "document_key": document_key(key),
            "name": key,
            "body": encode(document).decode(),
            "updated_at": float(self.clock()),
        }

    def _rows(self, pattern: str, from_start: sa.Select[t.Any], between: sa.Select[t.Any], **more: object) -> t.Any:
        """Return the rows of all names that begin as the pattern does."""
        start = literal_start(pattern)
        if clean(start) != start:
            return []
        end = end_of_range(start)
        return self._database.rows(from_start if end is None else between, {"start": start, "end": end, **more})

    def examine_store(self) -> StoreReport:
        return self._database.examine()

    def schemas(self) -> tuple[Schema, ...]:
        return (self._database.schema,)

    def ping(self) -> None:
        self._database.ping()

    def close(self) -> None:
        self._database.close()
