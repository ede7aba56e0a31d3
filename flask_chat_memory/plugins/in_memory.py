"""Threads in the memory of the process, for tests and for trying things out: gone when it ends."""

from __future__ import annotations

import collections.abc as cabc
import dataclasses
import time
import typing as t

from ..message import ChatMessage
from .abilities import CurrentThread
from .abilities import DescribesThreads
from .abilities import KeepsLiveTurns
from .abilities import ListsThreads
from .abilities import MovesThreads
from .abilities import PurgesThreads
from .base import ChatMemoryPlugin
from .base import Clock
from .options import PluginOptions
from .records import Appended
from .records import LiveTurn
from .records import Position
from .records import Scope
from .records import Thread
from .records import ThreadChanges
from .registry import chat_memory_plugin
from .rules import check_append
from .rules import check_changes
from .rules import check_range
from .rules import is_thread_id
from .rules import KEYS_KEPT
from .rules import new_id
from .rules import number
from .rules import select
from .rules import select_threads
from .rules import sequence_of
from .rules import tokens_of
from .rules import trim


@dataclasses.dataclass
class _Thread:
    last_activity: float
    messages: list[ChatMessage] = dataclasses.field(default_factory=list)
    sequence: int = 0
    keys: dict[str, int] = dataclasses.field(default_factory=dict)
    live: dict[str, LiveTurn] = dataclasses.field(default_factory=dict)
    tokens: int = 0
    description: ThreadChanges = dataclasses.field(default_factory=ThreadChanges)

    def __post_init__(self) -> None:
        self.created_at = self.last_activity

    def record(self, thread_id: str) -> Thread:
        return Thread(
            id=thread_id,
            created_at=self.created_at,
            last_activity=self.last_activity,
            messages=len(self.messages),
            tokens=self.tokens,
            **self.description,
        )

    def has_message(self, id: str) -> bool:
        # From the end: what is replied to is new.
        return any(message.id == id for message in reversed(self.messages))

    def running(self, now: float) -> set[str]:
        return {turn for turn, record in self.live.items() if record.lease > now}


