"""PostgreSQL through psycopg 3."""

from __future__ import annotations

import collections.abc as cabc
import contextlib
import re
import typing as t

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql
from sqlalchemy.dialects.postgresql import psycopg

from ..options import PluginOptions
from .dialect import Code
from .dialect import Dialect
from .dialect import number_of
from .postgresql_append import OneStatementAppend
from .postgresql_delete import OneStatementDelete
from .server_statements import ServerStatements
from .tables import Tables

CONNECT_TIMEOUT = 10
_IDLE = 0
_CURSOR = "chat_memory_cursor"
_BEGIN = "BEGIN ISOLATION LEVEL READ COMMITTED"


class PostgreSQLStatements(ServerStatements):
    def running(self) -> sa.ColumnElement[bool]:
        live, thread = self._tables.live, self._tables.thread
        lease = sa.select(sa.func.max(live.c.lease)).where(live.c.thread_key == thread.c.thread_key).correlate(thread)
        # See ALIVE.
        return (lease.scalar_subquery() > sa.bindparam("now")).is_(sa.true())

    def holds(self, column: sa.Column[t.Any], text: sa.BindParameter[t.Any]) -> sa.ColumnElement[bool]:
        return sa.func.strpos(column, text) > 0

    def listed(self, name: str) -> sa.Select[t.Any]:
        values = sa.cast(sa.bindparam(name, type_=sa.Text), postgresql.JSON)
        return sa.select(sa.func.json_array_elements_text(values))

    def among(self, column: sa.Column[str], few: sa.Select[t.Any]) -> sa.ColumnElement[bool]:
        # The planner does not know that they are few, and would rather read the whole table than take its index.
        return column == sa.any_(sa.func.array(few.scalar_subquery()))

    def _adding(self, table: sa.Table, values: dict[str, t.Any], more: dict[str, t.Any]) -> sa.Insert:
        insert = postgresql.insert(table).values(values)
        return insert.on_conflict_do_update(index_elements=table.primary_key, set_=more)

    def _define_reading(self, thread: sa.Table, message: sa.Table) -> None:
        super()._define_reading(thread, message)
        limit = sa.bindparam("limit", type_=sa.BigInteger)
        # Ordered and limited inside, or an index without the sequence would be taken for as good.
        newest = (
            sa.select(message.c.sequence, message.c.body)
            .where(message.c.thread_key == thread.c.thread_key, message.c.sequence > thread.c.messages - limit)
            .order_by(message.c.sequence.desc())
            .limit(limit)
            .correlate(thread)
            .lateral()
        )
        current = self._tables.current
        self.newest_of_current = (
            sa.select(thread.c.thread_id, newest.c.sequence, self._body(thread.c.hidden_ranges, newest.c.body))
            .select_from(current.join(thread, thread.c.thread_key == current.c.thread_key).outerjoin(newest, sa.true()))
            .where(current.c.scope_key == sa.bindparam("scope_key"), self.alive())
            .order_by(newest.c.sequence.desc())
        )

    def _values(self, row: sa.Select[t.Any]) -> list[sa.ScalarSelect[t.Any]]:
        # The row is found once.
        return [sa.select(column).scalar_subquery() for column in row.cte("found").c]

    def _define_removing(self) -> None:
        super()._define_removing()
        # In one round trip.
        *parts, last = self.remove_all
        self.remove_all = [last.add_cte(*(part.cte(f"removed_{place}") for place, part in enumerate(parts)))]


