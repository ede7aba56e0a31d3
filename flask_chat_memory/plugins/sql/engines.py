"""Which database a URL or an engine is of."""

from __future__ import annotations

import importlib.util

import sqlalchemy as sa

from ...errors import ConfigurationError
from .dialect import Dialect

_ANY_URL = "url is no database URL, as sqlite:///name.sqlite3"
_EXTRAS = {"psycopg": "postgresql", "pymysql": "mysql"}


def kind_of(what: str, name: str) -> type[Dialect]:
    """Return the kind of a database by SQLAlchemy's name for it.

    :raises ConfigurationError: if there is none, or if its driver is not installed.
    """
    # Imported when chosen: a driver that nobody chose need not be there.
    if name == "sqlite":
        from .sqlite import SQLite

        return SQLite
    if name == "postgresql":
        from .postgresql import PostgreSQL

        return PostgreSQL
    if name in ("mysql", "mariadb"):
        from .mysql import MySQL

        return MySQL
    raise ConfigurationError(f"{what} is of {name}; sqlite, postgresql, mariadb and mysql are supported")


def check_url(url: str) -> sa.URL:
    """Return the URL with the driver that is used.

    :raises ConfigurationError: if it is none of a database that can keep the laws.
    """
    try:
        parsed = sa.make_url(url)
    except (sa.exc.ArgumentError, ValueError):
        raise ConfigurationError(_ANY_URL) from None
    kind = kind_of("url", parsed.get_backend_name())
    backend, _, driver = parsed.drivername.partition("+")
    kind.check_driver("url", driver or kind.drivers[0])
    kind.check_url(parsed)
    extra = _EXTRAS.get(kind.drivers[0])
    if extra and importlib.util.find_spec(kind.drivers[0]) is None:
        raise ConfigurationError(
            f"url needs {kind.drivers[0]}, which is not installed: install flask-chat-memory[{extra}]"
        )
    return parsed.set(drivername=f"{backend}+{kind.drivers[0]}")


def engine_for(url: str) -> sa.Engine:
    """Make an engine; no connection is opened."""
    parsed = check_url(url)
    return kind_of("url", parsed.get_backend_name()).make_engine(parsed)


def dialect_of(engine: sa.Engine) -> Dialect:
    """Return what is particular to the engine's database.

    :raises ConfigurationError: if it cannot keep the laws.
    """
    dialect = kind_of("engine", engine.dialect.name)(engine)
    dialect.check()
    return dialect
