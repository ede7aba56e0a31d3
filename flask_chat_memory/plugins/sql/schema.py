"""Which tables of ours a database has, and of which version they are."""

from __future__ import annotations

import collections.abc as cabc
import contextlib

import msgspec
import sqlalchemy as sa
from sqlalchemy.schema import CreateIndex
from sqlalchemy.schema import CreateTable

from ...errors import StorageError
from .dialect import Dialect
from .tables import TableSet


class Found(msgspec.Struct, frozen=True):
    """What a database has of a set of tables.

    :param tables: their names, as far as they are there.
    :param version: None if none is noted, as for tables that the migrations of a site have made.
    """

    tables: frozenset[str] = frozenset()
    version: str | None = None


class Schema:
    """A set of tables in a database."""

    def __init__(self, engine: sa.Engine, dialect: Dialect, tables: TableSet) -> None:
        self.dialect = dialect
        self.tables = tables
        self._engine = engine
        self._names = frozenset(table.name for table in tables.all())

    @property
    def place(self) -> str:
        """The database, without user and password."""
        return self.dialect.place()

    @property
    def prefix(self) -> str:
        """What the names of the tables begin with."""
        return self.tables.version_table.name.removesuffix("version")

    @property
    def identity(self) -> tuple[str, str, str]:
        """What two schemas have in common that are the same tables of the same database."""
        return (
            self._engine.url.render_as_string(hide_password=False),
            self.tables.version_table.name,
            self.tables.branch,
        )

    def look(self) -> Found:
        """Return what is there. Nothing is created, not even the file of a database."""
        if not self.dialect.exists():
            return Found()
        with self.reporting(), self._engine.connect() as connection:
            return self.found(connection)

    def found(self, connection: sa.Connection) -> Found:
        """Return what is there, as a connection sees it."""
        table = self.tables.version_table
        names = self.dialect.table_names(connection, [*self._names, table.name])
        versions: list[str] = []
        if table.name in names:
            versions = list(connection.scalars(sa.select(table.c.version_num)))
        ours = [version for version in versions if branch_of(version) == self.tables.branch]
        return Found(self._names & names, max(ours, default=None))

    def is_complete(self, found: Found) -> bool:
        return found.tables == self._names

    def make_ready(self, create: bool) -> None:
        """Look at the tables before their first use, and create them where there is none of them.

        Safe when several processes do so at once. If only some are missing, somebody has renamed or dropped them: new
        ones would hide what they hold. Where creating is no transaction, a process may also have been killed in the
        middle of it; then they are empty.

        :raises StorageError: if they are of another version; nothing is changed then.
        """
        with self._engine.connect() as connection:
            found = self.found(connection)
            self.check(found)
            if not create or self.is_complete(found):
                return
            with self.alone(connection):
                found = self.found(connection)
                self.check(found)
                if not holds_rows(connection, (table for table in self.tables.all() if table.name in found.tables)):
                    self._create(connection, found)

    def check(self, found: Found) -> None:
        """Refuse tables that this release cannot use.

        :raises StorageError: naming both versions.
        """
        wanted = self.tables.version
        if found.version is not None and found.version != wanted:
            self.check_age(found)
            raise StorageError(
                f"{self.place} has tables of version {found.version}, and this release of Flask-Chat-Memory works with "
                f"{wanted}: run 'flask chat-memory upgrade'"
            )

    def check_age(self, found: Found) -> None:
        """Refuse tables that are newer than this release.

        :raises StorageError: naming both versions.
        """
        wanted = self.tables.version
        if found.version is not None and found.version > wanted:
            raise StorageError(
                f"{self.place} has tables of version {found.version}, and this release of Flask-Chat-Memory knows none "
                f"after {wanted}: install a newer release; nothing was changed"
            )

    @contextlib.contextmanager
    def reporting(self) -> cabc.Iterator[None]:
        """Raise StorageError for what the driver raises, without its text."""
        try:
            yield
        except (sa.exc.SQLAlchemyError, self.dialect.driver_error, OSError) as error:
            raise StorageError(self.dialect.describe(getattr(error, "orig", None) or error)) from error

    def prepare(self, connection: sa.Connection, found: Found) -> None:
        """Make the table of the versions, and let what is made after it be where the tables are."""
        for name in sorted(found.tables)[:1]:
            self.dialect.create_beside(connection, name)
        connection.execute(CreateTable(self.tables.version_table, if_not_exists=True))

    @contextlib.contextmanager
    def connected(self) -> cabc.Iterator[sa.Connection]:
        """Give a connection."""
        with self._engine.connect() as connection:
            yield connection

    def alone(self, connection: sa.Connection) -> contextlib.AbstractContextManager[None]:
        """Let one process at a time change the tables; what it does is committed at the end."""
        return self.dialect.alone(connection, self.tables.version_table.name)

    def _create(self, connection: sa.Connection, found: Found) -> None:
        self.prepare(connection, found)
        for table in self.tables.all():
            if table.name not in found.tables:
                connection.execute(CreateTable(table, if_not_exists=True))
                for index in table.indexes:
                    connection.execute(CreateIndex(index, if_not_exists=True))
        if found.version is None:
            connection.execute(sa.insert(self.tables.version_table).values(version_num=self.tables.version))


def holds_rows(connection: sa.Connection, tables: cabc.Iterable[sa.Table]) -> bool:
    """Tell whether any of the tables has a row."""
    one = sa.select(sa.literal(1)).limit(1)
    return any(connection.execute(one.select_from(table)).first() is not None for table in tables)


def branch_of(version: str) -> str:
    """Return which tables a version is of."""
    return version.rpartition("_")[0]
