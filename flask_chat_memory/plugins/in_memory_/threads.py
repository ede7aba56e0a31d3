"""The threads of all scopes in a dict, and which of them are still there."""

from __future__ import annotations

import dataclasses

from ...message import ChatMessage
from ..base import Clock
from ..hiding import read_visible
from ..lines import Lines
from ..options import PluginOptions
from ..records import LiveTurn
from ..records import Mark
from ..records import Scope
from ..records import Thread
from ..records import ThreadChanges
from ..rules import is_thread_id
from ..rules import select
from ..rules import trim


@dataclasses.dataclass
class StoredThread:
    """A thread with all that belongs to it."""

    last_activity: float
    messages: list[ChatMessage] = dataclasses.field(default_factory=list)
    sequence: int = 0
    keys: dict[str, int] = dataclasses.field(default_factory=dict)
    live: dict[str, LiveTurn] = dataclasses.field(default_factory=dict)
    lines: Lines = dataclasses.field(default_factory=Lines)
    marks: dict[str, Mark] = dataclasses.field(default_factory=dict)
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

    def find(self, id: str) -> ChatMessage | None:
        # From the end: what is replied to is new.
        return next((message for message in reversed(self.messages) if message.id == id), None)

    def select(
        self, limit: int | None = None, before: int | None = None, after: int | None = None
    ) -> list[ChatMessage]:
        """Return visible messages."""
        hidden = self.lines.hidden
        return read_visible(lambda *place: (select(self.messages, *place), hidden), limit, before, after)

    def shows(self, sequence: int) -> bool:
        """Tell whether there is a message of this sequence that is visible."""
        found = select(self.messages, 1, sequence + 1)
        return self.lines.sees(sequence) and [message.sequence for message in found] == [sequence]

    def trim(self, limit: int | None, now: float) -> None:
        kept = trim(self.messages, limit, self.running(now))
        if kept is not self.messages:
            self.messages = kept
            self.drop_marks()

    def drop_marks(self) -> None:
        """Remove the marks of messages that are no longer there."""
        if self.marks:
            kept = {message.id for message in self.messages}
            self.marks = {id: mark for id, mark in self.marks.items() if id in kept}

    def running(self, now: float) -> set[str]:
        return {turn for turn, record in self.live.items() if record.lease > now}


class Threads:
    """The threads of all scopes, and the ongoing one of each; whoever uses it holds the lock of the plugin."""

    def __init__(self, options: PluginOptions, clock: Clock) -> None:
        self._options = options
        self._clock = clock
        self._current: dict[Scope, str] = {}
        self.of_scopes: dict[Scope, dict[str, StoredThread]] = {}

    def stored(self, scope: Scope, thread_id: str) -> StoredThread | None:
        """Return a thread, also one that is expired."""
        return self.of_scopes.get(scope, {}).get(thread_id) if is_thread_id(thread_id) else None

    def alive(self, scope: Scope, thread_id: str) -> StoredThread | None:
        thread, expiry = self.stored(scope, thread_id), self._options.expiry
        if thread is None or expiry is None or thread.running(self._clock()):
            return thread
        return thread if thread.last_activity >= self._clock() - expiry else None

    def current(self, scope: Scope) -> str | None:
        thread_id = self._current.get(scope)
        return thread_id if thread_id is not None and self.alive(scope, thread_id) else None

    def restore(self, scope: Scope, thread_id: str, thread: StoredThread, is_current: bool) -> None:
        """Put a thread in the place of what is there; no other makes room for it."""
        self.remove(scope, thread_id)
        self.of_scopes.setdefault(scope, {})[thread_id] = thread
        if is_current:
            self._current[scope] = thread_id

    def open(self, scope: Scope, thread_id: str) -> StoredThread:
        """Return the thread for a write, made anew if it is absent or expired."""
        thread = self.alive(scope, thread_id)
        if thread is None:
            self.remove(scope, thread_id)
            thread = StoredThread(self._clock())
            self.put(scope, thread_id, thread)
        if self.current(scope) is None:
            self._current[scope] = thread_id
        thread.last_activity = self._clock()
        return thread

    def move(self, source: Scope, target: Scope, thread_id: str) -> None:
        """Give a thread to another scope, where it is the ongoing one if it was so and there is no other."""
        thread, was_current = self.of_scopes[source][thread_id], self.current(source) == thread_id
        self.remove(source, thread_id)
        if was_current and self.current(target) is None:
            self._current[target] = thread_id
        self.put(target, thread_id, thread)

    def put(self, scope: Scope, thread_id: str, thread: StoredThread) -> None:
        """Add a thread; those that were idle longest go if there are too many."""
        threads = self.of_scopes.setdefault(scope, {})
        threads[thread_id] = thread
        idle = [name for name, other in threads.items() if name != thread_id and not other.running(self._clock())]
        idle.sort(key=lambda name: threads[name].last_activity)
        for name in idle[: max(0, len(threads) - self._options.max_threads)]:
            self.remove(scope, name)

    def remove(self, scope: Scope, thread_id: str) -> None:
        threads = self.of_scopes.get(scope, {})
        threads.pop(thread_id, None)
        if not threads:
            self.of_scopes.pop(scope, None)
        if self._current.get(scope) == thread_id:
            del self._current[scope]
