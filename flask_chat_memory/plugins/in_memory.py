"""Threads in the memory of the process, for tests and for trying things out: gone when it ends."""

from __future__ import annotations

import collections.abc as cabc
import time
import typing as t

from ..message import ChatMessage
from .abilities import CurrentThread
from .abilities import SearchesMessages
from .base import ChatMemoryPlugin
from .base import Clock
from .counting import total_tokens
from .in_memory_.appending import copies_of
from .in_memory_.lines import InMemoryLines
from .in_memory_.listing import InMemoryThreads
from .in_memory_.marks import InMemoryMarks
from .in_memory_.moving import InMemoryMoves
from .in_memory_.restoring import InMemoryRestoring
from .in_memory_.threads import Threads
from .in_memory_.turns import InMemoryTurns
from .in_memory_.usage import Ledger
from .lines import Lines
from .options import PluginOptions
from .records import Appended
from .records import Scope
from .records import Search
from .registry import chat_memory_plugin
from .rules import check_append
from .rules import check_range
from .rules import is_thread_id
from .rules import new_id
from .rules import number
from .rules import select
from .rules import sequence_of
from .searching import search_by_reading


@chat_memory_plugin(
    "in_memory",
    label="Memory of the process",
    description="For tests: conversations are gone when the process ends, and each worker has its own.",
)
class InMemoryPlugin(
    InMemoryThreads,
    InMemoryLines,
    InMemoryMarks,
    InMemoryMoves,
    InMemoryRestoring,
    InMemoryTurns,
    ChatMemoryPlugin,
    CurrentThread,
    SearchesMessages,
):
    """Keeps threads in a dict."""

    storage = "in_memory"

    def __init__(
        self, options: PluginOptions | cabc.Mapping[str, t.Any] | None = None, *, clock: Clock = time.time
    ) -> None:
        super().__init__(options, clock=clock)
        # The clock may be set later.
        self._threads = Threads(self.options, lambda: self.clock())
        self._ledger = Ledger()

    def create_thread_id(self) -> str:
        return new_id()

    def has_thread(self, scope: Scope, thread_id: str) -> bool:
        with self.lock:
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
        with self.lock:
            thread = self._threads.alive(scope, thread_id)
            if thread is None or hidden:
                return select(thread.messages if thread else [], limit, before, after)
            return thread.select(limit, before, after)

    def save_messages(self, scope: Scope, thread_id: str, messages: cabc.Sequence[ChatMessage]) -> None:
        check_append(thread_id, None)
        with self.lock:
            copies = copies_of(messages)
            thread = self._threads.open(scope, thread_id)
            thread.messages = number(copies, thread.sequence)
            thread.tokens = total_tokens(copies)
            thread.sequence = max([thread.sequence, *(sequence_of(message) for message in thread.messages)])
            asked = {message.id for message in thread.messages}
            thread.live = {turn: record for turn, record in thread.live.items() if record.question_id in asked}
            thread.lines = Lines()
            thread.drop_marks()

    def delete_thread(self, scope: Scope, thread_id: str) -> bool:
        with self.lock:
            alive = self._threads.alive(scope, thread_id) is not None
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

    def current_thread(self, scope: Scope) -> str | None:
        with self.lock:
            return self._threads.current(scope)

    def load_current(self, scope: Scope, *, limit: int | None = None) -> tuple[str | None, list[ChatMessage]]:
        check_range(limit, None, None)
        with self.lock:
            thread_id = self.current_thread(scope)
            return thread_id, [] if thread_id is None else self.load_messages(scope, thread_id, limit=limit)

    def search_messages(self, scope: Scope, text: str, *, limit: int | None = None) -> Search:
        with self.lock:
            return search_by_reading(self, scope, text, limit)
