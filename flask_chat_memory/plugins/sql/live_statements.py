"""The statements for the live records of turns."""

from __future__ import annotations

import typing as t

import sqlalchemy as sa

from .conditions import Conditions

MOST_AT_ONCE = 32
"""Turns that are asked for by one statement."""

_p = sa.bindparam


class LiveStatements(Conditions):
    def _define_live_turns(self) -> None:
        live = self._tables.live
        thread = self._tables.thread
        this_turn = sa.and_(live.c.thread_key == _p("key"), live.c.turn == _p("turn_id"))
        alive = sa.exists().where(thread.c.thread_key == _p("key"), self.alive())
        self.insert_live = sa.insert(live).values(
            {live.c[name]: _p(name) for name in ("thread_key", "turn", "question_id", "answer_id", "lease")}
            | {live.c.question_sequence: _p("question_sequence")}
        )
        alive_key = sa.select(thread.c.thread_key).where(thread.c.thread_key == _p("key"), self.alive())
        is_alive = live.c.thread_key == self._apart(alive_key)
        text = sa.func.coalesce(_p("text", type_=live.c.text.type), live.c.text)
        self.renew_live = sa.update(live).where(this_turn, is_alive).values(lease=_p("until"), text=text)
        self.wanted = {count: self._wanted(count) for count in (1, MOST_AT_ONCE)}
        self.stop_live = sa.update(live).where(this_turn, is_alive).values(stop_wanted=1)
        message = self._tables.message
        asked = sa.exists().where(message.c.thread_key == live.c.thread_key, message.c.message_id == live.c.question_id)
        self.drop_live = sa.delete(live).where(live.c.thread_key == _p("thread_key"), sa.not_(asked))
        self.delete_live = sa.delete(live).where(this_turn)
        self.live_turns = (
            sa.select(live.c.turn, live.c.question_id, live.c.answer_id, live.c.lease, live.c.text, live.c.stop_wanted)
            .where(live.c.thread_key == _p("key"), alive)
            .order_by(live.c.question_sequence)
        )

    def _wanted(self, count: int) -> sa.Select[t.Any]:
        """Return the query for those of so many turns, ``key0`` and ``turn0`` to begin with, that are to go on."""
        live, thread = self._tables.live, self._tables.thread
        turns = [
            sa.and_(live.c.thread_key == _p(f"key{place}"), live.c.turn == _p(f"turn{place}")) for place in range(count)
        ]
        return (
            sa.select(live.c.thread_key, live.c.turn)
            .join(thread, thread.c.thread_key == live.c.thread_key)
            .where(sa.or_(*turns), live.c.stop_wanted == 0, self.alive())
        )
