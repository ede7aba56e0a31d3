"""The purge of many threads in few statements, which keep nobody waiting for long."""

from __future__ import annotations

import collections.abc as cabc
import functools
import json
import time

import sqlalchemy as sa

from ..abilities import PurgesThreads
from ..records import Purged
from ..records import Scope
from .conditions import Conditions
from .part import SQLPart
from .tables import scope_key
from .tables import Tables
from .tables import thread_key
from .thread_rows import ThreadRows

CHUNK = 500
"""Threads that are looked for at once."""
FIRST = 20
"""Threads that go in the first transaction."""
GOAL = 0.01
"""Seconds that a transaction may take, for a turn may be waiting for its end."""
REST = 2.0
"""How many times as long the pause after it is, where it keeps every other writer waiting."""

_p = sa.bindparam


class PurgeStatements:
    """Statements about many threads, whose keys are the parameter ``keys``: a list in JSON."""

    def __init__(self, tables: Tables, conditions: Conditions) -> None:
        among, keys = conditions.among, conditions.listed("keys")
        thread, current = tables.thread, tables.current
        idle = sa.and_(thread.c.last_activity < _p("before"), sa.not_(conditions.running()))
        self.find = (
            sa.select(thread.c.thread_key)
            .where(thread.c.thread_key > _p("after_key"), idle)
            .order_by(thread.c.thread_key)
            .limit(CHUNK)
        )
        self.find_of_chatbot = self.find.where(thread.c.chatbot == _p("chatbot"))
        still_idle = sa.and_(among(thread.c.thread_key, keys), idle)
        self.find_idle = sa.select(thread.c.owner, thread.c.chatbot, thread.c.thread_id).where(still_idle)
        # To wait for those who hold one thread, while others wait for the rest of the batch, would take too long.
        unlocked = sa.select(thread.c.thread_key).where(still_idle).with_for_update(skip_locked=True).cte("idle")
        self.remove = (
            sa.delete(thread)
            .where(among(thread.c.thread_key, sa.select(unlocked.c.thread_key)))
            .returning(thread.c.owner, thread.c.chatbot, thread.c.thread_id)
        )
        self.remove_messages = sa.delete(tables.message).where(among(tables.message.c.thread_key, keys))
        self.remove_parts = [
            sa.delete(part).where(among(part.c.thread_key, keys))
            for part in (tables.append_key, tables.live, tables.mark)
        ]
        # By its primary key; the thread may have made room for another one.
        self.remove_parts.append(
            sa.delete(current).where(
                among(current.c.scope_key, conditions.listed("scope_keys")), among(current.c.thread_key, keys)
            )
        )


class SQLPurge(SQLPart, PurgesThreads):
    """The part of the ability for which many threads are one."""

    _purge_statements: PurgeStatements

    def purge_threads(self, before: float, *, chatbot: str | None = None, batch: int = CHUNK) -> cabc.Iterator[Purged]:
        dialect = self._database.dialect
        if not (dialect.one_writer or dialect.locks_rows):
            # Only the lock of its scope keeps others from a thread, and a batch is of many scopes.
            yield from super().purge_threads(before, chatbot=chatbot, batch=batch)
            return
        size = min(FIRST, batch)
        for found in self._idle_threads(before, chatbot):
            while found:
                keys, found = found[:size], found[size:]
                begun = time.monotonic()
                purged = self._write(functools.partial(self._purge, keys, before))
                took = time.monotonic() - begun
                if len(purged.threads) < len(keys):
                    purged = self._with_held(purged, keys, before)
                if purged.threads:
                    yield purged
                size = min(max(1, int(size * min(GOAL / took, 2.0))), batch)
                if dialect.one_writer:
                    # Other processes ask for their turn now and then, and would hardly ever get it.
                    time.sleep(took * REST)

    def _idle_threads(self, before: float, chatbot: str | None) -> cabc.Iterator[list[str]]:
        """Yield the keys of threads, some at a time, without keeping anybody from them."""
        statements = self._purge_statements
        statement = statements.find if chatbot is None else statements.find_of_chatbot
        given = {**self._times(), "before": before, "chatbot": chatbot, "after_key": ""}
        while keys := [key for (key,) in self._database.rows(statement, given)]:
            yield keys
            given["after_key"] = keys[-1]

    def _purge(self, keys: list[str], before: float, writer: ThreadRows) -> Purged:
        statements = self._purge_statements
        given = {**self._times(), "before": before, "keys": json.dumps(keys)}
        threads = [(Scope(owner, chatbot), id) for owner, chatbot, id in writer.rows(statements.remove, given)]
        gone = {
            "keys": json.dumps([thread_key(*thread) for thread in threads]),
            "scope_keys": json.dumps([scope_key(scope) for scope, _ in threads]),
        }
        messages = writer.run(statements.remove_messages, gone)
        for statement in statements.remove_parts:
            writer.run(statement, gone)
        return Purged(tuple(threads), messages)

    def _with_held(self, purged: Purged, keys: list[str], before: float) -> Purged:
        """Purge, one by one, those of a batch that somebody held, who may have written to another thread."""
        given = {**self._times(), "before": before, "keys": json.dumps(keys)}
        threads, messages = list(purged.threads), purged.messages
        for owner, chatbot, thread_id in self._database.rows(self._purge_statements.find_idle, given):
            scope = Scope(owner, chatbot)
            removed = self.purge_thread(scope, thread_id, before)
            if removed is not None:
                threads.append((scope, thread_id))
                messages += removed
        return Purged(tuple(threads), messages)
