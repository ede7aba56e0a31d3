"""Brings the tables of a database to the version of this release, by the migrations in ``versions``."""

from __future__ import annotations

import collections.abc as cabc
import os
import typing as t

import alembic.command
import msgspec
import sqlalchemy as sa
from alembic.config import Config
from alembic.script import ScriptDirectory

from ..errors import StorageError
from ..plugins.sql.schema import Found
from ..plugins.sql.schema import holds_rows
from ..plugins.sql.schema import Schema
from .baseline import differences
from .baseline import made_by

FOLDER = os.path.dirname(__file__)


class Upgraded(msgspec.Struct, frozen=True):
    """What an upgrade does, or would do, to the tables of a database.

    :param prefix: begins the names of the tables.
    :param tables: the set of them, ``threads`` or ``documents``.
    :param found: the version before; None if none was noted.
    :param wanted: the version after.
    :param steps: the migrations, oldest first. Where tables are there of which no version was noted, the first ones
        find their work done.
    """

    database: str
    prefix: str
    tables: str
    found: str | None
    wanted: str
    steps: tuple[str, ...]


def upgrade(schema: Schema, *, dry_run: bool = False) -> Upgraded:
    """Bring tables in place to the version of this release, or create them; once more changes nothing.

    One process at a time does so, others wait. Interrupted, it is done again.

    :param dry_run: only tell what would be done; not even an absent database is created.
    :raises StorageError: if the tables are newer than this release, or none of ours, and if the database fails;
        newer ones and those that are none of ours are left as they are.
    """
    with schema.reporting():
        if dry_run:
            if not schema.dialect.exists():
                return _planned(schema, Found())
            with schema.connected() as connection:
                return _checked(schema, connection, schema.found(connection))
        with schema.connected() as connection:
            with schema.alone(connection):
                found = schema.found(connection)
                upgraded = _checked(schema, connection, found)
                if upgraded.steps:
                    schema.prepare(connection, found)
                    alembic.command.upgrade(_config(schema, connection), f"{schema.tables.branch}@head")
            return upgraded


def _checked(schema: Schema, connection: sa.Connection, found: Found) -> Upgraded:
    """Return what is to be done, after making sure that it can be done."""
    schema.check_age(found)
    if found.version is None and found.tables:
        _check_unmarked(schema, connection)
    if found.version == schema.tables.version and not schema.is_complete(found):
        raise _missing(schema, {table.name for table in schema.tables.all()} - found.tables)
    return _planned(schema, found)


def _planned(schema: Schema, found: Found) -> Upgraded:
    """Return what is to be done."""
    branch = schema.tables.branch
    scripts = ScriptDirectory(FOLDER)
    steps: list[str] = []
    for script in scripts.iterate_revisions(f"{branch}@head", "base"):
        if script.revision == found.version:
            break
        steps.insert(0, script.revision)
    wanted = scripts.as_revision_number(f"{branch}@head")
    return Upgraded(schema.place, schema.prefix, branch, found.version, t.cast(str, wanted), tuple(steps))


def _check_unmarked(schema: Schema, connection: sa.Connection) -> None:
    """Refuse tables of which no version is noted, unless they are ours as they were first released.

    :raises StorageError: saying what they have or lack.
    """
    first = ScriptDirectory(FOLDER).get_revision(f"{schema.tables.branch}_0001")
    expected = made_by(first.module.upgrade, connection.dialect, schema.prefix)
    names = schema.dialect.table_names(connection, expected.tables)
    if len(names) < len(expected.tables) and holds_rows(connection, (expected.tables[name] for name in names)):
        raise _missing(schema, set(expected.tables) - names)
    differing = differences(connection, expected, names)
    if differing:
        raise StorageError(
            f"{schema.place} has tables of which no version is noted, and they are not those of {first.revision}: "
            f"{'; '.join(differing)}. Tables that the site's own migrations own are upgraded by these; nothing was "
            "changed"
        )


def _missing(schema: Schema, names: cabc.Iterable[str]) -> StorageError:
    return StorageError(
        f"{schema.place} lacks the tables {', '.join(sorted(names))}, beside those that are there: give them their "
        "names back, or option table_prefix its former value, or restore them; nothing was changed"
    )


def _config(schema: Schema, connection: sa.Connection) -> Config:
    config = Config()
    config.set_main_option("script_location", FOLDER.replace("%", "%%"))
    config.attributes["options"] = {
        "connection": connection,
        "version_table": schema.tables.version_table.name,
        "table_prefix": schema.prefix,
    }
    return config
