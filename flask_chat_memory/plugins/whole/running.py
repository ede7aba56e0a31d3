"""Turns that are being answered."""

from __future__ import annotations

import abc
import collections.abc as cabc
import logging
import typing as t

import msgspec

from ...errors import CorruptRecord
from ...events import log_event
from ...message import ChatMessage
from ..abilities import KeepsLiveTurns
from ..records import Appended
from ..records import LiveTurn
from ..records import Renewal
from ..records import Scope
from ..rules import check_append
from ..rules import check_changes
from .appending import Appending
from .thread import StoredThread

logger = logging.getLogger(__name__)


class Running(Appending, KeepsLiveTurns, abc.ABC):
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

        def begin(thread: StoredThread, is_new: bool) -> None:
            thread.live[live.turn] = live
            if is_new:
                thread.description["title"] = title

        with self.lock:
            written = self._append(
                scope,
                thread_id,
                [question],
                key=key,
                only_into=only_into,
                replaces=replaces,
                kept=kept,
                change=begin,
            )
            return t.cast(Appended, written)

    def renew_turns(self, turns: cabc.Collection[Renewal], lease: float) -> set[str]:
        unwanted = set()
        with self.lock:
            for scope, thread_id, turn, text in turns:
                try:
                    thread = self._threads.alive(scope, thread_id)
                except CorruptRecord as error:
                    # The turns of the others must go on.
                    log_event(logger, logging.ERROR, "a running turn is not renewed", error)
                    continue
                record = thread.live.get(turn) if thread else None
                if thread and record:
                    told = record.text if text is None else text
                    thread.live[turn] = msgspec.structs.replace(record, lease=lease, text=told)
                    self._threads.keep(scope, thread_id, thread)
                if record is None or record.stop_wanted:
                    unwanted.add(turn)
        return unwanted

    def stop_turn(self, scope: Scope, thread_id: str, turn: str) -> bool:
        with self.lock:
            thread = self._threads.alive(scope, thread_id)
            record = thread.live.get(turn) if thread else None
            if thread and record:
                thread.live[turn] = msgspec.structs.replace(record, stop_wanted=True)
                self._threads.keep(scope, thread_id, thread)
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

        def end(thread: StoredThread, _is_new: bool = False) -> bool:
            return thread.live.pop(turn, None) is not None

        with self.lock:
            appended = self._append(
                scope, thread_id, messages, key=key, reply_to=reply_to, only_into=only_into, change=end
            )
            if appended is None or appended.repeated or not messages:
                goal = appended.thread_id if appended else thread_id
                thread = self._threads.alive(scope, goal)
                if thread and end(thread):
                    self._threads.keep(scope, goal, thread)
            return appended

    def live_turns(self, scope: Scope, thread_id: str) -> list[LiveTurn]:
        with self._reading:
            thread = self._threads.alive(scope, thread_id)
            return list(thread.live.values()) if thread else []