class PostgreSQL(Dialect):
    """Statements stand for themselves; a transaction is only begun by name."""

    label = "PostgreSQL"
    drivers = ("psycopg",)
    locks_rows = True
    version = "SHOW server_version"
    time = "SELECT extract(epoch FROM clock_timestamp())"
    may_stay_checked_out = True
    statements = PostgreSQLStatements
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
        self._unusable: type[Exception] = engine.dialect.loaded_dbapi.OperationalError
        # By place: a name would be looked up for every parameter of every call.
        self.compiling = psycopg.dialect(paramstyle="format")  # type: ignore[no-untyped-call]

    @staticmethod
    def make_engine(url: sa.URL) -> sa.Engine:
        return sa.create_engine(
            url,
            isolation_level="AUTOCOMMIT",
            pool_reset_on_return=None,
            hide_parameters=True,
            connect_args={"connect_timeout": CONNECT_TIMEOUT, "client_encoding": "utf8", **url.query},
        )

    def lend(self, connection: t.Any) -> object:
        driver = connection.dbapi_connection
        if driver.autocommit:
            return None
        if driver.info.transaction_status != _IDLE:
            # What the site runs at every checkout, as SET search_path, must stay.
            driver.commit()
        driver.autocommit = True
        return driver

    def give_back(self, connection: t.Any, state: object) -> None:
        if state is not None and not connection.dbapi_connection.closed:
            connection.dbapi_connection.autocommit = False

    def cursor(self, connection: t.Any) -> t.Any:
        # One for each connection: what a new one has to find out again costs a fifth of a round trip.
        cursor = connection.info.get(_CURSOR)
        if cursor is None:
            cursor = connection.info[_CURSOR] = connection.cursor()
        return cursor

    def begin(self, cursor: t.Any, scopes: cabc.Sequence[str]) -> None:
        # All at once. The transaction locks before its first statement looks at the tables.
        # Its numbers are those of the whole database, whose schemas may be of many sites.
        number = "hashtextextended(current_schema()::text, {})"
        locks = [f"SELECT pg_advisory_xact_lock({number.format(number_of(scope))})" for scope in scopes]
        cursor.execute("; ".join([_BEGIN, *locks]))

    def append_at_once(self, tables: Tables, options: PluginOptions) -> OneStatementAppend:
        return OneStatementAppend(tables, options, self.compiling)

    def delete_at_once(self, tables: Tables, options: PluginOptions) -> OneStatementDelete:
        return OneStatementDelete(tables, options, self.compiling)

    @contextlib.contextmanager
    def alone(self, connection: sa.Connection, name: str) -> cabc.Iterator[None]:
        connection.commit()
        state = self.lend(connection.connection)
        connection.exec_driver_sql(f"{_BEGIN}; SELECT pg_advisory_xact_lock({number_of(name)})")
        try:
            yield
        except BaseException:
            connection.exec_driver_sql("ROLLBACK")
            raise
        else:
            connection.exec_driver_sql("COMMIT")
        finally:
            self.give_back(connection.connection, state)

    def create_beside(self, connection: sa.Connection, name: str) -> None:
        # In the first schema of the search path they would hide those of another that are there.
        path = "quote_ident(nspname) || ',' || current_setting('search_path')"
        schema = "FROM pg_class JOIN pg_namespace AS n ON n.oid = relnamespace"
        connection.execute(
            sa.text(
                f"SELECT set_config('search_path', {path}, true) {schema} "
                "WHERE relname = :name AND pg_table_is_visible(pg_class.oid)"
            ),
            {"name": name},
        )

    def table_names(self, connection: sa.Connection, names: cabc.Collection[str]) -> set[str]:
        # As a statement would find them: along the whole search path.
        query = sa.text("SELECT relname FROM pg_class WHERE relname = ANY(:names) AND pg_table_is_visible(oid)")
        return set(connection.scalars(query, {"names": [*names]}))

    def code(self, error: Exception) -> Code:
        return t.cast("str | None", getattr(error, "sqlstate", None))

    def _reason(self, error: Exception) -> str | None:
        known = super()._reason(error)
        if known or self.code(error) is not None or not isinstance(error, self._unusable):
            return known
        # There is no code for a connection that fails. The words may be of another language; names stand in quotes.
        text = re.sub(r"""(["']).*?\1""", "", str(error)).lower()
        return next((said for word, said in self.unreachable.items() if word in text), "cannot be reached")
