"""Threads without their messages: lists, descriptions, and what the operator does with all of them."""

from __future__ import annotations

import collections.abc as cabc
import typing as t

import sqlalchemy as sa

from ..abilities import DescribesThreads
from ..abilities import ListsThreads
from ..abilities import PurgesThreads
from ..records import Position
from ..records import Scope
from ..records import Thread
from ..records import ThreadChanges
from ..rules import check_changes
from ..rules import check_range
from ..rules import is_thread_id
from .part import SQLPart
from .rows import bounded
from .statements import Statements
from .tables import Tables
from .tables import thread_key
from .transaction import Row

CHUNK = 500
"""Threads that are read at once from among all."""

_p = sa.bindparam


class ThreadStatements:
    """Statements of the table of threads alone; the parameters are those of :class:`Conditions`."""

    def __init__(self, tables: Tables, statements: Statements) -> None:
        self._thread = thread = tables.thread
        self._alive = statements.alive()
        columns = [thread.c[name] for name in ("thread_id", "created_at", "last_activity", "messages", "tokens")]
        columns += [thread.c[name] for name in ("title", "pinned", "archived", "configuration")]
        self._this = thread.c.thread_key == _p("thread_key")
        self.find = sa.select(*columns).where(self._this, self._alive)
        self._chosen = {
            "before": sa.and_(
                thread.c.last_activity <= _p("activity"),
                sa.or_(thread.c.last_activity < _p("activity"), thread.c.thread_key < _p("before_key")),
            ),
            "pinned": thread.c.pinned == _p("pinned"),
            "archived": thread.c.archived == _p("archived"),
        }
        self._list = (
            sa.select(*columns)
            .where(thread.c.owner == _p("owner"), thread.c.chatbot == _p("chatbot"), self._alive)
            # The key, for the index ends with it.
            .order_by(thread.c.last_activity.desc(), thread.c.thread_key.desc())
            .limit(_p("limit"))
        )
        self._lists: dict[frozenset[str], sa.Select[t.Any]] = {}
        everything = sa.select(thread.c.thread_key, thread.c.owner, thread.c.chatbot, *columns).where(
            thread.c.thread_key > _p("after_key")
        )
        self.chunk = everything.order_by(thread.c.thread_key).limit(CHUNK)
        self.chunk_of_chatbot = (
            everything.where(thread.c.chatbot == _p("chatbot")).order_by(thread.c.thread_key).limit(CHUNK)
        )
        self._updates: dict[frozenset[str], sa.Update] = {}

    def list(self, names: cabc.Iterable[str]) -> sa.Select[t.Any]:
        """Return the query for the threads of a scope that meet these conditions: planning more takes time."""
        chosen = frozenset(names)
        if chosen not in self._lists:
            self._lists[chosen] = self._list.where(*(self._chosen[name] for name in sorted(chosen)))
        return self._lists[chosen]

    def update(self, names: cabc.Iterable[str]) -> sa.Update:
        """Return the statement that changes these columns."""
        chosen = frozenset(names)
        if chosen not in self._updates:
            values: dict[t.Any, t.Any] = {self._thread.c[name]: _p(f"new_{name}") for name in sorted(chosen)}
            self._updates[chosen] = sa.update(self._thread).where(self._this, self._alive).values(values)
        return self._updates[chosen]


class SQLThreads(SQLPart, ListsThreads, DescribesThreads, PurgesThreads):
    """The three abilities, for the plugin whose database this is."""

    _thread_statements: ThreadStatements

    def list_threads(
        self,
        scope: Scope,
        *,
        limit: int | None = None,
        before: Position | None = None,
        pinned: bool | None = None,
        archived: bool | None = None,
    ) -> list[Thread]:
        check_range(limit, None, None)
        conditions = {"before": before, "pinned": pinned, "archived": archived}
        parameters = {
            **self._times(),
            "owner": scope.owner,
            "chatbot": scope.chatbot,
            "activity": before and before.last_activity,
            "before_key": before and thread_key(scope, before.thread_id),
            "pinned": int(pinned is True),
            "archived": int(archived is True),
            "limit": bounded(limit),
        }
        statement = self._thread_statements.list(name for name, value in conditions.items() if value is not None)
        return [_thread(row) for row in self._database.rows(statement, parameters)]

    def find_thread(self, scope: Scope, thread_id: str) -> Thread | None:
        if not is_thread_id(thread_id):
            return None
        this = self._of_thread(scope, thread_id)
        rows = self._database.rows(self._thread_statements.find, this)
        return _thread(rows[0]) if rows else None

    def update_thread(self, scope: Scope, thread_id: str, **changes: t.Unpack[ThreadChanges]) -> bool:
        values = check_changes(changes)
        if not (values and is_thread_id(thread_id)):
            return self.find_thread(scope, thread_id) is not None
        this = self._of_thread(scope, thread_id)
        this |= {f"new_{name}": int(value) if isinstance(value, bool) else value for name, value in values.items()}
        update = self._thread_statements.update(values)
        return self._write(lambda writer: bool(writer.run(update, this)), scope)

    def all_threads(self, *, chatbot: str | None = None) -> cabc.Iterator[tuple[Scope, Thread]]:
        statements = self._thread_statements
        statement = statements.chunk if chatbot is None else statements.chunk_of_chatbot
        parameters: dict[str, t.Any] = {"after_key": "", "chatbot": chatbot}
        while rows := self._database.rows(statement, parameters):
            for _, owner, of_chatbot, *row in rows:
                yield Scope(owner, of_chatbot), _thread(row)
            parameters["after_key"] = rows[-1][0]

    def purge_thread(self, scope: Scope, thread_id: str, before: float) -> int | None:
        if not is_thread_id(thread_id):
            return None
        return self._write(lambda writer: writer.purge(scope, thread_key(scope, thread_id), before), scope)


def _thread(row: Row | list[t.Any]) -> Thread:
    thread_id, created_at, last_activity, messages, tokens, title, pinned, archived, configuration = row
    return Thread(
        id=thread_id,
        created_at=created_at,
        last_activity=last_activity,
        messages=messages,
        tokens=tokens,
        title=title,
        pinned=bool(pinned),
        archived=bool(archived),
        configuration=configuration,
    )