@chat_memory_plugin(
    "in_memory",
    label="Memory of the process",
    description="For tests: conversations are gone when the process ends, and each worker has its own.",
)
class InMemoryPlugin(
    ChatMemoryPlugin, CurrentThread, KeepsLiveTurns, MovesThreads, ListsThreads, DescribesThreads, PurgesThreads
):
    """Keeps threads in a dict."""

    storage = "in_memory"

    def __init__(
        self, options: PluginOptions | cabc.Mapping[str, t.Any] | None = None, *, clock: Clock = time.time
    ) -> None:
        super().__init__(options, clock=clock)
        self._threads: dict[Scope, dict[str, _Thread]] = {}
        self._current: dict[Scope, str] = {}

    def create_thread_id(self) -> str:
        return new_id()

    def has_thread(self, scope: Scope, thread_id: str) -> bool:
        with self.lock:
            return self._alive(scope, thread_id) is not None

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
            thread = self._alive(scope, thread_id)
            return select(thread.messages if thread else [], limit, before, after)

    def save_messages(self, scope: Scope, thread_id: str, messages: cabc.Sequence[ChatMessage]) -> None:
        check_append(thread_id, None)
        with self.lock:
            copies = _copies(messages)
            thread = self._open(scope, thread_id)
            thread.messages = number(copies, thread.sequence)
            thread.tokens = sum(map(tokens_of, copies))
            thread.sequence = max([thread.sequence, *(sequence_of(message) for message in thread.messages)])
            asked = {message.id for message in thread.messages}
            thread.live = {turn: record for turn, record in thread.live.items() if record.question_id in asked}

    def delete_thread(self, scope: Scope, thread_id: str) -> bool:
        with self.lock:
            alive = self._alive(scope, thread_id) is not None
            if is_thread_id(thread_id):
                self._remove(scope, thread_id)
            return alive

    def append_messages(
        self,
        scope: Scope,
        thread_id: str,
        messages: cabc.Sequence[ChatMessage],
        *,
        key: str | None = None,
        reply_to: str | None = None,
    ) -> Appended | None:
        check_append(thread_id, key)
        with self.lock:
            thread = self._alive(scope, thread_id)
            if thread is None and self.options.threads == "one":
                thread_id = self.current_thread(scope) or thread_id
                thread = self._alive(scope, thread_id)
            if thread and key is not None and key in thread.keys:
                return Appended(thread_id, thread.keys[key], repeated=True)
            if reply_to is not None and not (thread and thread.has_message(reply_to)):
                return None
            if not messages:
                return Appended(thread_id, 0)
            copies = _copies(messages)
            thread = self._open(scope, thread_id)
            first = thread.sequence + 1
            batch = [message.numbered(first + place) for place, message in enumerate(copies)]
            thread.sequence += len(batch)
            thread.tokens += sum(map(tokens_of, batch))
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
            thread = self._alive(scope, thread_id)
            if thread:
                thread.messages = []
                thread.tokens = 0
                thread.live = {}
                thread.last_activity = self.clock()

    def current_thread(self, scope: Scope) -> str | None:
        with self.lock:
            thread_id = self._current.get(scope)
            return thread_id if thread_id is not None and self._alive(scope, thread_id) else None

    def load_current(self, scope: Scope, *, limit: int | None = None) -> tuple[str | None, list[ChatMessage]]:
        check_range(limit, None, None)
        with self.lock:
            thread_id = self.current_thread(scope)
            return thread_id, [] if thread_id is None else self.load_messages(scope, thread_id, limit=limit)

    def start_turn(self, scope: Scope, thread_id: str, question: ChatMessage, *, key: str, live: LiveTurn) -> Appended:
        with self.lock:
            appended = t.cast(Appended, self.append_messages(scope, thread_id, [question], key=key))
            if not appended.repeated:
                self._threads[scope][appended.thread_id].live[live.turn] = live
            return appended

    def renew_turns(self, turns: cabc.Collection[tuple[Scope, str, str]], lease: float) -> None:
        with self.lock:
            for scope, thread_id, turn in turns:
                thread = self._alive(scope, thread_id)
                if thread and turn in thread.live:
                    thread.live[turn] = dataclasses.replace(thread.live[turn], lease=lease)

    def end_turn(
        self,
        scope: Scope,
        thread_id: str,
        turn: str,
        messages: cabc.Sequence[ChatMessage],
        *,
        key: str,
        reply_to: str,
    ) -> Appended | None:
        with self.lock:
            appended = self.append_messages(scope, thread_id, messages, key=key, reply_to=reply_to)
            thread = self._alive(scope, appended.thread_id if appended else thread_id)
            if thread:
                thread.live.pop(turn, None)
            return appended

    def live_turns(self, scope: Scope, thread_id: str) -> list[LiveTurn]:
        with self.lock:
            thread = self._alive(scope, thread_id)
            return list(thread.live.values()) if thread else []

    def move_threads(self, source: Scope, target: Scope) -> int:
        with self.lock:
            left = 0
            current = self.current_thread(source)
            for thread_id in list(self._threads.get(source, {})):
                thread = self._alive(source, thread_id)
                if thread is None:
                    self._remove(source, thread_id)
                elif thread.running(self.clock()):
                    left += 1
                elif self._alive(target, thread_id) or self._joins(target, thread_id == current):
                    self.append_messages(target, thread_id, thread.messages, key=f"adopt:{thread_id}")
                    self._remove(source, thread_id)
                else:
                    self._remove(source, thread_id)
                    self._threads.setdefault(target, {})[thread_id] = thread
                    if thread_id == current and self.current_thread(target) is None:
                        self._current[target] = thread_id
                    self._limit_threads(target, thread_id)
            return left

    def list_threads(
        self,
        scope: Scope,
        *,
        limit: int | None = None,
        before: Position | None = None,
        pinned: bool | None = None,
        archived: bool | None = None,
    ) -> list[Thread]:
        with self.lock:
            threads = [self.find_thread(scope, thread_id) for thread_id in self._threads.get(scope, {})]
            return select_threads(filter(None, threads), limit, before, pinned, archived)

    def find_thread(self, scope: Scope, thread_id: str) -> Thread | None:
        with self.lock:
            thread = self._alive(scope, thread_id)
            return thread.record(thread_id) if thread else None

    def update_thread(self, scope: Scope, thread_id: str, **changes: t.Unpack[ThreadChanges]) -> bool:
        checked = check_changes(changes)
        with self.lock:
            thread = self._alive(scope, thread_id)
            if thread:
                thread.description.update(t.cast(ThreadChanges, checked))
            return thread is not None

    def all_threads(self, *, chatbot: str | None = None) -> cabc.Iterator[tuple[Scope, Thread]]:
        with self.lock:
            stored = [
                (scope, thread.record(thread_id))
                for scope, threads in self._threads.items()
                for thread_id, thread in threads.items()
                if chatbot in (None, scope.chatbot)
            ]
        yield from stored

    def purge_thread(self, scope: Scope, thread_id: str, before: float) -> int | None:
        with self.lock:
            thread = self._stored(scope, thread_id)
            if thread is None or thread.last_activity >= before or thread.running(self.clock()):
                return None
            self._remove(scope, thread_id)
            return len(thread.messages)

    def _joins(self, target: Scope, is_current: bool) -> bool:
        """Tell whether a thread becomes part of the conversation that the target has."""
        return is_current and self.options.threads == "one" and self.current_thread(target) is not None

    def _stored(self, scope: Scope, thread_id: str) -> _Thread | None:
        return self._threads.get(scope, {}).get(thread_id) if is_thread_id(thread_id) else None

    def _alive(self, scope: Scope, thread_id: str) -> _Thread | None:
        thread = self._stored(scope, thread_id)
        if thread and self.is_expired(thread.last_activity) and not thread.running(self.clock()):
            return None
        return thread

    def _open(self, scope: Scope, thread_id: str) -> _Thread:
        """Return the thread for a write, made anew if it is absent or expired."""
        thread = self._alive(scope, thread_id)
        if thread is None:
            self._remove(scope, thread_id)
            thread = self._threads.setdefault(scope, {})[thread_id] = _Thread(self.clock())
            self._limit_threads(scope, thread_id)
        if self.current_thread(scope) is None:
            self._current[scope] = thread_id
        thread.last_activity = self.clock()
        return thread

    def _limit_threads(self, scope: Scope, newest: str) -> None:
        threads = self._threads[scope]
        idle = [name for name, thread in threads.items() if name != newest and not thread.running(self.clock())]
        idle.sort(key=lambda name: threads[name].last_activity)
        for name in idle[: max(0, len(threads) - self.options.max_threads)]:
            self._remove(scope, name)

    def _remove(self, scope: Scope, thread_id: str) -> None:
        threads = self._threads.get(scope, {})
        threads.pop(thread_id, None)
        if not threads:
            self._threads.pop(scope, None)
        if self._current.get(scope) == thread_id:
            del self._current[scope]


def _copies(messages: cabc.Iterable[ChatMessage]) -> list[ChatMessage]:
    return [ChatMessage.from_record(message.to_record()) for message in messages]
