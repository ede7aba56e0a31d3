"""The seam between SQLAlchemy and the driver.

SQLAlchemy owns engine, pool, tables and the compiling of statements; they run on the pooled driver connection, which
costs a third of what the execution through Core costs.
"""

from __future__ import annotations

import collections.abc as cabc
import contextlib
import functools
import threading
import typing as t

import sqlalchemy as sa

from ...errors import StorageError
from ..forks import ReadersGate
from ..forks import rest_in_forks
from ..reports import StoreReport
from .connections import Connections
from .connections import Loan
from .dialect import Dialect
from .engines import dialect_of
from .engines import engine_for
from .examining import examine
from .schema import Schema
from .tables import TableSet
from .transaction import Parameters
from .transaction import Prepared
from .transaction import Row
from .transaction import Transaction

ATTEMPTS = 5
"""How often a transaction is begun that others are in the way of."""

R = t.TypeVar("R")


class _Errors:
    """Raises StorageError for what the driver raises.

    :param missing: is called when a table turns out to be missing.
    """

    def __init__(self, dialect: Dialect, missing: cabc.Callable[[], None]) -> None:
        self._kinds = (sa.exc.SQLAlchemyError, dialect.driver_error, OSError, OverflowError, UnicodeError)
        self._dialect = dialect
        self._missing = missing

    def __enter__(self) -> None: ...

    def __exit__(self, _kind: object, error: BaseException | None, _traceback: object) -> None:
        if isinstance(error, self._kinds):
            cause = getattr(error, "orig", None) or error
            if self._dialect.code(cause) in self._dialect.missing_table:
                self._missing()
            raise StorageError(self._dialect.describe(cause)) from error


