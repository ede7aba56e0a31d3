"""The operations and abilities of a plugin whose store keeps each thread as a whole."""

from __future__ import annotations

import abc
import collections.abc as cabc

from ...errors import CorruptRecord
from ...message import ChatMessage
from ..abilities import CurrentThread
from ..abilities import SearchesMessages
from ..counting import total_tokens
from ..lines import Lines
from ..records import Appended
from ..records import Scope
from ..records import Search
from ..rules import check_append
from ..rules import check_range
from ..rules import is_thread_id
from ..rules import new_id
from ..rules import number
from ..rules import select
from ..rules import sequence_of
from ..searching import search_by_reading
from .appending import copies_of
from .hiding import Hiding
from .listing import Listing
from .marking import Marking
from .moving import Moving
from .restoring import Restoring
from .running import Running


class WholeThreadsPlugin(
    Listing,
    Hiding,
    Marking,
    Moving,
    Restoring,
    Running,
    CurrentThread,
    SearchesMessages,
    abc.ABC,
):
    """Has every ability, over the threads that a subclass keeps."""

    def create_thread_id(self) -> str:
        return new_id()

    def has_thread(self, scope: Scope, thread_id: str) -> bool:
        with self._reading:
            return self._threads.alive(scope, thread_id) is not None

    def load_messages(
        self,
        scope: Scope,
        thread_id: str,
        *,
        limit: int | None = None,
        before: int | None = None,
        after: int | None = None,
        hidden: bool = False,
    ) -> list[ChatMessage]:
        with self._reading:
            thread = self._threads.alive(scope, thread_id)
            if thread is None or hidden:
                return select(thread.messages if thread else [], limit, before, after)
            return thread.select(limit, before, after)

    def save_messages(self, scope: Scope, thread_id: str, messages: cabc.Sequence[ChatMessage]) -> None:
        check_append(thread_id, None)
        with self.lock:
            copies = copies_of(messages)
            found = self._threads.alive(scope, thread_id)
            thread = found or self._threads.new()
            thread.messages = number(copies, thread.sequence)
            thread.tokens = total_tokens(copies)
            thread.sequence = max([thread.sequence, *(sequence_of(message) for message in thread.messages)])
            asked = {message.id for message in thread.messages}
            thread.live = {turn: record for turn, record in thread.live.items() if record.question_id in asked}
            thread.lines = Lines()
            thread.drop_marks()
            self._threads.write(scope, thread_id, thread, is_new=found is None)

    def delete_thread(self, scope: Scope, thread_id: str) -> bool:
        with self.lock:
            try:
                alive = self._threads.alive(scope, thread_id) is not None
            except CorruptRecord:
                alive = True
            if is_thread_id(thread_id):
                self._threads.remove(scope, thread_id)
            return alive

    def append_messages(
        self,
        scope: Scope,
        thread_id: str,
        messages: cabc.Sequence[ChatMessage],
        *,
        key: str | None = None,
        reply_to: str | None = None,
        only_into: str | None = None,
    ) -> Appended | None:
        check_append(thread_id, key)
        with self.lock:
            return self._append(scope, thread_id, messages, key=key, reply_to=reply_to, only_into=only_into)

    def clear_messages(self, scope: Scope, thread_id: str) -> None:
        with self.lock:
            thread = self._threads.alive(scope, thread_id)
            if thread:
                thread.messages = []
                thread.tokens = 0
                thread.live = {}
                thread.lines = Lines()
                thread.marks = {}
                thread.last_activity = self.clock()
                self._threads.keep(scope, thread_id, thread)

    def current_thread(self, scope: Scope) -> str | None:
        with self._reading:
            return self._threads.current(scope)

    def load_current(self, scope: Scope, *, limit: int | None = None) -> tuple[str | None, list[ChatMessage]]:
        check_range(limit, None, None)
        with self._reading:
            named = self._threads.load_named(scope)
            thread = None if named is None else self._threads.alive(scope, named)
            return (None, []) if thread is None else (named, thread.select(limit))

    def search_messages(self, scope: Scope, text: str, *, limit: int | None = None) -> Search:
        with self._reading:
            return search_by_reading(self, scope, text, limit)
