"""The seam between SQLAlchemy and the driver.

SQLAlchemy owns engine, pool, tables and the compiling of statements; they run on the pooled driver connection, which
costs a third of what the execution through Core costs.
"""

from __future__ import annotations

import collections.abc as cabc
import contextlib
import os
import sqlite3
import threading
import time
import typing as t

import sqlalchemy as sa
from sqlalchemy.schema import CreateIndex
from sqlalchemy.schema import CreateTable

from ...errors import ConfigurationError
from ...errors import StorageError
from ..forks import ReadersGate
from ..forks import rest_in_forks
from .tables import TableSet

BUSY_TIMEOUT = 10.0

Parameters = cabc.Mapping[str, t.Any]
Row = tuple[t.Any, ...]


class Transaction:
    """Runs statements on one driver connection."""

    def __init__(self, database: Database, connection: t.Any) -> None:
        self._database = database
        self._cursor = connection.cursor()

    def run(self, statement: sa.Executable, parameters: Parameters) -> int:
        """Run a statement and return the number of rows that it changed."""
        prepared = self._database.prepare(statement)
        self._cursor.execute(prepared.text, prepared.values(parameters))
        return t.cast(int, self._cursor.rowcount)

    def run_many(self, statement: sa.Executable, rows: cabc.Iterable[Parameters]) -> None:
        prepared = self._database.prepare(statement)
        self._cursor.executemany(prepared.text, [prepared.values(row) for row in rows])

    def rows(self, statement: sa.Executable, parameters: Parameters) -> list[Row]:
        prepared = self._database.prepare(statement)
        self._cursor.execute(prepared.text, prepared.values(parameters))
        return t.cast("list[Row]", self._cursor.fetchall())


class _Prepared:
    """A statement in the words of the driver, with the order of its parameters."""

    def __init__(self, statement: sa.Executable, dialect: sa.Dialect) -> None:
        compiled = t.cast(sa.Compiled, t.cast(t.Any, statement).compile(dialect=dialect))
        self.text = str(compiled)
        self._names: list[str] = list(t.cast(t.Any, compiled).positiontup)
        self._constants = dict(compiled.params)

    def values(self, parameters: Parameters) -> list[t.Any]:
        return [parameters[name] if name in parameters else self._constants[name] for name in self._names]


class _Errors:
    """Raises StorageError for what the driver raises.

    :param missing: is called when a table turns out to be missing.
    """

    def __init__(self, kinds: tuple[type[Exception], ...], missing: cabc.Callable[[], None]) -> None:
        self._kinds = kinds
        self._missing = missing

    def __enter__(self) -> None: ...

    def __exit__(self, _kind: object, error: BaseException | None, _traceback: object) -> None:
        if isinstance(error, self._kinds):
            if "no such table" in str(error):
                self._missing()
            # Without the driver's text: it may quote what a visitor wrote.
            raise StorageError(f"the database failed ({type(error).__name__})") from error


