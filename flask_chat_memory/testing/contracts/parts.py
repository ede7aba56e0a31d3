"""What the contracts share."""

from __future__ import annotations

import abc
import collections.abc as cabc
import threading
import typing as t

import msgspec

from ...message import ChatMessage
from ...plugins.abilities import CurrentThread
from ...plugins.abilities import DescribesThreads
from ...plugins.abilities import HidesMessages
from ...plugins.abilities import KeepsLiveTurns
from ...plugins.abilities import ListsThreads
from ...plugins.abilities import MarksMessages
from ...plugins.abilities import MovesThreads
from ...plugins.abilities import PurgesThreads
from ...plugins.abilities import RestoresThreads
from ...plugins.abilities import RestoresUsage
from ...plugins.abilities import SearchesMessages
from ...plugins.base import ChatMemoryPlugin
from ...plugins.records import Scope

OWNER = Scope("user:1")
SAME_OWNER_OTHER_CHATBOT = Scope("user:1", "support")
STRANGER = Scope("user:10")
THREAD = "thread-1"
UNKNOWN = "thread-nobody-has"
PATIENCE = 30.0
"""Seconds after which something that should have happened counts as stuck."""

R = t.TypeVar("R")


class AblePlugin(
    HidesMessages,
    MarksMessages,
    SearchesMessages,
    ChatMemoryPlugin,
    CurrentThread,
    KeepsLiveTurns,
    MovesThreads,
    ListsThreads,
    DescribesThreads,
    PurgesThreads,
    RestoresThreads,
    RestoresUsage,
    abc.ABC,
):
    """Stands in annotations for a plugin that has the ability which a contract is about."""


class MakePlugin(t.Protocol):
    """Opens the store of the test with options of the plugin."""

    def __call__(self, **options: t.Any) -> ChatMemoryPlugin: ...


def able(plugin: ChatMemoryPlugin, ability: type) -> AblePlugin:
    assert isinstance(plugin, ability), f"{type(plugin).__name__} does not inherit {ability.__name__}"
    return t.cast(AblePlugin, plugin)


def keeps_live_turns(plugin: ChatMemoryPlugin) -> bool:
    return isinstance(plugin, KeepsLiveTurns)


def ask(name: str) -> ChatMessage:
    """Return the question of the turn ``name``."""
    return ChatMessage("user", f"question {name}", id=f"q-{name}", turn=name)


def answer(name: str, status: str = "complete") -> ChatMessage:
    """Return the answer of the turn ``name``."""
    return ChatMessage("assistant", f"answer {name}", id=f"a-{name}", turn=name, status=status)


def exchange(name: str) -> list[ChatMessage]:
    return [ask(name), answer(name)]


def texts(messages: cabc.Iterable[ChatMessage]) -> list[str]:
    return [message.text for message in messages]


def sequences(messages: cabc.Iterable[ChatMessage]) -> list[int]:
    """Return the sequence numbers, which must be there, be unique and ascend."""
    found = [message.sequence for message in messages]
    assert all(type(sequence) is int and sequence > 0 for sequence in found), found
    numbers = t.cast("list[int]", found)
    assert numbers == sorted(set(numbers)), "sequence numbers are not unique and ascending"
    return numbers


def assert_same(loaded: cabc.Sequence[ChatMessage], expected: cabc.Sequence[ChatMessage]) -> None:
    """Compare more strictly than ``==`` does: 1, 1.0 and True differ, and so do a key with None and no key."""
    assert list(loaded) == list(expected)
    assert [message.to_json() for message in loaded] == [message.to_json() for message in expected]


def contents(plugin: ChatMemoryPlugin, scope: Scope, thread_id: str = THREAD) -> dict[str, t.Any]:
    """Return all that a plugin tells of a thread and of its scope, to be compared with a later state."""
    found: dict[str, t.Any] = {"known": plugin.has_thread(scope, thread_id)}
    found["messages"] = [(message.sequence, message.to_dict()) for message in plugin.load_messages(scope, thread_id)]
    if isinstance(plugin, HidesMessages):
        every = plugin.load_messages(scope, thread_id, hidden=True)
        found["of all lines"] = [message.sequence for message in every]
        found["lines"] = plugin.find_lines(scope, thread_id)
    if isinstance(plugin, MarksMessages):
        found["marks"] = plugin.load_marks(scope, thread_id)
    if isinstance(plugin, CurrentThread):
        found["current"] = plugin.current_thread(scope)
    if isinstance(plugin, KeepsLiveTurns):
        found["live"] = plugin.live_turns(scope, thread_id)
    if isinstance(plugin, DescribesThreads):
        thread = plugin.find_thread(scope, thread_id)
        found["described"] = thread and msgspec.structs.replace(thread, id="")
    return found


class HeldBatch(cabc.Sequence[ChatMessage]):
    """A batch at which a write stops in the middle.

    :ivar reached: is set when the write reads the batch; ``release`` lets it go on.
    """

    def __init__(self, *messages: ChatMessage) -> None:
        self._messages = messages
        self.reached = threading.Event()
        self.release = threading.Event()

    def __len__(self) -> int:
        return len(self._messages)

    def __getitem__(self, place: t.Any) -> t.Any:
        return self._messages[place]

    def __iter__(self) -> cabc.Iterator[ChatMessage]:
        self.reached.set()
        assert self.release.wait(PATIENCE)
        return iter(self._messages)


def together(calls: cabc.Iterable[cabc.Callable[[], R]]) -> list[R]:
    """Run each call in an OS thread, all at once; return the results in the order of the calls."""
    calls = list(calls)
    barrier = threading.Barrier(len(calls))
    results: dict[int, R] = {}
    errors: list[BaseException] = []

    def run(place: int, call: cabc.Callable[[], R]) -> None:
        try:
            barrier.wait(PATIENCE)
            results[place] = call()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=work, daemon=True) for work in enumerate(calls)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
        assert not thread.is_alive(), "an operation is stuck"
    if errors:
        raise errors[0]
    return [results[place] for place in range(len(calls))]
