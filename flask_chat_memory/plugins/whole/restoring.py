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

    def restore_thread(
        self,
        scope: Scope,
        whole: WholeThread,
        messages: cabc.Iterable[ChatMessage],
        *,
        instead_of: WholeThread | None = None,
    ) -> bool:
        check_append(whole.thread.id, None)
        with self.lock:
            if instead_of is not None and self.find_whole(scope, whole.thread.id) != instead_of:
                return False
            self._threads.restore(scope, whole.thread.id, _stored(whole, messages), whole.current)
            return True

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


def _stored(whole: WholeThread, messages: cabc.Iterable[ChatMessage]) -> StoredThread:
    thread = whole.thread
    return StoredThread(
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
