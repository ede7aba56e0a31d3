"""Adding to a thread, to whichever line of it."""

from __future__ import annotations

import abc
import collections.abc as cabc

from ...message import ChatMessage
from ..counting import total_tokens
from ..records import Appended
from ..records import Scope
from ..rules import sequence_of
from .counting import Counting
from .thread import StoredThread

Change = cabc.Callable[[StoredThread, bool], object]
"""Is given a thread to which something was added, and whether it is new; changes it in the same step."""


class Appending(Counting, abc.ABC):
    """What appends and turns share; whoever calls it holds the lock of the plugin."""

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
        change: Change | None = None,
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
            self._count(scope, thread_id, messages, key)
            return None
        if not messages or only_into not in (None, thread_id):
            return Appended(thread_id, 0)
        copies = copies_of(messages)
        if question is not None:
            self._count(scope, thread_id, messages, key)
        is_new = thread is None
        if thread is None:
            thread = self._threads.new()
        first = thread.sequence + 1
        if replaces is not None:
            thread.lines = thread.lines.replaced(replaces, thread.sequence, kept)
        batch = [message.numbered(first + place) for place, message in enumerate(copies)]
        thread.sequence += len(batch)
        if question is not None:
            thread.lines = thread.lines.placed(first, thread.sequence, sequence_of(question))
        thread.tokens += total_tokens(batch)
        if key is not None:
            thread.remember(key, first)
        thread.messages.extend(batch)
        thread.trim(self.options.max_messages, self.clock())
        if change is not None:
            change(thread, is_new)
        self._threads.write(scope, thread_id, thread, is_new)
        return Appended(thread_id, first)


def copies_of(messages: cabc.Iterable[ChatMessage]) -> list[ChatMessage]:
    return [ChatMessage.from_record(message.to_record()) for message in messages]
