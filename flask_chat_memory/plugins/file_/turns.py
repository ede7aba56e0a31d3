"""Turns that are being answered, and the one ongoing thread."""

from __future__ import annotations

import abc
import collections.abc as cabc
import typing as t

from ...message import ChatMessage
from ..abilities import CurrentThread
from ..abilities import KeepsLiveTurns
from ..records import Appended
from ..records import LiveTurn
from ..records import Renewal
from ..records import Scope
from ..rules import check_append
from ..rules import check_changes
from ..rules import check_range
from ..rules import is_thread_id
from .appending import Batch
from .folder import InFolder
from .threads import Threads


class FileTurns(InFolder, CurrentThread, KeepsLiveTurns, abc.ABC):
    """The two abilities, for the plugin whose folder this is."""

    def current_thread(self, scope: Scope) -> str | None:
        def find(threads: Threads) -> str | None:
            with threads.find_current(scope) as thread:
                return None if thread is None else thread.thread_id

        return self._read(scope, find)

    def load_current(self, scope: Scope, *, limit: int | None = None) -> tuple[str | None, list[ChatMessage]]:
        check_range(limit, None, None)

        def load(threads: Threads) -> tuple[str | None, list[ChatMessage]]:
            with threads.find_current(scope) as thread:
                return (None, []) if thread is None else (thread.thread_id, thread.body.messages(limit))

        return self._read(scope, load)

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
    ) -> Appended:
        check_append(thread_id, key)
        title = check_changes({"title": title})["title"]
        batch = Batch([question], key=key, only_into=only_into, started=live, title=title, replaces=replaces)
        with self._writing(scope) as writer:
            return t.cast(Appended, writer.append(scope, thread_id, batch))

    def renew_turns(self, turns: cabc.Collection[Renewal], lease: float) -> set[str]:
        of_threads: dict[tuple[Scope, str], dict[str, str | None]] = {}
        for scope, thread_id, turn, text in turns:
            of_threads.setdefault((scope, thread_id), {})[turn] = text
        unwanted: set[str] = set()
        for (scope, thread_id), told in of_threads.items():
            with self._writing(scope) as writer:
                unwanted |= writer.renew(scope, thread_id, told, lease)
        return unwanted

    def stop_turn(self, scope: Scope, thread_id: str, turn: str) -> bool:
        if not is_thread_id(thread_id):
            return False
        with self._writing(scope) as writer:
            return writer.stop(scope, thread_id, turn)

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
        batch = Batch(messages, key=key, reply_to=reply_to, only_into=only_into, ended=turn)
        with self._writing(scope) as writer:
            return writer.append(scope, thread_id, batch)

    def live_turns(self, scope: Scope, thread_id: str) -> list[LiveTurn]:
        if not is_thread_id(thread_id):
            return []

        def live(threads: Threads) -> list[LiveTurn]:
            with threads.find(scope, thread_id) as thread:
                return [] if thread is None else [turn.record() for turn in thread.live]

        return self._read(scope, live)