class Database:
    """A database that holds tables of ours.

    :param engine: the site's engine, on which nothing is set, or a URL, for which an engine is made.
    """

    def __init__(self, engine: sa.Engine | str, tables: TableSet, create_tables: bool) -> None:
        self._owns_engine = isinstance(engine, str)
        self._engine = sqlite_engine(engine) if isinstance(engine, str) else engine
        check_engine(self._engine)
        self._tables = tables
        self._create_tables = create_tables
        self._ready = False
        self._closed = False
        driver_error = self._engine.dialect.loaded_dbapi.Error
        self._errors = _Errors((sa.exc.SQLAlchemyError, driver_error, OSError, OverflowError), self._start_over)
        self._inherited: list[sa.Pool] = []
        self._prepared: dict[sa.Executable, _Prepared] = {}
        self._creating = threading.Lock()
        self.lock = ReadersGate()
        rest_in_forks(self, inner=True)

    def prepare(self, statement: sa.Executable) -> _Prepared:
        """Return the statement compiled for the database's dialect, which is done once."""
        prepared = self._prepared.get(statement)
        if prepared is None:
            prepared = self._prepared[statement] = _Prepared(statement, self._engine.dialect)
        return prepared

    def rows(self, statement: sa.Executable, parameters: Parameters) -> list[Row]:
        """Run one statement that only reads."""
        with self.lock, self._errors:
            connection = self._connection()
            try:
                return Transaction(self, connection).rows(statement, parameters)
            finally:
                connection.close()

    @contextlib.contextmanager
    def writing(self) -> cabc.Iterator[Transaction]:
        """Give a connection in a transaction, committed at the end, rolled back by an exception."""
        with self._errors, contextlib.closing(self._connection()) as connection:
            transaction = Transaction(self, connection)
            try:
                # A deferred transaction that reads first cannot wait for the lock when it comes to write.
                connection.cursor().execute("BEGIN IMMEDIATE")
                yield transaction
            except BaseException:
                connection.rollback()
                raise
            connection.commit()

    def close(self) -> None:
        self._closed = True
        if self._owns_engine:
            self._engine.dispose()

    def after_fork(self) -> None:
        """Forget the connections of the parent process, which goes on using them."""
        self._creating = threading.Lock()
        self.lock = ReadersGate()
        # Kept, for even closing a connection of the parent would disturb it.
        self._inherited.append(self._engine.pool)
        self._engine.dispose(close=False)

    def _start_over(self) -> None:
        """Look for the tables again, on new connections: the file was replaced while it was open."""
        self._ready = False
        self._engine.dispose()

    def _connection(self) -> t.Any:
        if self._closed:
            raise StorageError("the plugin is closed")
        if not self._ready:
            self._make_ready()
        return self._engine.raw_connection()

    def _make_ready(self) -> None:
        with self._creating:
            if self._ready:
                return
            if self._create_tables:
                create_tables_once(self._engine, self._tables)
            self._ready = True


def check_engine(engine: sa.Engine) -> None:
    """Refuse a database that cannot keep the laws.

    :raises ConfigurationError: saying what to use instead.
    """
    if engine.dialect.name != "sqlite":
        raise ConfigurationError(f"the database is {engine.dialect.name}; sqlite is supported")
    if isinstance(engine.pool, (sa.StaticPool, sa.SingletonThreadPool)):
        # Its one connection is in the middle of the site's own work, which a commit or rollback of ours would end.
        raise ConfigurationError("the database is in memory; use one in a file, or choose the plugin 'in_memory'")


def create_tables_once(engine: sa.Engine, tables: TableSet) -> None:
    """Create the tables where there is none of them; safe when several processes do so at once.

    If only some are missing, somebody has renamed or dropped them: new ones would hide what they hold.
    """
    if not {table.name for table in tables.all()}.isdisjoint(sa.inspect(engine).get_table_names()):
        return
    with engine.connect() as connection:
        connection.exec_driver_sql("BEGIN IMMEDIATE")
        for table in tables.all():
            connection.execute(CreateTable(table, if_not_exists=True))
            for index in table.indexes:
                connection.execute(CreateIndex(index, if_not_exists=True))
        connection.commit()


def sqlite_engine(url: str) -> sa.Engine:
    """Make an engine for a SQLite file: write-ahead log, patient with locks, every commit on disk."""
    engine = sa.create_engine(url, connect_args={"timeout": BUSY_TIMEOUT})

    @sa.event.listens_for(engine, "do_connect")
    def keep_private(*_facts: object) -> None:
        # Each time, for the file may have been removed since.
        _make_private_file(engine.url.database or "")

    @sa.event.listens_for(engine, "connect")
    def configure(connection: t.Any, _record: object) -> None:
        _use_write_ahead_log(connection)
        connection.execute("PRAGMA synchronous=FULL")

    return engine


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
