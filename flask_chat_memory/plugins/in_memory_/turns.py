"""Turns that are being answered."""

from __future__ import annotations

import collections.abc as cabc
import typing as t

import msgspec

from ...message import ChatMessage
from ..abilities import KeepsLiveTurns
from ..records import Appended
from ..records import LiveTurn
from ..records import Renewal
from ..records import Scope
from ..rules import check_append
from ..rules import check_changes
from .appending import Appending


class InMemoryTurns(Appending, KeepsLiveTurns):
    """The ability, for the plugin that has these threads."""

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
        check_append(thread_id, key)
        title = check_changes({"title": title})["title"]
        with self.lock:
            makes_thread = self._threads.alive(scope, thread_id) is None
            written = self._append(
                scope, thread_id, [question], key=key, only_into=only_into, replaces=replaces, kept=kept
            )
            appended = t.cast(Appended, written)
            if appended.sequence and not appended.repeated:
                thread = self._threads.of_scopes[scope][appended.thread_id]
                thread.live[live.turn] = live
                if makes_thread and appended.thread_id == thread_id:
                    thread.description["title"] = title
            return appended

    def renew_turns(self, turns: cabc.Collection[Renewal], lease: float) -> set[str]:
        unwanted = set()
        with self.lock:
            for scope, thread_id, turn, text in turns:
                thread = self._threads.alive(scope, thread_id)
                record = thread.live.get(turn) if thread else None
                if thread and record:
                    told = record.text if text is None else text
                    thread.live[turn] = msgspec.structs.replace(record, lease=lease, text=told)
                if record is None or record.stop_wanted:
                    unwanted.add(turn)
        return unwanted

    def stop_turn(self, scope: Scope, thread_id: str, turn: str) -> bool:
        with self.lock:
            thread = self._threads.alive(scope, thread_id)
            record = thread.live.get(turn) if thread else None
            if thread and record:
                thread.live[turn] = msgspec.structs.replace(record, stop_wanted=True)
            return record is not None

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
        check_append(thread_id, key)
        with self.lock:
            appended = self._append(scope, thread_id, messages, key=key, reply_to=reply_to, only_into=only_into)
            thread = self._threads.alive(scope, appended.thread_id if appended else thread_id)
            if thread and (appended is None or appended.sequence or not messages):
                thread.live.pop(turn, None)
            return appended

    def live_turns(self, scope: Scope, thread_id: str) -> list[LiveTurn]:
        with self.lock:
            thread = self._threads.alive(scope, thread_id)
            return list(thread.live.values()) if thread else []
