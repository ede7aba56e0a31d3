"""Adding to a thread, to whichever line of it."""

from __future__ import annotations

import collections.abc as cabc
import threading

from ...message import ChatMessage
from ..base import Clock
from ..counting import total_tokens
from ..options import PluginOptions
from ..records import Appended
from ..records import Scope
from ..rules import KEYS_KEPT
from ..rules import sequence_of
from .threads import Threads
from .usage import Ledger


class Appending:
    """What appends and turns share; whoever calls it holds the lock of the plugin."""

    _threads: Threads
    _ledger: Ledger
    options: PluginOptions
    lock: threading.RLock
    clock: Clock

    def _append(
        self,
        scope: Scope,
        thread_id: str,
        messages: cabc.Sequence[ChatMessage],
        *,
        key: str | None = None,
        reply_to: str | None = None,
        only_into: str | None = None,
        replaces: int | None = None,
        kept: cabc.Collection[int] = (),
    ) -> Appended | None:
        named, thread = thread_id, self._threads.alive(scope, thread_id)
        if thread is None and self.options.threads == "one":
            thread_id = self._threads.current(scope) or thread_id
            thread = self._threads.alive(scope, thread_id)
        if thread and key is not None and key in thread.keys:
            return Appended(thread_id, thread.keys[key], repeated=True)
        if replaces is not None and not (thread and thread_id == named and thread.shows(replaces)):
            return Appended(named, 0)
        question = thread.find(reply_to) if thread and reply_to is not None else None
        if reply_to is not None and question is None:
            self._ledger.add(scope, messages, self.clock())
            return None
        if not messages or only_into not in (None, thread_id):
            return Appended(thread_id, 0)
        copies = copies_of(messages)
        if question is not None:
            self._ledger.add(scope, messages, self.clock())
        thread = self._threads.open(scope, thread_id)
        first = thread.sequence + 1
        if replaces is not None:
            thread.lines = thread.lines.replaced(replaces, thread.sequence, kept)
        batch = [message.numbered(first + place) for place, message in enumerate(copies)]
        thread.sequence += len(batch)
        if question is not None:
            thread.lines = thread.lines.placed(first, thread.sequence, sequence_of(question))
        thread.tokens += total_tokens(batch)
        if key is not None:
            thread.keys[key] = first
            for old in list(thread.keys)[:-KEYS_KEPT]:
                del thread.keys[old]
        thread.messages.extend(batch)
        thread.trim(self.options.max_messages, self.clock())
        return Appended(thread_id, first)


def copies_of(messages: cabc.Iterable[ChatMessage]) -> list[ChatMessage]:
    return [ChatMessage.from_record(message.to_record()) for message in messages]
