"""The deletion of a thread of PostgreSQL in one statement, and so in one round trip."""

from __future__ import annotations

import typing as t

import sqlalchemy as sa

from ..options import PluginOptions
from ..records import Scope
from .postgresql_append import ALIVE
from .postgresql_append import names_for
from .rows import times
from .tables import scope_key
from .tables import Tables
from .tables import thread_key

# As an append does it: what others have added since the statement began it would leave behind, but whoever adds
# something to a thread, or takes something away, changes its row. The place of the row only saves a second look.
_STATEMENT = """
WITH seen AS (
    SELECT ctid, xmin, {alive} AS alive FROM {thread} AS thread WHERE thread_key = %(thread)s::text
), gone AS (
    DELETE FROM {thread} AS thread
    WHERE ctid = (SELECT ctid FROM seen) AND xmin = (SELECT xmin FROM seen)
    RETURNING thread_key
), not_current AS (
    DELETE FROM {current} AS current
    WHERE scope_key = %(scope)s::text AND thread_key = %(thread)s::text AND EXISTS (SELECT FROM gone)
){parts}
SELECT alive FROM seen WHERE EXISTS (SELECT FROM gone)
"""
_PART = """, {name} AS (
    DELETE FROM {table} AS part WHERE thread_key = %(thread)s::text AND EXISTS (SELECT FROM gone)
)"""
_PARTS = ("message", "append_key", "live", "mark")


class OneStatementDelete:
    """Deletes a thread that nobody else changes meanwhile."""

    def __init__(self, tables: Tables, options: PluginOptions, dialect: sa.Dialect) -> None:
        names = names_for(tables, dialect)
        parts = "".join(_PART.format(name=f"no_{part}", table=names[part]) for part in _PARTS)
        statement = _STATEMENT.format(**names, alive=ALIVE.format(**names), parts=parts)
        self._statement = " ".join(statement.split())
        self._options = options

    def statement(self, scope: Scope, thread_id: str, now: float) -> tuple[str, dict[str, t.Any]]:
        """See :class:`DeleteAtOnce`."""
        keys = {"thread": thread_key(scope, thread_id), "scope": scope_key(scope)}
        return self._statement, {**keys, **times(self._options, now)}
