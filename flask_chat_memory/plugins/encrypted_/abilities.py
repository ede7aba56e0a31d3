"""The abilities of a wrapped plugin, each told on with what it hides."""

from __future__ import annotations

import abc
import collections.abc as cabc
import dataclasses
import datetime as dt
import functools
import logging
import typing as t

from ...errors import DecryptionFailed
from ...message import ChatMessage
from ..abilities import CountsUsage
from ..abilities import CurrentThread
from ..abilities import DescribesThreads
from ..abilities import KeepsLiveTurns
from ..abilities import ListsThreads
from ..abilities import MovesThreads
from ..abilities import PurgesThreads
from ..abilities import Reseals
from ..base import ChatMemoryPlugin
from ..records import Appended
from ..records import LiveTurn
from ..records import Position
from ..records import Purged
from ..records import Renewal
from ..records import Scope
from ..records import Thread
from ..records import ThreadChanges
from ..records import UsageDay
from ..rules import check_append
from ..rules import check_changes
from ..rules import is_thread_id
from ..rules import Sealed
from .sealing import Resealing
from .sealing import Sealing

logger = logging.getLogger(__name__)

Write = cabc.Callable[..., Appended | None]


class Wrapping(ChatMemoryPlugin, abc.ABC):
    """A plugin that has another one keep what it hides."""

    _wrapped: t.Any
    _sealing: Sealing

    def _write(
        self,
        write: Write,
        scope: Scope,
        thread_id: str,
        messages: cabc.Iterable[ChatMessage],
        only_into: str | None,
    ) -> Appended | None:
        """Seal a batch for the thread that it goes to, which only the store knows for sure, and write it.

        :param write: is given the sealed batch and, where it might go elsewhere, ``only_into``.
        """
        messages = list(messages)
        if not (self.options.threads == "one" and isinstance(self._wrapped, CurrentThread)):
            only = {} if only_into is None else {"only_into": only_into}
            return write(self._sealing.seal(scope, thread_id, messages), **only)
        goal = only_into or thread_id
        while True:
            appended = write(self._sealing.seal(scope, goal, messages), only_into=goal)
            if appended is None or appended.sequence or not messages or only_into is not None:
                return appended
            goal = appended.thread_id


class WithCurrentThread(Wrapping, CurrentThread):
    def current_thread(self, scope: Scope) -> str | None:
        return t.cast("str | None", self._wrapped.current_thread(scope))

    def load_current(self, scope: Scope, *, limit: int | None = None) -> tuple[str | None, list[ChatMessage]]:
        thread_id, messages = self._wrapped.load_current(scope, limit=limit)
        return thread_id, [] if thread_id is None else self._sealing.open(scope, thread_id, messages)


class WithLiveTurns(Wrapping, KeepsLiveTurns):
    def start_turn(
        self,
        scope: Scope,
        thread_id: str,
        question: ChatMessage,
        *,
        key: str,
        live: LiveTurn,
        only_into: str | None = None,
    ) -> Appended:
        check_append(thread_id, key)

        def write(sealed: list[ChatMessage], **only: str) -> Appended:
            return t.cast(Appended, self._wrapped.start_turn(scope, thread_id, *sealed, key=key, live=live, **only))

        return t.cast(Appended, self._write(write, scope, thread_id, [question], only_into))

    def renew_turns(self, turns: cabc.Collection[Renewal], lease: float) -> set[str]:
        sealed = [turn._replace(text=turn.text and self._sealing.seal_live(turn)) for turn in turns]
        return t.cast("set[str]", self._wrapped.renew_turns(sealed, lease))

    def stop_turn(self, scope: Scope, thread_id: str, turn: str) -> bool:
        return t.cast(bool, self._wrapped.stop_turn(scope, thread_id, turn))

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
        write = functools.partial(self._wrapped.end_turn, scope, thread_id, turn, key=key, reply_to=reply_to)
        return self._write(write, scope, thread_id, messages, only_into)

    def live_turns(self, scope: Scope, thread_id: str) -> list[LiveTurn]:
        return [self._sealing.open_live(scope, thread_id, live) for live in self._wrapped.live_turns(scope, thread_id)]


class WithMoves(Wrapping, MovesThreads):
    def move_threads(self, source: Scope, target: Scope, *, reseal: Reseals | None = None) -> int:
        resealing = Resealing(self._sealing, source, target, reseal)
        return t.cast(int, self._wrapped.move_threads(source, target, reseal=resealing))


class WithLists(Wrapping, ListsThreads):
    def list_threads(
        self,
        scope: Scope,
        *,
        limit: int | None = None,
        before: Position | None = None,
        pinned: bool | None = None,
        archived: bool | None = None,
    ) -> list[Thread]:
        threads = self._wrapped.list_threads(scope, limit=limit, before=before, pinned=pinned, archived=archived)
        return [self._listed(scope, thread) for thread in threads]

    def _listed(self, scope: Scope, thread: Thread) -> Thread:
        try:
            return self._sealing.open_thread(scope, thread)
        except DecryptionFailed as error:
            logger.error("a thread is listed without its title: %s", error)
            return dataclasses.replace(thread, title=None)


class WithDescriptions(Wrapping, DescribesThreads):
    def find_thread(self, scope: Scope, thread_id: str) -> Thread | None:
        thread = self._wrapped.find_thread(scope, thread_id)
        return None if thread is None else self._sealing.open_thread(scope, thread)

    def update_thread(self, scope: Scope, thread_id: str, **changes: t.Unpack[ThreadChanges]) -> bool:
        checked = check_changes(changes)
        if not is_thread_id(thread_id):
            return False
        if checked.get("title") is not None:
            checked["title"] = Sealed(self._sealing.seal_title(scope, thread_id, checked["title"]))
        return t.cast(bool, self._wrapped.update_thread(scope, thread_id, **checked))


class WithPurges(Wrapping, PurgesThreads):
    def all_threads(self, *, chatbot: str | None = None) -> cabc.Iterator[tuple[Scope, Thread]]:
        for scope, thread in self._wrapped.all_threads(chatbot=chatbot):
            try:
                opened = self._sealing.open_thread(scope, thread)
            except DecryptionFailed as error:
                logger.error("a thread is passed over: %s", error)
            else:
                yield scope, opened

    def purge_thread(self, scope: Scope, thread_id: str, before: float) -> int | None:
        return t.cast("int | None", self._wrapped.purge_thread(scope, thread_id, before))

    def purge_threads(self, before: float, *, chatbot: str | None = None, batch: int = 500) -> cabc.Iterator[Purged]:
        # Not by the titles, which a lost key may have made unreadable.
        yield from self._wrapped.purge_threads(before, chatbot=chatbot, batch=batch)


class WithUsage(Wrapping, CountsUsage):
    def list_usage(self, scope: Scope, *, since: dt.date | None = None, until: dt.date | None = None) -> list[UsageDay]:
        return t.cast("list[UsageDay]", self._wrapped.list_usage(scope, since=since, until=until))


ABILITIES: dict[type, t.Any] = {
    CurrentThread: WithCurrentThread,
    KeepsLiveTurns: WithLiveTurns,
    MovesThreads: WithMoves,
    ListsThreads: WithLists,
    DescribesThreads: WithDescriptions,
    PurgesThreads: WithPurges,
    CountsUsage: WithUsage,
}
"""An ability of a wrapped plugin -> what gives it to the wrapper."""
