"""Turns that are being answered."""

from __future__ import annotations

import collections.abc as cabc
import typing as t

from ...message import ChatMessage
from ..abilities import KeepsLiveTurns
from ..records import Appended
from ..records import LiveTurn
from ..records import Renewal
from ..records import Scope
from ..rules import check_changes
from ..rules import is_thread_id
from .live_statements import MOST_AT_ONCE
from .moving import Mover
from .part import SQLPart
from .rows import Append
from .tables import thread_key


class SQLLiveTurns(SQLPart, KeepsLiveTurns):
    """The ability, for the plugin whose database this is."""

    def start_turn(
        self,
        scope: Scope,
        thread_id: str,
        question: ChatMessage,
        *,
        key: str,
        live: LiveTurn,
        only_into: str | None = None,
        title: str | None = None,
        replaces: int | None = None,
        kept: cabc.Collection[int] = (),
    ) -> Appended:
        title = check_changes({"title": title})["title"]
        append = Append(
            scope,
            thread_id,
            [question],
            key,
            only_into=only_into,
            begins=live,
            title=title,
            replaces=replaces,
            kept=kept,
        )
        return t.cast(Appended, self._append(append))

    def renew_turns(self, turns: cabc.Collection[Renewal], lease: float) -> set[str]:
        texts = {(thread_key(scope, thread_id), turn): text for scope, thread_id, turn, text in turns}
        return self._write(lambda writer: self._renew(writer, texts, lease))

    def _renew(self, writer: Mover, texts: dict[tuple[str, str], str | None], lease: float) -> set[str]:
        rows, until = sorted(texts), {"until": lease, **writer.times}
        writer.run_many(
            self._statements.renew_live,
            [{"key": row[0], "turn_id": row[1], "text": texts[row], **until} for row in rows],
        )
        wanted = set()
        for start in range(0, len(rows), MOST_AT_ONCE):
            chunk = rows[start : start + MOST_AT_ONCE]
            # Of two sizes, for each is compiled once.
            size = 1 if len(chunk) == 1 else MOST_AT_ONCE
            asked = enumerate([*chunk, *[chunk[0]] * (size - len(chunk))])
            names = {
                f"{name}{place}": value
                for place, row in asked
                for name, value in zip(("key", "turn"), row, strict=True)
            }
            wanted.update(writer.rows(self._statements.wanted[size], {**names, **writer.times}))
        return {turn for _, turn in set(rows) - wanted}

    def stop_turn(self, scope: Scope, thread_id: str, turn: str) -> bool:
        this = {"key": thread_key(scope, thread_id), "turn_id": turn}
        return is_thread_id(thread_id) and self._write(lambda writer: self._stop(writer, this))

    def _stop(self, writer: Mover, this: dict[str, t.Any]) -> bool:
        this = {**this, **writer.times}
        writer.run(self._statements.stop_live, this)
        # A second wish changes no row, which MariaDB counts as none found.
        return any(row[0] == this["turn_id"] for row in writer.rows(self._statements.live_turns, this))

    def end_turn(
        self,
        scope: Scope,
        thread_id: str,
        turn: str,
        messages: cabc.Sequence[ChatMessage],
        *,
        key: str,
        reply_to: str,
        only_into: str | None = None,
    ) -> Appended | None:
        return self._append(Append(scope, thread_id, messages, key, reply_to, only_into, ends=turn))

    def live_turns(self, scope: Scope, thread_id: str) -> list[LiveTurn]:
        if not is_thread_id(thread_id):
            return []
        this = {"key": thread_key(scope, thread_id), **self._times()}
        rows = self._database.rows(self._statements.live_turns, this)
        return [
            LiveTurn(turn, question_id, answer_id, lease, text or "", bool(stop_wanted))
            for turn, question_id, answer_id, lease, text, stop_wanted in rows
        ]
