"""MariaDB, and MySQL, through PyMySQL."""

from __future__ import annotations

import collections.abc as cabc
import contextlib
import typing as t

import sqlalchemy as sa
from sqlalchemy.dialects import mysql
from sqlalchemy.dialects.mysql import pymysql

from ...errors import ConfigurationError
from ...errors import StorageError
from .dialect import Busy
from .dialect import Code
from .dialect import Dialect
from .server_statements import ServerStatements

LOCK_TIMEOUT = 10
CREATE_TIMEOUT = 60
_CHARSET = "utf8mb4"
# The names of locks are those of the whole server, whose databases may be of many sites.
_LOCK_NAME = "SHA1(CONCAT(DATABASE(), '.', %s))"


class MySQLStatements(ServerStatements):
    """Statements that spare the optimizer of MariaDB or MySQL what it does not do well."""

    def _apart(self, query: sa.Select[t.Any]) -> sa.ScalarSelect[t.Any]:
        # MySQL takes it only as a table of its own, which DISTINCT keeps it from dissolving.
        table = query.distinct().subquery()
        return sa.select(*table.c).scalar_subquery()

    def _adding(self, table: sa.Table, values: dict[str, t.Any], more: dict[str, t.Any]) -> sa.Insert:
        return mysql.insert(table).values(values).on_duplicate_key_update(more)

    def _by_id(self, query: sa.Select[t.Any]) -> sa.Select[t.Any]:
        # It would take the primary key, and read the thread from its beginning.
        message = self._tables.message
        return query.with_hint(message, f"FORCE INDEX (`{message.name}_id`)")


class MySQL(Dialect):
    """A scope is locked by a name, before the transaction, whose statements then see all that came before."""

    label = "MariaDB"
    drivers = ("pymysql",)
    version = "SELECT VERSION()"
    time = "SELECT UNIX_TIMESTAMP(NOW(6))"
    statements = MySQLStatements
    missing_table = frozenset({1146})
    conflicts = frozenset({1213, 1020})
    failures = {
        1040: "has too many connections",
        1044: "does not allow this to the user",
        1045: "refuses the user or the password",
        1049: "does not exist",
        1054: "has a table of another version",
        1142: "does not allow this to the user",
        1143: "does not allow this to the user",
        1146: "lacks a table of the plugin",
        1021: "has no room left on its disk",
        1114: "has no room left on its disk",
        1153: "refuses so long a message; see max_allowed_packet",
        1205: "is busy",
        1290: "is read-only",
        1366: "cannot hold every script; the charset of the connection must be utf8mb4",
        1406: "has no room for so long a value",
        1698: "refuses the user or the password",
        1792: "is read-only",
        1836: "is read-only",
        2002: "cannot be reached",
        2003: "cannot be reached",
        2005: "cannot be reached",
    }

    def __init__(self, engine: sa.Engine) -> None:
        super().__init__(engine)
        self.compiling = pymysql.dialect(paramstyle="format")

    @staticmethod
    def make_engine(url: sa.URL) -> sa.Engine:
        return sa.create_engine(
            url.update_query_dict({"charset": _CHARSET}),
            isolation_level="AUTOCOMMIT",
            pool_reset_on_return=None,
            hide_parameters=True,
            pool_recycle=3600,
        )

    def check(self) -> None:
        super().check()
        charset = self._engine.url.query.get("charset", _CHARSET)
        if charset != _CHARSET:
            raise ConfigurationError(f"engine has the charset {charset!r}, which lacks scripts; use charset={_CHARSET}")

    def lend(self, connection: t.Any) -> object:
        driver = connection.dbapi_connection
        if driver.charset != _CHARSET:
            # Without strict mode the server would cut a text off at the first character that is not there.
            raise StorageError(f"{self.place()} is connected with the charset {driver.charset!r}; use {_CHARSET!r}")
        return None

    def begin(self, cursor: t.Any, scopes: cabc.Sequence[str]) -> None:
        for scope in scopes:
            _lock(cursor, scope, LOCK_TIMEOUT)
        if not cursor.connection.get_autocommit():
            # What the site reads at every checkout has begun a transaction.
            cursor.connection.commit()
        # With fewer locks on gaps between rows, which belong to nobody.
        cursor.execute("SET TRANSACTION ISOLATION LEVEL READ COMMITTED")
        cursor.execute("START TRANSACTION")

    def end(self, cursor: t.Any, scopes: cabc.Sequence[str]) -> None:
        for scope in scopes:
            cursor.execute(f"DO RELEASE_LOCK({_LOCK_NAME})", [scope])

    @contextlib.contextmanager
    def alone(self, connection: sa.Connection, name: str) -> cabc.Iterator[None]:
        # What was read before the lock may have changed since.
        connection.commit()
        cursor = connection.connection.cursor()
        _lock(cursor, name, CREATE_TIMEOUT)
        try:
            with connection.begin():
                yield
        finally:
            self.end(cursor, [name])

    def code(self, error: Exception) -> Code:
        return t.cast("int | None", error.args[0]) if error.args and isinstance(error.args[0], int) else None

    def is_dropped(self, error: Exception, connection: t.Any) -> bool:
        return self.code(error) in (0, 1053, 1927) or super().is_dropped(error, connection)


def _lock(cursor: t.Any, name: str, timeout: int) -> None:
    cursor.execute(f"SELECT GET_LOCK({_LOCK_NAME}, %s)", [name, timeout])
    if cursor.fetchone() != (1,):
        raise Busy
