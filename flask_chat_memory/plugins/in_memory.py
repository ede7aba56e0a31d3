"""Threads in the memory of the process, for tests and for trying things out: gone when it ends."""

from __future__ import annotations

import collections.abc as cabc
import dataclasses
import time
import typing as t

from ..message import ChatMessage
from .abilities import CurrentThread
from .abilities import KeepsLiveTurns
from .abilities import MovesThreads
from .abilities import Reseals
from .base import ChatMemoryPlugin
from .base import Clock
from .counting import total_tokens
from .in_memory_.listing import InMemoryThreads
from .in_memory_.threads import Threads
from .in_memory_.usage import InMemoryUsage
from .in_memory_.usage import Ledger
from .options import PluginOptions
from .records import Appended
from .records import LiveTurn
from .records import Renewal
from .records import Scope
from .registry import chat_memory_plugin
from .rules import check_append
from .rules import check_range
from .rules import is_thread_id
from .rules import KEYS_KEPT
from .rules import new_id
from .rules import number
from .rules import select
from .rules import sequence_of
from .rules import trim


@chat_memory_plugin(
    "in_memory",
    label="Memory of the process",
    description="For tests: conversations are gone when the process ends, and each worker has its own.",
)
class InMemoryPlugin(InMemoryThreads, InMemoryUsage, ChatMemoryPlugin, CurrentThread, KeepsLiveTurns, MovesThreads):
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
    ) -> list[ChatMessage]:
        with self.lock:
            thread = self._threads.alive(scope, thread_id)
            return select(thread.messages if thread else [], limit, before, after)

    def save_messages(self, scope: Scope, thread_id: str, messages: cabc.Sequence[ChatMessage]) -> None:
        check_append(thread_id, None)
        with self.lock:
            copies = _copies(messages)
            thread = self._threads.open(scope, thread_id)
            thread.messages = number(copies, thread.sequence)
            thread.tokens = total_tokens(copies)
            thread.sequence = max([thread.sequence, *(sequence_of(message) for message in thread.messages)])
            asked = {message.id for message in thread.messages}
            thread.live = {turn: record for turn, record in thread.live.items() if record.question_id in asked}

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
            thread = self._threads.alive(scope, thread_id)
            if thread is None and self.options.threads == "one":
                thread_id = self.current_thread(scope) or thread_id
                thread = self._threads.alive(scope, thread_id)
            if thread and key is not None and key in thread.keys:
                return Appended(thread_id, thread.keys[key], repeated=True)
            if reply_to is not None and not (thread and thread.has_message(reply_to)):
                self._ledger.add(scope, messages, self.clock())
                return None
            if not messages or only_into not in (None, thread_id):
                return Appended(thread_id, 0)
            copies = _copies(messages)
            if reply_to is not None:
                self._ledger.add(scope, messages, self.clock())
            thread = self._threads.open(scope, thread_id)
            first = thread.sequence + 1
            batch = [message.numbered(first + place) for place, message in enumerate(copies)]
            thread.sequence += len(batch)
            thread.tokens += total_tokens(batch)
            if key is not None:
                thread.keys[key] = first
                for old in list(thread.keys)[:-KEYS_KEPT]:
                    del thread.keys[old]
            running = thread.running(self.clock())
            thread.messages.extend(batch)
            thread.messages = trim(thread.messages, self.options.max_messages, running)
            return Appended(thread_id, first)

    def clear_messages(self, scope: Scope, thread_id: str) -> None:
        with self.lock:
            thread = self._threads.alive(scope, thread_id)
            if thread:
                thread.messages = []
                thread.tokens = 0
                thread.live = {}
                thread.last_activity = self.clock()

    def current_thread(self, scope: Scope) -> str | None:
        with self.lock:
            return self._threads.current(scope)

    def load_current(self, scope: Scope, *, limit: int | None = None) -> tuple[str | None, list[ChatMessage]]:
        check_range(limit, None, None)
        with self.lock:
            thread_id = self.current_thread(scope)
            return thread_id, [] if thread_id is None else self.load_messages(scope, thread_id, limit=limit)

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
        with self.lock:
            appended = t.cast(
                Appended, self.append_messages(scope, thread_id, [question], key=key, only_into=only_into)
            )
            if appended.sequence and not appended.repeated:
                self._threads.of_scopes[scope][appended.thread_id].live[live.turn] = live
            return appended

    def renew_turns(self, turns: cabc.Collection[Renewal], lease: float) -> set[str]:
        unwanted = set()
        with self.lock:
            for scope, thread_id, turn, text in turns:
                thread = self._threads.alive(scope, thread_id)
                record = thread.live.get(turn) if thread else None
                if thread and record:
                    told = record.text if text is None else text
                    thread.live[turn] = dataclasses.replace(record, lease=lease, text=told)
                    if record.stop_wanted:
                        unwanted.add(turn)
        return unwanted

    def stop_turn(self, scope: Scope, thread_id: str, turn: str) -> bool:
        with self.lock:
            thread = self._threads.alive(scope, thread_id)
            record = thread.live.get(turn) if thread else None
            if thread and record:
                thread.live[turn] = dataclasses.replace(record, stop_wanted=True)
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
        with self.lock:
            appended = self.append_messages(scope, thread_id, messages, key=key, reply_to=reply_to, only_into=only_into)
            thread = self._threads.alive(scope, appended.thread_id if appended else thread_id)
            if thread and (appended is None or appended.sequence or not messages):
                thread.live.pop(turn, None)
            return appended

    def live_turns(self, scope: Scope, thread_id: str) -> list[LiveTurn]:
        with self.lock:
            thread = self._threads.alive(scope, thread_id)
            return list(thread.live.values()) if thread else []

    def move_threads(self, source: Scope, target: Scope, *, reseal: Reseals | None = None) -> int:
        with self.lock:
            left = 0
            current = self.current_thread(source)
            for thread_id in list(self._threads.of_scopes.get(source, {})):
                thread = self._threads.alive(source, thread_id)
                if thread is None:
                    self._threads.remove(source, thread_id)
                elif thread.running(self.clock()):
                    left += 1
                elif self._threads.alive(target, thread_id) or self._joins(target, thread_id == current):
                    into = t.cast(
                        str, thread_id if self._threads.alive(target, thread_id) else self.current_thread(target)
                    )
                    messages = reseal.messages(thread_id, into, thread.messages) if reseal else thread.messages
                    self.append_messages(target, into, messages, key=f"adopt:{thread_id}")
                    self._threads.remove(source, thread_id)
                else:
                    if reseal:
                        title = thread.description.get("title")
                        title = reseal.title(thread_id, title) if title else None
                        thread.messages = reseal.messages(thread_id, thread_id, thread.messages)
                        thread.description["title"] = title
                    self._threads.move(source, target, thread_id)
            return left

    def _joins(self, target: Scope, is_current: bool) -> bool:
        """Tell whether a thread becomes part of the conversation that the target has."""
        return is_current and self.options.threads == "one" and self.current_thread(target) is not None


def _copies(messages: cabc.Iterable[ChatMessage]) -> list[ChatMessage]:
    return [ChatMessage.from_record(message.to_record()) for message in messages]
