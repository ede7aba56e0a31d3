"""PostgreSQL through psycopg 3."""

from __future__ import annotations

import collections.abc as cabc
import contextlib
import typing as t

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import psycopg

from ..options import PluginOptions
from .dialect import Code
from .dialect import Dialect
from .dialect import number_of
from .postgresql_append import OneStatementAppend
from .tables import Tables

CONNECT_TIMEOUT = 10
_IDLE = 0
_BEGIN = "BEGIN ISOLATION LEVEL READ COMMITTED"


class PostgreSQL(Dialect):
    """Statements stand for themselves; a transaction is only begun by name."""

    label = "PostgreSQL"
    drivers = ("psycopg",)
    locks_rows = True
    missing_table = frozenset({"42P01"})
    conflicts = frozenset({"40001", "40P01"})
    duplicates = frozenset({"23505"})
    failures = {
        "28000": "refuses the user",
        "28P01": "refuses the user or the password",
        "3D000": "does not exist",
        "42P01": "lacks a table of the plugin",
        "42703": "has a table of another version",
        "42501": "does not allow this to the user",
        "25006": "is read-only",
        "22001": "has no room for so long a value",
        "22P05": "cannot hold every script; its encoding must be UTF8",
        "53100": "has no room left on its disk",
        "53300": "has too many connections",
        "55P03": "is busy",
        "57014": "has cancelled a statement, which took too long",
        "57P03": "is starting up or shutting down",
    }
    unreachable: t.ClassVar[cabc.Mapping[str, str]] = {
        "password": "refuses the user or the password",
        "role": "refuses the user",
        "database": "does not exist",
        "too many": "has too many connections",
        "starting up": "is starting up or shutting down",
    }

    def __init__(self, engine: sa.Engine) -> None:
        super().__init__(engine)
        # By place: a name would be looked up for every parameter of every call.
        self.compiling = psycopg.dialect(paramstyle="format")

    @staticmethod
    def make_engine(url: sa.URL) -> sa.Engine:
        return sa.create_engine(
            url,
            isolation_level="AUTOCOMMIT",
            pool_reset_on_return=None,
            connect_args={"connect_timeout": CONNECT_TIMEOUT, "client_encoding": "utf8", **url.query},
        )

    @contextlib.contextmanager
    def lent(self, connection: t.Any) -> cabc.Iterator[None]:
        driver = connection.dbapi_connection
        if driver.autocommit:
            yield
            return
        if driver.info.transaction_status != _IDLE:
            # What the site runs at every checkout, as SET search_path, must stay.
            driver.commit()
        driver.autocommit = True
        try:
            yield
        finally:
            if connection.is_valid and not driver.closed:
                driver.autocommit = False

    def begin(self, cursor: t.Any, scopes: cabc.Sequence[str]) -> None:
        # All at once. The transaction locks before its first statement looks at the tables.
        locks = [f"SELECT pg_advisory_xact_lock({number_of(scope)})" for scope in scopes]
        cursor.execute("; ".join([_BEGIN, *locks]))

    def append_at_once(self, tables: Tables, options: PluginOptions) -> OneStatementAppend:
        return OneStatementAppend(tables, options)

    @contextlib.contextmanager
    def creating(self, connection: sa.Connection, tables: Tables) -> cabc.Iterator[None]:
        connection.commit()
        connection.execution_options(isolation_level="AUTOCOMMIT")
        connection.exec_driver_sql(f"{_BEGIN}; SELECT pg_advisory_xact_lock({number_of(tables.thread.name)})")
        try:
            yield
        except BaseException:
            connection.exec_driver_sql("ROLLBACK")
            raise
        connection.exec_driver_sql("COMMIT")

    def table_names(self, connection: sa.Connection, tables: Tables) -> set[str]:
        # As a statement would find them: along the whole search path.
        query = sa.text("SELECT relname FROM pg_class WHERE relname = ANY(:names) AND pg_table_is_visible(oid)")
        return set(connection.scalars(query, {"names": [table.name for table in tables.all()]}))

    def code(self, error: Exception) -> Code:
        return t.cast("str | None", getattr(error, "sqlstate", None))

    def _reason(self, error: Exception) -> str | None:
        known = super()._reason(error)
        if known or self.code(error) is not None or getattr(error, "pgconn", None) is None:
            return known
        # There is no code for a connection that fails. The words may be of another language, then it just failed.
        text = str(error).lower()
        return next((said for word, said in self.unreachable.items() if word in text), "cannot be reached")
