"""The abilities of a wrapped plugin, each told on with what it hides."""

from __future__ import annotations

import collections.abc as cabc
import datetime as dt
import functools
import typing as t

from ...message import ChatMessage
from ..abilities import CountsUsage
from ..abilities import CurrentThread
from ..abilities import DescribesThreads
from ..abilities import HidesMessages
from ..abilities import KeepsLiveTurns
from ..abilities import ListsThreads
from ..abilities import MarksMessages
from ..abilities import MovesThreads
from ..abilities import PurgesThreads
from ..abilities import Reseals
from ..abilities import RestoresThreads
from ..abilities import RestoresUsage
from ..abilities import SearchesMessages
from ..records import Appended
from ..records import LiveTurn
from ..records import Renewal
from ..records import Scope
from ..records import UsageDay
from ..rules import check_append
from ..rules import check_changes
from .messages import WithLines
from .messages import WithMarks
from .messages import WithSearch
from .restoring import WithRestoring
from .restoring import WithUsageRestoring
from .sealing import Resealing
from .threads import WithDescriptions
from .threads import WithLists
from .threads import WithPurges
from .wrapping import Wrapping


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
        title: str | None = None,
        replaces: int | None = None,
        kept: cabc.Collection[int] = (),
    ) -> Appended:
        check_append(thread_id, key)
        sealed_title = self._seal_title(scope, thread_id, check_changes({"title": title})["title"])
        start = functools.partial(self._wrapped.start_turn, scope, thread_id, key=key, live=live, title=sealed_title)

        def write(sealed: list[ChatMessage], **only: str) -> Appended:
            return t.cast(Appended, start(*sealed, replaces=replaces, kept=kept, **only))

        if replaces is not None:
            # It goes to no other thread.
            only_into = only_into or thread_id
        return t.cast(Appended, self._write(write, scope, thread_id, [question], only_into))

    def renew_turns(self, turns: cabc.Collection[Renewal], lease: float) -> set[str]:
        return t.cast("set[str]", self._wrapped.renew_turns([self._sealed(turn) for turn in turns], lease))

    def _sealed(self, renewal: Renewal) -> Renewal:
        scope, thread_id, turn, text = renewal
        return renewal._replace(text=text and self._sealing.seal_text(text, "live", scope, thread_id, turn))

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


class WithUsage(Wrapping, CountsUsage):
    def list_usage(self, scope: Scope, *, since: dt.date | None = None, until: dt.date | None = None) -> list[UsageDay]:
        return t.cast("list[UsageDay]", self._wrapped.list_usage(scope, since=since, until=until))

    def forget_usage(self, scope: Scope) -> int:
        return t.cast(int, self._wrapped.forget_usage(scope))


ABILITIES: dict[type, tuple[type, ...]] = {
    WithCurrentThread: (CurrentThread,),
    WithLiveTurns: (KeepsLiveTurns,),
    WithMoves: (MovesThreads,),
    WithSearch: (SearchesMessages, ListsThreads),
    WithLists: (ListsThreads,),
    WithDescriptions: (DescribesThreads,),
    WithPurges: (PurgesThreads,),
    WithUsage: (CountsUsage,),
    WithLines: (HidesMessages,),
    WithMarks: (MarksMessages,),
    WithRestoring: (RestoresThreads,),
    WithUsageRestoring: (RestoresUsage,),
}
"""What gives an ability to the wrapper -> those that the wrapped plugin must have for it."""
