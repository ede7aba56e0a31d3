"""Threads and ledgers that another store has held."""

from __future__ import annotations

import abc
import collections.abc as cabc

from ...message import ChatMessage
from ..abilities import RestoresThreads
from ..abilities import RestoresUsage
from ..counting import numbers_of
from ..records import Scope
from ..records import ThreadChanges
from ..records import UsageDay
from ..records import WholeThread
from ..rules import check_append
from ..rules import newest_keys
from .appending import Appending
from .appending import copies_of
from .thread import StoredThread


class Restoring(Appending, RestoresThreads, RestoresUsage, abc.ABC):
    """The two abilities, for the plugin that has these threads."""

    def find_whole(self, scope: Scope, thread_id: str) -> WholeThread | None:
        with self._reading:
            stored = self._threads.alive(scope, thread_id)
            if stored is None:
                return None
            return WholeThread(
                thread=stored.record(thread_id),
                sequence=stored.sequence,
                keys=newest_keys(stored.keys.items()),
                lines=stored.lines,
                marks=dict(sorted(stored.marks.items())),
                current=self._threads.load_named(scope) == thread_id,
                live=tuple(stored.live.values()),
            )

    def restore_thread(self, scope: Scope, whole: WholeThread, messages: cabc.Iterable[ChatMessage]) -> None:
        thread = whole.thread
        check_append(thread.id, None)
        stored = StoredThread(
            created_at=thread.created_at,
            last_activity=thread.last_activity,
            messages=copies_of(messages),
            sequence=whole.sequence,
            keys=dict(whole.keys),
            live={live.turn: live for live in whole.live},
            lines=whole.lines,
            marks=dict(whole.marks),
            tokens=thread.tokens,
            description=ThreadChanges(
                title=thread.title,
                pinned=thread.pinned,
                archived=thread.archived,
                configuration=thread.configuration,
            ),
        )
        with self.lock:
            self._threads.restore(scope, thread.id, stored, whole.current)

    def usage_scopes(self) -> cabc.Iterator[Scope]:
        with self._reading:
            scopes = self._threads.ledger_scopes()
        yield from scopes

    def restore_usage(self, scope: Scope, days: cabc.Iterable[UsageDay]) -> None:
        with self.lock:
            ledger = self._threads.load_ledger(scope)
            for day in days:
                ledger.put(day.day.isoformat(), day.model or "", numbers_of(day))
            self._threads.keep_ledger(scope, ledger)