class Database:
    """A database that holds tables of ours.

    :param engine: the site's engine, on which nothing is set, or a URL, for which an engine is made.
    """

    def __init__(self, engine: sa.Engine | str, tables: TableSet, create_tables: bool) -> None:
        self._owns_engine = isinstance(engine, str)
        self._engine = engine_for(engine) if isinstance(engine, str) else engine
        self.dialect = dialect_of(self._engine)
        self.schema = Schema(self._engine, self.dialect, tables)
        self._create_tables = create_tables
        self._ready = False
        self._closed = False
        self._errors = _Errors(self.dialect, self._start_over)
        self._connections = Connections(self._engine, self.dialect, self._owns_engine)
        self._prepared: dict[sa.Executable, Prepared] = {}
        self._creating = threading.Lock()
        self.lock = ReadersGate()
        rest_in_forks(self, inner=True)

    def prepare(self, statement: sa.Executable) -> Prepared:
        """Return the statement compiled for the database's dialect, which is done once."""
        prepared = self._prepared.get(statement)
        if prepared is None:
            prepared = self._prepared[statement] = Prepared(statement, self.dialect.compiling)
        return prepared

    def rows(self, statement: sa.Executable, parameters: Parameters) -> list[Row]:
        """Run one statement that only reads."""
        prepared = self.prepare(statement)

        def read(cursor: t.Any, _repeated: bool) -> list[Row]:
            cursor.execute(prepared.text, prepared.values(parameters))
            # Some drivers give a tuple.
            return list(cursor.fetchall())

        with self.lock, self._errors:
            return self._repeating(read)

    def write(
        self,
        work: cabc.Callable[[Transaction], R],
        scopes: cabc.Iterable[str] = (),
        *,
        repeatable: bool = True,
        repeated: bool = False,
    ) -> R:
        """Do the work in a transaction, which an exception rolls back.

        It is done again if others were in its way, and once more if the connection was lost.

        :param scopes: keys of the scopes that are written to; nobody else writes to them meanwhile.
        :param repeatable: it does no harm to do it again after a commit whose end nobody knows.
        """
        transact = functools.partial(self._transact, work, sorted(set(scopes)), repeatable)
        with self._gate(), self._errors:
            return self._repeating(transact, repeated)

    def write_at_once(self, statement: str, values: Parameters) -> tuple[list[Row], bool]:
        """Run one statement that is a transaction of its own and may safely be followed by the same in a transaction.

        :return: the rows, none if others were in its way; and whether it may have been done nevertheless.
        """
        with self.lock, self._errors:
            loan = self._take()
            try:
                loan.cursor.execute(statement, values)
                return loan.cursor.fetchall(), False
            except self.dialect.driver_error as error:
                if self._is_dropped(loan, error):
                    return [], True
                if self.dialect.code(error) in self.dialect.conflicts | self.dialect.duplicates:
                    return [], False
                raise
            except BaseException as error:
                _part_with(loan, error)
                raise
            finally:
                self._connections.give_back(loan)

    def examine(self) -> StoreReport:
        """Return what the database tells of itself; nothing is made."""
        given = {"ours": self._owns_engine, "creates": self._create_tables}
        with self._errors:
            return examine(self._engine, self.schema, **given)

    def ping(self) -> None:
        """Ask the database for a sign of life, whether or not it has the tables."""
        if self._closed:
            raise StorageError("the plugin is closed")
        if self.dialect.is_there():
            with self.lock, self._errors:
                loan = self._connections.take_living()
                try:
                    loan.cursor.execute("SELECT 1")
                except self.dialect.driver_error as error:
                    loan.connection.invalidate(error)
                    raise
                finally:
                    self._connections.give_back(loan)

    def close(self) -> None:
        self._closed = True
        if self._owns_engine:
            self._connections.close()

    def after_fork(self) -> None:
        """Forget the connections of the parent process, which goes on using them."""
        self._creating = threading.Lock()
        self.lock = ReadersGate()
        self._connections.after_fork()

    def _gate(self) -> contextlib.AbstractContextManager[object]:
        """Let a fork wait for writes; of one writer, the plugin holds its lock."""
        return contextlib.nullcontext() if self.dialect.one_writer else self.lock

    def _repeating(self, work: cabc.Callable[[t.Any, bool], R], repeated: bool = False) -> R:
        """Do work with a cursor, as :meth:`write` says; it is told whether it may be done already."""
        dialect = self.dialect
        dropped = False
        for attempt in range(1, ATTEMPTS + 1):
            loan = self._take(dropped)
            try:
                return work(loan.cursor, repeated)
            except dialect.driver_error as error:
                if self._is_dropped(loan, error):
                    if dropped:
                        raise
                    dropped = repeated = True
                elif attempt == ATTEMPTS or dialect.code(error) not in dialect.conflicts:
                    raise
            except BaseException as error:
                _part_with(loan, error)
                raise
            finally:
                self._connections.give_back(loan)
        raise AssertionError("the last attempt returns or raises")

    def _transact(
        self,
        work: cabc.Callable[[Transaction], R],
        scopes: list[str],
        repeatable: bool,
        cursor: t.Any,
        repeated: bool,
    ) -> R:
        dialect = self.dialect
        try:
            dialect.begin(cursor, scopes)
            result = work(Transaction(cursor, self.prepare, dialect.locks_rows, repeated))
            self._commit(cursor, repeatable)
        except Exception:
            with contextlib.suppress(dialect.driver_error):
                dialect.rollback(cursor)
                dialect.end(cursor, scopes)
            raise
        dialect.end(cursor, scopes)
        return result

    def _commit(self, cursor: t.Any, repeatable: bool) -> None:
        dialect = self.dialect
        try:
            dialect.commit(cursor)
        except dialect.driver_error as error:
            if not repeatable and dialect.code(error) not in dialect.conflicts:
                raise StorageError(f"{dialect.place()} may have stored it or not: the connection was lost") from error
            raise

    def _is_dropped(self, loan: Loan, error: Exception) -> bool:
        """Tell whether the connection was lost; a lost one is not used again."""
        if not self.dialect.is_dropped(error, loan.connection.dbapi_connection):
            return False
        loan.connection.invalidate(error)
        return True

    def _start_over(self) -> None:
        """Look for the tables again."""
        self._ready = False
        self.dialect.forget()

    def _take(self, tested: bool = False) -> Loan:
        if self._closed:
            raise StorageError("the plugin is closed")
        if not self._ready:
            self._make_ready()
        return self._connections.take_living() if tested else self._connections.take()

    def _make_ready(self) -> None:
        with self._creating:
            if self._ready:
                return
            self.schema.make_ready(self._create_tables)
            self._ready = True


def _part_with(loan: Loan, error: BaseException) -> None:
    """Close a connection at an interruption: the next one to use it would get the rest of an answer."""
    if not isinstance(error, Exception):
        loan.connection.invalidate()
