"""The statements of the plugin. Each is confined to one thread or one scope by its own WHERE."""

from __future__ import annotations

import typing as t

import sqlalchemy as sa

from ..counting import COUNTED
from .live_statements import LiveStatements
from .mark_statements import MarkStatements
from .tables import Tables

_p = sa.bindparam


class Statements(LiveStatements, MarkStatements):
    """Built once for a set of tables."""

    def __init__(self, tables: Tables) -> None:
        super().__init__(tables)
        thread, message = tables.thread, tables.message
        self._define_reading(thread, message)
        self._define_appending(thread, message)
        self._define_trimming(thread, message)
        self._define_live_turns()
        self._define_marks()
        self._define_scope(thread)
        self._define_removing()
        self._define_usage(tables.usage)

    def _define_reading(self, thread: sa.Table, message: sa.Table) -> None:
        this_thread = thread.c.thread_key == _p("thread_key")
        self.has_thread = sa.select(sa.literal(1)).select_from(thread).where(this_thread, self.alive())
        self.lines = sa.select(thread.c.lines).where(this_thread, self.alive())
        alive = sa.exists().where(this_thread, self.alive())
        hidden = sa.select(thread.c.hidden_ranges).where(this_thread).scalar_subquery()
        of_thread = sa.select(message.c.sequence, self._body(hidden)).where(
            message.c.thread_key == _p("thread_key"), alive
        )
        self.newest = (
            of_thread.where(message.c.sequence < _p("before")).order_by(message.c.sequence.desc()).limit(_p("limit"))
        )
        self.oldest = of_thread.where(message.c.sequence > _p("after")).order_by(message.c.sequence).limit(_p("limit"))
        current = self._tables.current
        found = (
            sa.select(thread.c.thread_id)
            .select_from(current.join(thread, thread.c.thread_key == current.c.thread_key))
            .where(current.c.scope_key == _p("scope_key"), self.alive())
        )
        self.current_thread = found
        self.newest_of_current = (
            found.add_columns(message.c.sequence, self._body(thread.c.hidden_ranges))
            .outerjoin(message, message.c.thread_key == thread.c.thread_key)
            .order_by(message.c.sequence.desc())
            .limit(_p("limit"))
        )

    def _define_appending(self, thread: sa.Table, message: sa.Table) -> None:
        current, append_key = self._tables.current, self._tables.append_key
        of_scope = sa.select(current.c.thread_key).where(current.c.scope_key == _p("scope_key")).scalar_subquery()
        known_key = sa.select(append_key.c.sequence).where(
            append_key.c.thread_key == thread.c.thread_key, append_key.c.append_key == _p("append_key")
        )
        question = self._by_id(
            sa.select(message.c.sequence).where(
                message.c.thread_key == thread.c.thread_key, message.c.message_id == _p("reply_to")
            )
        )
        # Both threads that a batch may go to, with all that decides whether it does.
        self.look = sa.select(
            thread.c.thread_key,
            thread.c.thread_id,
            thread.c.sequence,
            thread.c.messages,
            thread.c.lines,
            self.alive().label("alive"),
            (thread.c.thread_key == of_scope).label("current"),
            known_key.correlate(thread).scalar_subquery().label("known"),
            question.limit(1).correlate(thread).scalar_subquery().label("question"),
        ).where(sa.or_(thread.c.thread_key == _p("thread_key"), thread.c.thread_key == of_scope))
        self.insert_thread = sa.insert(thread).values(
            thread_key=_p("thread_key"),
            owner=_p("owner"),
            chatbot=_p("chatbot"),
            thread_id=_p("thread_id"),
            created_at=_p("now"),
            last_activity=_p("now"),
            sequence=0,
            messages=0,
            tokens=0,
            title=_p("title"),
        )
        self.touch_thread = (
            sa.update(thread)
            .where(thread.c.thread_key == _p("this"))
            .values(
                sequence=_p("last"),
                messages=thread.c.messages + _p("added"),
                tokens=thread.c.tokens + _p("more"),
                last_activity=_p("now"),
            )
        )
        self.set_lines = (
            sa.update(thread)
            .where(thread.c.thread_key == _p("this"))
            .values(lines=_p("new_lines"), hidden_ranges=_p("new_hidden_ranges"))
        )
        self.insert_message = sa.insert(message).values({column: _p(column.name) for column in message.c})
        self.insert_key = sa.insert(append_key).values({column: _p(column.name) for column in append_key.c})
        self.lock_threads = (
            sa.select(thread.c.thread_key)
            .where(sa.or_(thread.c.thread_key == _p("thread_key"), thread.c.thread_key == of_scope))
            .order_by(thread.c.thread_key)
            .with_for_update()
        )
        self.id_at = sa.select(message.c.message_id).where(
            message.c.thread_key == _p("thread_key"), message.c.sequence == _p("sequence")
        )
        self.make_none_current = sa.delete(current).where(current.c.scope_key == _p("scope_key"))
        self.make_current = sa.insert(current).values(scope_key=_p("scope_key"), thread_key=_p("thread_key"))

    def _define_trimming(self, thread: sa.Table, message: sa.Table) -> None:
        live, append_key = self._tables.live, self._tables.append_key
        in_thread = message.c.thread_key == _p("thread_key")
        question = sa.select(message.c.sequence).where(in_thread, message.c.role == "user").limit(1)
        limit = (
            sa.select(message.c.sequence).where(in_thread).order_by(message.c.sequence).limit(1).offset(_p("excess"))
        )
        self.question_at_limit = question.where(message.c.sequence >= limit.scalar_subquery()).order_by(
            message.c.sequence
        )
        self.newest_question = question.order_by(message.c.sequence.desc())
        self.oldest_running = sa.select(sa.func.min(live.c.question_sequence)).where(
            live.c.thread_key == _p("thread_key"), live.c.lease > _p("now")
        )
        before_cut = sa.and_(in_thread, message.c.sequence < _p("cut"))
        self.turns_before = sa.select(message.c.turn).where(before_cut, message.c.turn.is_not(None)).distinct()
        self.delete_before = sa.delete(message).where(before_cut)
        self.delete_turn = sa.delete(message).where(in_thread, message.c.turn == _p("turn_id"))
        self.count_removed = (
            sa.update(thread)
            .where(thread.c.thread_key == _p("this"))
            .values(messages=thread.c.messages - _p("removed"))
        )
        keys = append_key.alias()
        oldest_kept = (
            sa.select(keys.c.sequence)
            .where(keys.c.thread_key == _p("thread_key"))
            .order_by(keys.c.sequence.desc())
            .limit(1)
            .offset(_p("kept"))
        )
        self.forget_keys = sa.delete(append_key).where(
            append_key.c.thread_key == _p("thread_key"), append_key.c.sequence < self._apart(oldest_kept)
        )

    def _define_scope(self, thread: sa.Table) -> None:
        in_scope = sa.and_(thread.c.owner == _p("owner"), thread.c.chatbot == _p("chatbot"))
        self.count_threads = sa.select(sa.func.count()).select_from(thread).where(in_scope)
        self.idle_longest = (
            sa.select(thread.c.thread_key)
            .where(in_scope, thread.c.thread_key != _p("thread_key"), sa.not_(self.running()))
            .order_by(thread.c.last_activity)
            .limit(_p("excess"))
        )
        self.lock_scope = sa.select(thread.c.thread_key).where(in_scope).order_by(thread.c.thread_key).with_for_update()
        current = self._tables.current
        is_current = sa.exists().where(
            current.c.scope_key == _p("scope_key"), current.c.thread_key == thread.c.thread_key
        )
        self.threads_of_scope = (
            sa.select(
                thread.c.thread_key,
                thread.c.thread_id,
                self.alive().label("alive"),
                self.running().label("running"),
                is_current.correlate(thread).label("current"),
                thread.c.title,
            )
            .where(in_scope)
            .order_by(thread.c.last_activity)
        )
        self.rescope_thread = (
            sa.update(thread)
            .where(thread.c.thread_key == _p("old_key"))
            .values(thread_key=_p("new_key"), owner=_p("new_owner"), chatbot=_p("new_chatbot"), title=_p("new_title"))
        )
        self.rekey = [
            sa.update(table).where(table.c.thread_key == _p("old_key")).values(thread_key=_p("new_key"))
            for table in (self._tables.message, self._tables.append_key, self._tables.live, self._tables.mark)
        ]

    def _define_removing(self) -> None:
        tables = self._tables
        self.remove_messages = sa.delete(tables.message).where(tables.message.c.thread_key == _p("thread_key"))
        self.remove_contents = [self.remove_messages] + [
            sa.delete(table).where(table.c.thread_key == _p("thread_key")) for table in (tables.live, tables.mark)
        ]
        remove_keys = sa.delete(tables.append_key).where(tables.append_key.c.thread_key == _p("thread_key"))
        remove_thread = sa.delete(tables.thread).where(tables.thread.c.thread_key == _p("thread_key"))
        idle = sa.and_(tables.thread.c.last_activity < _p("before"), sa.not_(self.running()))
        self.remove_idle_thread = remove_thread.where(idle)
        self.remove_current = sa.delete(tables.current).where(
            tables.current.c.scope_key == _p("scope_key"), tables.current.c.thread_key == _p("thread_key")
        )
        self.remove_all: list[sa.Delete] = [*self.remove_contents, remove_keys, remove_thread, self.remove_current]
        self.empty_thread = (
            sa.update(tables.thread)
            .where(tables.thread.c.thread_key == _p("this"))
            .values(messages=0, tokens=0, last_activity=_p("now"), lines=None, hidden_ranges=None)
        )

    def _define_usage(self, usage: sa.Table) -> None:
        values: dict[str, t.Any] = {name: _p(name) for name in ("usage_key", "owner", "chatbot", "day", "model")}
        values |= {name: _p(f"more_{name}") for name in COUNTED}
        self.add_usage = self._adding(
            usage, values, {name: usage.c[name] + _p(f"more_{name}", type_=sa.BigInteger) for name in COUNTED}
        )
        self.list_usage = sa.select(usage.c.day, usage.c.model, *(usage.c[name] for name in COUNTED)).where(
            usage.c.owner == _p("owner"),
            usage.c.chatbot == _p("chatbot"),
            usage.c.day.between(_p("since"), _p("until")),
        )
        self.lock_usage = self.list_usage.with_for_update()
        self.remove_usage = sa.delete(usage).where(usage.c.usage_key == _p("usage_key"))
