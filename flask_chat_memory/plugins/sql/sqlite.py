"""SQLite: one writer at a time, in this process and in all others."""

from __future__ import annotations

import collections.abc as cabc
import contextlib
import os
import sqlite3
import time
import typing as t

import sqlalchemy as sa

from ...errors import ConfigurationError
from .dialect import Code
from .dialect import Dialect

BUSY_TIMEOUT = 10.0
_OK = 0
_NO_TABLE = "no such table"


class SQLite(Dialect):
    """A file on a local disk, through the driver of the standard library."""

    label = "SQLite"
    drivers = ("pysqlite",)
    one_writer = True
    version = "SELECT sqlite_version()"
    missing_table = frozenset({_NO_TABLE})
    failures = {
        _NO_TABLE: "lacks a table of the plugin",
        sqlite3.SQLITE_PERM: "does not allow this to the user",
        sqlite3.SQLITE_BUSY: "is busy",
        sqlite3.SQLITE_LOCKED: "is busy",
        sqlite3.SQLITE_READONLY: "is read-only",
        sqlite3.SQLITE_IOERR: "cannot be read from its disk or written to it",
        sqlite3.SQLITE_CORRUPT: "is damaged",
        sqlite3.SQLITE_FULL: "has no room left on its disk",
        sqlite3.SQLITE_CANTOPEN: "cannot be opened",
        sqlite3.SQLITE_TOOBIG: "has no room for so long a value",
        sqlite3.SQLITE_NOTADB: "is no database of SQLite",
    }

    @staticmethod
    def make_engine(url: sa.URL) -> sa.Engine:
        """Make an engine for the file: write-ahead log, patient with locks, every commit on disk."""
        engine = sa.create_engine(
            url, pool_reset_on_return=None, hide_parameters=True, connect_args={"timeout": BUSY_TIMEOUT}
        )

        @sa.event.listens_for(engine, "do_connect")
        def keep_private(*_facts: object) -> None:
            # Each time, for the file may have been removed since.
            _make_private_file(engine.url.database or "")

        @sa.event.listens_for(engine, "connect")
        def configure(connection: t.Any, _record: object) -> None:
            _use_write_ahead_log(connection)
            connection.execute("PRAGMA synchronous=FULL")

        return engine

    @classmethod
    def check_url(cls, url: sa.URL) -> None:
        if url.database and "\0" in url.database:
            raise ConfigurationError("url is no database URL, as sqlite:///name.sqlite3")
        if not url.database or ":memory:" in url.database or url.query.get("mode") == "memory":
            raise ConfigurationError(
                "url is a database in memory, which every thread would have of its own; "
                "give a file, or choose the plugin 'in_memory'"
            )

    def check(self) -> None:
        if isinstance(self._engine.pool, (sa.StaticPool, sa.SingletonThreadPool)):
            raise ConfigurationError("the database is in memory; use one in a file, or choose the plugin 'in_memory'")

    def begin(self, cursor: t.Any, scopes: cabc.Sequence[str]) -> None:
        # A deferred transaction that reads first cannot wait for the lock when it comes to write.
        cursor.execute("BEGIN IMMEDIATE")

    def rollback(self, cursor: t.Any) -> None:
        # Nothing to roll back is no error.
        cursor.connection.rollback()

    def forget(self) -> None:
        # On new connections: the file was replaced while it was open.
        self._engine.dispose()

    @contextlib.contextmanager
    def alone(self, connection: sa.Connection, name: str) -> cabc.Iterator[None]:
        connection.commit()
        with connection.begin():
            cursor = connection.connection.cursor()
            # An engine of the site may begin a transaction by itself, which could not wait for the lock.
            cursor.connection.commit()
            cursor.execute("BEGIN IMMEDIATE")
            yield

    def exists(self) -> bool:
        path = self._engine.url.database or ""
        return path.startswith("file:") or os.path.exists(path)

    def file(self) -> str:
        return (self._engine.url.database or "").removeprefix("file:").partition("?")[0]

    def code(self, error: Exception) -> Code:
        # SQLite has no code for it, and speaks English everywhere.
        if "no such table" in str(error):
            return _NO_TABLE
        return getattr(error, "sqlite_errorcode", _OK) & 0xFF or None

    def _reason(self, error: Exception) -> str | None:
        return "cannot be opened" if isinstance(error, OSError) else super()._reason(error)

    def is_there(self) -> bool:
        path = self._engine.url.database or ""
        return not path or path.startswith("file:") or os.path.exists(path)

    def place(self) -> str:
        return f"the SQLite database {os.path.basename(self._engine.url.database or '')!r}"


def _make_private_file(path: str) -> None:
    """Create the file for its owner's eyes only; SQLite gives the files beside it the same mode."""
    if path.startswith("file:") or os.path.exists(path):
        return
    os.makedirs(os.path.dirname(path) or ".", mode=0o700, exist_ok=True)
    os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))


def _use_write_ahead_log(connection: t.Any) -> None:
    # The change of mode does not wait for other connections, whatever the timeout says.
    deadline = time.monotonic() + BUSY_TIMEOUT
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL").fetchone()
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(0.01)
