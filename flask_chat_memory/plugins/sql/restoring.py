"""Threads and ledgers that another store has held."""

from __future__ import annotations

import collections.abc as cabc
import itertools
import typing as t

import sqlalchemy as sa

from ...message import ChatMessage
from ..abilities import RestoresThreads
from ..abilities import RestoresUsage
from ..counting import COUNTED
from ..counting import numbers_of
from ..records import Scope
from ..records import UsageDay
from ..records import WholeThread
from ..rules import check_append
from ..rules import KEYS_KEPT
from ..rules import newest_keys
from ..rules import sequence_of
from .live import SQLLiveTurns
from .marks import SQLMarks
from .moving import Mover
from .rows import columns_of_lines
from .rows import lines_of
from .statements import Statements
from .tables import id_key
from .tables import scope_key
from .tables import Tables
from .tables import thread_key
from .tables import usage_key
from .threads import SQLThreads
from .usage import SQLUsage

CHUNK = 200
"""Messages that are written at once."""

_p = sa.bindparam


class RestoreStatements:
    """Statements that only those need who move a store to another."""

    def __init__(self, tables: Tables, statements: Statements) -> None:
        thread, key, live, usage = tables.thread, tables.append_key, tables.live, tables.usage
        current = tables.current
        is_current = sa.exists().where(
            current.c.scope_key == _p("scope_key"), current.c.thread_key == thread.c.thread_key
        )
        self.find = sa.select(
            thread.c.sequence, thread.c.lines, is_current.correlate(thread).label("is_current")
        ).where(thread.c.thread_key == _p("thread_key"), statements.alive())
        self.keys = (
            sa.select(key.c.append_key, key.c.sequence)
            .where(key.c.thread_key == _p("thread_key"))
            .order_by(key.c.sequence.desc(), key.c.append_key.desc())
            .limit(KEYS_KEPT)
        )
        self.insert_thread = sa.insert(thread).values({column: _p(column.name) for column in thread.c})
        self.insert_live = sa.insert(live).values({column: _p(column.name) for column in live.c})
        after = sa.or_(
            usage.c.owner > _p("owner"), sa.and_(usage.c.owner == _p("owner"), usage.c.chatbot > _p("chatbot"))
        )
        self.usage_scopes = (
            sa.select(usage.c.owner, usage.c.chatbot)
            .where(after)
            .distinct()
            .order_by(usage.c.owner, usage.c.chatbot)
            .limit(CHUNK)
        )
        values: dict[str, t.Any] = {column.name: _p(column.name) for column in usage.c}
        self.put_usage = statements._adding(usage, values, {name: _p(name) for name in COUNTED})


class SQLRestoring(SQLThreads, SQLMarks, SQLLiveTurns, SQLUsage, RestoresThreads, RestoresUsage):
    """The two abilities, for the plugin whose database this is."""

    _restore_statements: RestoreStatements

    def find_whole(self, scope: Scope, thread_id: str) -> WholeThread | None:
        thread = self.find_thread(scope, thread_id)
        if thread is None:
            return None
        this = {**self._of_thread(scope, thread_id), "scope_key": scope_key(scope)}
        statements = self._restore_statements
        found = self._database.rows(statements.find, this)
        if not found:
            return None
        (sequence, lines, is_current), key = found[0], this["thread_key"]
        return WholeThread(
            thread=thread,
            sequence=sequence,
            keys=newest_keys(t.cast("list[tuple[str, int]]", self._database.rows(statements.keys, this))),
            lines=lines_of(lines, key),
            marks=dict(sorted(self.load_marks(scope, thread_id).items())),
            current=bool(is_current),
            live=tuple(self.live_turns(scope, thread_id)),
        )

    def restore_thread(
        self,
        scope: Scope,
        whole: WholeThread,
        messages: cabc.Iterable[ChatMessage],
        *,
        instead_of: WholeThread | None = None,
    ) -> bool:
        check_append(whole.thread.id, None)
        return self._write(lambda writer: self._restore(writer, scope, whole, messages, instead_of), scope)

    def _restore(
        self,
        writer: Mover,
        scope: Scope,
        whole: WholeThread,
        messages: cabc.Iterable[ChatMessage],
        instead_of: WholeThread | None,
    ) -> bool:
        key, statements = thread_key(scope, whole.thread.id), self._restore_statements
        writer.hold(scope, key)
        # Over another connection, while nobody else may write to the scope.
        if instead_of is not None and self.find_whole(scope, whole.thread.id) != instead_of:
            return False
        writer.remove(scope, key)
        writer.run(statements.insert_thread, _columns(scope, whole))
        wanted = {live.question_id for live in whole.live}
        asked: dict[str | None, int] = {}
        rest = iter(messages)
        while chunk := list(itertools.islice(rest, CHUNK)):
            writer._insert(key, chunk)
            asked |= {message.id: sequence_of(message) for message in chunk if message.id in wanted}
        if whole.keys:
            rows = [{"thread_key": key, "append_key": name, "sequence": place} for name, place in whole.keys.items()]
            writer.run_many(self._statements.insert_key, rows)
        writer._put_marks(key, [(id_key(id), mark.rating, mark.comment) for id, mark in whole.marks.items()])
        for live in whole.live:
            writer.run(
                statements.insert_live,
                {
                    "thread_key": key,
                    "turn": live.turn,
                    "question_id": live.question_id,
                    "answer_id": live.answer_id,
                    "question_sequence": asked.get(live.question_id, 0),
                    "lease": live.lease,
                    "stop_wanted": int(live.stop_wanted),
                    "text": live.text or None,
                },
            )
        if whole.current:
            of_scope = {"scope_key": scope_key(scope), "thread_key": key}
            writer.run(self._statements.make_none_current, of_scope)
            writer.run(self._statements.make_current, of_scope)
        return True

    def usage_scopes(self) -> cabc.Iterator[Scope]:
        after = {"owner": "", "chatbot": ""}
        while rows := self._database.rows(self._restore_statements.usage_scopes, after):
            yield from (Scope(*row) for row in rows)
            after = dict(zip(after, rows[-1], strict=True))

    def restore_usage(self, scope: Scope, days: cabc.Iterable[UsageDay]) -> None:
        rows = [_row(scope, day) for day in days]

        def put(writer: Mover) -> None:
            for row in rows:
                writer.run(self._restore_statements.put_usage, row)

        self._write(put, scope)


def _columns(scope: Scope, whole: WholeThread) -> dict[str, t.Any]:
    thread, lines = whole.thread, columns_of_lines(whole.lines)
    return {
        "thread_key": thread_key(scope, thread.id),
        "owner": scope.owner,
        "chatbot": scope.chatbot,
        "thread_id": thread.id,
        "created_at": thread.created_at,
        "last_activity": thread.last_activity,
        "sequence": whole.sequence,
        "messages": thread.messages,
        "tokens": thread.tokens,
        "title": thread.title,
        "pinned": int(thread.pinned),
        "archived": int(thread.archived),
        "configuration": thread.configuration,
        "lines": lines["new_lines"],
        "hidden_ranges": lines["new_hidden_ranges"],
    }


def _row(scope: Scope, day: UsageDay) -> dict[str, t.Any]:
    model, date = day.model or "", day.day.isoformat()
    return {
        "usage_key": usage_key(scope, date, model),
        "owner": scope.owner,
        "chatbot": scope.chatbot,
        "day": date,
        "model": model,
        **dict(zip(COUNTED, numbers_of(day), strict=True)),
    }
