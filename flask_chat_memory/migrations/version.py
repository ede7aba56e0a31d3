"""Which version the tables of a site are of, and which one this release works with."""

from __future__ import annotations

import collections.abc as cabc
import typing as t

import msgspec

from ..plugins.sql.schema import Schema

State = t.Literal["current", "absent", "incomplete", "unmarked", "older", "newer"]


class SchemaVersion(msgspec.Struct, frozen=True):
    """The version of a set of tables in a database.

    :param database: without user and password.
    :param prefix: begins the names of the tables.
    :param tables: ``threads`` or ``documents``.
    :param found: None if no version is noted.
    :param wanted: that of this release.
    :param state: ``absent`` and ``incomplete`` say that all or some tables are missing, ``unmarked`` that no version is
        noted: the tables are those of the site's own migrations, if it has such.
    """

    database: str
    prefix: str
    tables: str
    found: str | None
    wanted: str
    state: State


def schema_versions(schemas: cabc.Iterable[Schema]) -> list[SchemaVersion]:
    """Return the versions of tables, as ``memory.schemas()`` gives them; nothing is created or changed.

    :raises StorageError: if a database fails.
    """
    return [_version_of(schema) for schema in schemas]


def _version_of(schema: Schema) -> SchemaVersion:
    found = schema.look()
    wanted = schema.tables.version
    if found.version is not None and found.version != wanted:
        state: State = "newer" if found.version > wanted else "older"
    elif not schema.is_complete(found):
        state = "incomplete" if found.tables else "absent"
    else:
        state = "unmarked" if found.version is None else "current"
    return SchemaVersion(schema.place, schema.prefix, schema.tables.branch, found.version, wanted, state)
