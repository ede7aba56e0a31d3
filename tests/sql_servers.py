"""PostgreSQL and MariaDB for the tests: a schema or a database of the test's own, on the servers of the environment."""

from __future__ import annotations

import collections.abc as cabc
import contextlib
import dataclasses
import os
import pathlib
import secrets
import typing as t

import pytest
import sqlalchemy as sa

from flask_chat_memory.plugins.sql.engines import check_url
from flask_chat_memory.plugins.sqlalchemy import define_tables
from flask_chat_memory.plugins.sqlalchemy import SQLAlchemyPlugin
from flask_chat_memory.storage.sqlalchemy import SQLAlchemyStorage

from .redis_servers import miss

POSTGRESQL = "CHAT_MEMORY_POSTGRESQL_URL"
MARIADB = "CHAT_MEMORY_MARIADB_URL"
TABLES = {table.name for table in define_tables(sa.MetaData()).all()}


@dataclasses.dataclass
class Place:
    """Somewhere on a server that nobody else uses.

    :ivar url: leads there.
    """

    url: str
    opened: list[SQLAlchemyPlugin | SQLAlchemyStorage] = dataclasses.field(default_factory=list)
    engines: list[sa.Engine] = dataclasses.field(default_factory=list)

    def __post_init__(self) -> None:
        self.engine = self.make_engine(poolclass=sa.NullPool, isolation_level="AUTOCOMMIT")

    @property
    def is_postgresql(self) -> bool:
        return self.engine.dialect.name == "postgresql"

    def make_plugin(self, **options: t.Any) -> SQLAlchemyPlugin:
        where = {} if "engine" in options or "url" in options else {"url": self.url}
        plugin = SQLAlchemyPlugin({**where, **options})
        self.opened.append(plugin)
        return plugin

    def make_storage(self, **options: t.Any) -> SQLAlchemyStorage:
        storage = SQLAlchemyStorage({"url": self.url, **options})
        self.opened.append(storage)
        return storage

    def make_engine(self, **options: t.Any) -> sa.Engine:
        """Return an engine as a site might have one."""
        self.engines.append(sa.create_engine(check_url(self.url), **options))
        return self.engines[-1]

    def run(self, statement: str, **parameters: object) -> list[t.Any]:
        """Run a statement over another program's connection."""
        with self.engine.connect() as connection:
            result = connection.execute(sa.text(statement), parameters)
            return list(result) if result.returns_rows else []

    def close(self) -> None:
        for plugin in self.opened:
            plugin.close()
        for engine in self.engines:
            engine.dispose()


@contextlib.contextmanager
def schema_of_our_own() -> cabc.Iterator[Place]:
    """Give a schema on PostgreSQL."""
    with schema_in(_server(POSTGRESQL)) as url, contextlib.closing(Place(_shown(url))) as place:
        yield place


@contextlib.contextmanager
def database_of_our_own() -> cabc.Iterator[Place]:
    """Give a database on MariaDB."""
    # PyMySQL would read the certificates of the system for each connection, which takes longer than most tests.
    server = _server(MARIADB).update_query_dict({"ssl_disabled": "true"})
    with database_in(server) as url, contextlib.closing(Place(_shown(url))) as place:
        yield place


@contextlib.contextmanager
def schema_in(server: sa.URL) -> cabc.Iterator[sa.URL]:
    name = f"chat_memory_test_{secrets.token_hex(6)}"
    with _created(server, f"CREATE SCHEMA {name}", f"DROP SCHEMA {name} CASCADE"):
        yield server.update_query_dict({"options": f"-csearch_path={name}"})


@contextlib.contextmanager
def database_in(server: sa.URL) -> cabc.Iterator[sa.URL]:
    name = f"chat_memory_test_{secrets.token_hex(6)}"
    with _created(server, f"CREATE DATABASE {name}", f"DROP DATABASE {name}"):
        yield server.set(database=name)


def _server(variable: str) -> sa.URL:
    url = os.environ.get(variable)
    return check_url(url or miss(f"{variable} is not set"))


def _shown(url: sa.URL) -> str:
    return url.render_as_string(hide_password=False)


@contextlib.contextmanager
def _created(url: sa.URL, create: str, drop: str) -> cabc.Iterator[None]:
    engine = sa.create_engine(url, poolclass=sa.NullPool, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.exec_driver_sql(create)
    try:
        yield
    finally:
        with engine.connect() as connection:
            connection.exec_driver_sql(drop)


PLACES: dict[str, cabc.Callable[[], contextlib.AbstractContextManager[Place]]] = {
    "postgresql": schema_of_our_own,
    "mariadb": database_of_our_own,
}


class Places:
    """Places with empty tables, used by one test after another: to make the tables takes longer than most tests."""

    def __init__(self) -> None:
        self._made = contextlib.ExitStack()
        self._free: dict[str, Place] = {}
        self._engines: dict[str, sa.Engine] = {}

    @contextlib.contextmanager
    def lend(self, server: str) -> cabc.Iterator[Place]:
        place = self._free.pop(server, None) or self._made.enter_context(PLACES[server]())
        yield place
        place.close()
        with self._engine(place).begin() as connection:
            tables = set(sa.inspect(connection).get_table_names())
            if tables.isdisjoint(TABLES) or tables >= TABLES:
                _empty(connection, tables - {"chat_memory_version"})
                self._free[server] = place

    def _engine(self, place: Place) -> sa.Engine:
        """Return an engine that keeps its connection from test to test."""
        if place.url not in self._engines:
            self._engines[place.url] = sa.create_engine(check_url(place.url))
        return self._engines[place.url]

    def close(self) -> None:
        for engine in self._engines.values():
            engine.dispose()
        self._made.close()


def _empty(connection: sa.Connection, tables: cabc.Iterable[str]) -> None:
    """Delete all rows in one transaction, which takes one turn of the disk, or none if there are no rows."""
    rows = " UNION ALL ".join(f"SELECT '{table}' WHERE EXISTS (SELECT 1 FROM {table})" for table in tables)
    for (table,) in connection.exec_driver_sql(rows).all() if rows else []:
        connection.exec_driver_sql(f"DELETE FROM {table}")


@pytest.fixture(scope="session")
def sql_places() -> cabc.Iterator[Places]:
    with contextlib.closing(Places()) as places:
        yield places


@pytest.fixture(params=PLACES)
def place(request: pytest.FixtureRequest) -> cabc.Iterator[Place]:
    """A place of the test's own, on each of the servers in turn."""
    with PLACES[request.param]() as place:
        yield place


@pytest.fixture(params=["sqlite", *PLACES])
def any_place(request: pytest.FixtureRequest, tmp_path: pathlib.Path) -> cabc.Iterator[Place]:
    """A place of the test's own, in a file, too."""
    with PLACES[request.param]() if request.param in PLACES else _file_in(tmp_path) as place:
        yield place


@pytest.fixture
def file_place(tmp_path: pathlib.Path) -> cabc.Iterator[Place]:
    """A SQLite file of the test's own."""
    with _file_in(tmp_path) as place:
        yield place


def _file_in(folder: pathlib.Path) -> contextlib.AbstractContextManager[Place]:
    return contextlib.closing(Place(f"sqlite:///{folder}/chat.sqlite3"))
