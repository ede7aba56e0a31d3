"""What the kinds of databases have in common, and what is particular to each."""

from __future__ import annotations

import abc
import collections.abc as cabc
import contextlib
import hashlib
import typing as t

import sqlalchemy as sa

from ...errors import ConfigurationError
from ...errors import StorageError
from ..options import PluginOptions
from .statements import Statements
from .tables import Tables

if t.TYPE_CHECKING:
    from ..records import Scope
    from .rows import Append

Code = str | int | None


class Busy(StorageError):
    """Somebody has held what is needed for too long."""

    def __init__(self) -> None:
        super().__init__("the database is busy")


class AppendAtOnce(t.Protocol):
    """Appends where nothing is out of the ordinary."""

    def statement(self, append: Append, now: float) -> tuple[str, cabc.Mapping[str, t.Any]]:
        """Return a statement and its parameters for a batch that is not empty.

        Its one row is the sequence of the batch; there is none if something is out of the ordinary.
        """


class DeleteAtOnce(t.Protocol):
    """Deletes a thread where nobody is in the way."""

    def statement(self, scope: Scope, thread_id: str, now: float) -> tuple[str, cabc.Mapping[str, t.Any]]:
        """Return a statement and its parameters.

        Its one row says whether the thread was alive; there is none if the thread was not deleted.
        """


class Dialect(abc.ABC):
    """A kind of database with the driver that speaks to it.

    :param engine: on which nothing is set.
    """

    label: t.ClassVar[str]
    drivers: t.ClassVar[tuple[str, ...]]
    """The drivers, by SQLAlchemy's names, that can be used; the first is the one for a URL that names none."""
    one_writer: t.ClassVar[bool] = False
    """Whether a transaction keeps every other writer waiting."""
    locks_rows: t.ClassVar[bool] = False
    """Whether a thread that is written to must be locked, besides its scope."""
    may_stay_checked_out: t.ClassVar[bool] = False
    """Whether a connection is as good after a while out of the pool."""
    statements: t.ClassVar[type[Statements]] = Statements
    version: t.ClassVar[str]
    """A query for the version of the server or the library."""
    time: t.ClassVar[str | None] = None
    """A query for the UNIX time of the server, if it has a clock of its own."""
    missing_table: t.ClassVar[frozenset[Code]] = frozenset()
    conflicts: t.ClassVar[frozenset[Code]] = frozenset()
    """What ends a transaction only because another was in its way."""
    duplicates: t.ClassVar[frozenset[Code]] = frozenset()
    failures: t.ClassVar[cabc.Mapping[Code, str]] = {}
    """What has happened, in words that hold nothing of the data."""

    def __init__(self, engine: sa.Engine) -> None:
        self._engine = engine
        self.driver_error: type[Exception] = engine.dialect.loaded_dbapi.Error
        self.compiling: sa.Dialect = engine.dialect

    @staticmethod
    @abc.abstractmethod
    def make_engine(url: sa.URL) -> sa.Engine:
        """Make an engine for the database, set up as the plugin needs it."""

    @classmethod  # noqa: B027 (most have nothing to refuse)
    def check_url(cls, url: sa.URL) -> None:
        """Refuse a database that cannot keep the laws.

        :raises ConfigurationError: saying what to use instead.
        """

    @classmethod
    def check_driver(cls, what: str, driver: str) -> None:
        """Refuse a driver that the plugin does not know.

        :raises ConfigurationError: naming those that it does.
        """
        if driver not in cls.drivers:
            raise ConfigurationError(
                f"{what} is for the driver {driver}; with {cls.label} the driver is {cls.drivers[0]}"
            )

    def check(self) -> None:
        """Refuse an engine that cannot keep the laws; see :meth:`check_url`."""
        self.check_driver("engine", self._engine.dialect.driver)
        if isinstance(self._engine.pool, (sa.StaticPool, sa.SingletonThreadPool)):
            # Its one connection is in the middle of the site's own work, which a commit or rollback would end.
            raise ConfigurationError("engine has one connection for all; choose another poolclass")

    def lend(self, connection: t.Any) -> object:
        """Bring a connection into the state that the plugin works with; return what :meth:`give_back` needs."""
        return None

    def give_back(self, connection: t.Any, state: object) -> None:  # noqa: B027 (most connections stay as they are)
        """Bring a connection back into the state in which it came."""

    def cursor(self, connection: t.Any) -> t.Any:
        """Return a cursor of a connection of the pool."""
        return connection.cursor()

    @abc.abstractmethod
    def begin(self, cursor: t.Any, scopes: cabc.Sequence[str]) -> None:
        """Begin a transaction that sees all that others have committed, and keeps them from the scopes until its end.

        :param scopes: their keys, in ascending order.
        """

    def commit(self, cursor: t.Any) -> None:
        cursor.execute("COMMIT")

    def rollback(self, cursor: t.Any) -> None:
        cursor.execute("ROLLBACK")

    def end(self, cursor: t.Any, scopes: cabc.Sequence[str]) -> None:  # noqa: B027 (most locks end by themselves)
        """Let others have the scopes, if the end of the transaction does not."""

    def forget(self) -> None:  # noqa: B027 (most look up a table by its name each time)
        """Prepare for another look at the tables after one was missing."""

    def append_at_once(self, tables: Tables, options: PluginOptions) -> AppendAtOnce | None:
        """Return how to append in one statement, where that is to be had."""
        return None

    def delete_at_once(self, tables: Tables, options: PluginOptions) -> DeleteAtOnce | None:
        """Return how to delete a thread in one statement, where that is to be had."""
        return None

    @contextlib.contextmanager
    @abc.abstractmethod
    def alone(self, connection: sa.Connection, name: str) -> cabc.Iterator[None]:
        """Let one process at a time change tables, in a transaction where the database has those for it.

        :param name: of what is locked.
        """

    def create_beside(self, connection: sa.Connection, name: str) -> None:  # noqa: B027 (most have one place for tables)
        """Let new tables be made where a table is, until the end of the transaction."""

    def exists(self) -> bool:
        """Tell whether there is a database that looking at it would not create."""
        return True

    def table_names(self, connection: sa.Connection, names: cabc.Collection[str]) -> set[str]:
        """Return which of the tables are there."""
        return {*names} & {*sa.inspect(connection).get_table_names()}

    def file(self) -> str | None:
        """Return the path of the file that the database is, if it is one."""
        return None

    def code(self, error: Exception) -> Code:
        """Return the database's code of a failure."""
        return None

    def is_dropped(self, error: Exception, connection: t.Any) -> bool:
        """Tell whether the connection is of no more use."""
        return bool(self._engine.dialect.is_disconnect(t.cast(t.Any, error), connection, None))

    def describe(self, error: Exception) -> str:
        """Say what happened and where, without the driver's text, which may quote what a visitor wrote."""
        return f"{self.place()} {self._reason(error) or 'failed'} ({type(error).__name__})"

    def _reason(self, error: Exception) -> str | None:
        return self.failures.get(self.code(error))

    def is_there(self) -> bool:
        """Tell whether there can be a connection without making what is not there yet."""
        return True

    def place(self) -> str:
        """Name the database without user and password."""
        url = self._engine.url
        name = f" {url.database!r}" if url.database else ""
        host = f" at {url.host}" if url.host else ""
        port = f":{url.port}" if url.host and url.port else ""
        return f"the {self.label} database{name}{host}{port}"


def number_of(name: str) -> int:
    """Return a signed number of 64 bits for a name, for locks that go by number."""
    return int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest(), "big", signed=True)
