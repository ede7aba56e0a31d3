"""Threads as documents, where the process dies between two of them."""

from __future__ import annotations

import collections.abc as cabc
import contextlib
import functools
import typing as t

import pytest

from flask_chat_memory import StorageError
from flask_chat_memory.plugins.documents import DocumentsPlugin
from flask_chat_memory.plugins.records import Appended
from flask_chat_memory.plugins.records import Mark
from flask_chat_memory.testing import ManualClock
from flask_chat_memory.testing.contracts.parts import AblePlugin
from flask_chat_memory.testing.contracts.parts import ask
from flask_chat_memory.testing.contracts.parts import exchange
from flask_chat_memory.testing.contracts.parts import OWNER
from flask_chat_memory.testing.contracts.parts import STRANGER
from flask_chat_memory.testing.contracts.parts import texts
from flask_chat_memory.testing.contracts.parts import THREAD
from flask_chat_memory.testing.contracts.turns import end
from flask_chat_memory.testing.contracts.turns import start

from .own_storage import OwnStorage


class Stopped(Exception):
    """The process died."""


class MortalStorage(OwnStorage):
    """Dies before a change of a document.

    :ivar left: changes before that; None is for ever.
    """

    left: int | None = None

    def save(self, key: str, document: cabc.Mapping[str, t.Any]) -> None:
        self._change()
        super().save(key, document)

    def delete(self, key: str) -> bool:
        self._change()
        return super().delete(key)

    def _change(self) -> None:
        if self.left == 0:
            raise Stopped
        self.left = None if self.left is None else self.left - 1


A_CRASH = pytest.mark.parametrize("left", range(5))


def dying(left: int, **options: t.Any) -> tuple[AblePlugin, cabc.Callable[..., None]]:
    """Return a plugin, and what runs an operation of it that dies after some changes."""
    storage = MortalStorage()
    plugin = t.cast(AblePlugin, DocumentsPlugin({"storage": storage, **options}, clock=ManualClock()))

    def run(operation: cabc.Callable[..., object], *arguments: t.Any, **named: t.Any) -> None:
        storage.left = left
        with contextlib.suppress(StorageError):
            operation(*arguments, **named)
        storage.left = None

    return plugin, run


@A_CRASH
def test_a_first_question_that_a_crash_cuts_is_asked_again(left: int) -> None:
    plugin, run = dying(left)
    question = functools.partial(plugin.append_messages, OWNER, THREAD, [ask("1")], key="question:1")

    run(question)
    stored = texts(plugin.load_messages(OWNER, THREAD))
    assert (stored, plugin.current_thread(OWNER)) in (([], None), (["question 1"], THREAD))

    assert question() in (Appended(THREAD, 1), Appended(THREAD, 1, repeated=True))
    assert texts(plugin.load_messages(OWNER, THREAD)) == ["question 1"]
    assert plugin.current_thread(OWNER) == THREAD


@A_CRASH
def test_an_answer_that_a_crash_cuts_is_stored_and_counted_once(left: int) -> None:
    plugin, run = dying(left)
    start(plugin, "1")

    run(end, plugin, "1")
    assert texts(plugin.load_messages(OWNER, THREAD)) in (["question 1"], ["question 1", "answer 1"])
    assert len(plugin.live_turns(OWNER, THREAD)) == 2 - len(plugin.load_messages(OWNER, THREAD))

    ended = end(plugin, "1")
    assert ended in (Appended(THREAD, 2), Appended(THREAD, 2, repeated=True))
    assert texts(plugin.load_messages(OWNER, THREAD)) == ["question 1", "answer 1"]
    assert plugin.live_turns(OWNER, THREAD) == []
    assert [day.turns for day in plugin.list_usage(OWNER)] == [1]


@A_CRASH
@pytest.mark.parametrize("other", [None, "thread-2"], ids=["alone", "beside another"])
def test_a_move_that_a_crash_cuts_is_repeated(left: int, other: str | None) -> None:
    plugin, run = dying(left)
    plugin.append_messages(OWNER, THREAD, exchange("1"))
    plugin.mark_message(OWNER, THREAD, "a-1", Mark(1))
    if other:
        plugin.append_messages(STRANGER, other, exchange("own"))

    run(plugin.move_threads, OWNER, STRANGER)
    assert plugin.has_thread(OWNER, THREAD) or plugin.load_marks(STRANGER, other or THREAD) == {"a-1": Mark(1)}
    assert plugin.move_threads(OWNER, STRANGER) == 0

    expected = [*(exchange("own") if other else []), *exchange("1")]
    assert plugin.load_messages(STRANGER, other or THREAD) == expected
    assert plugin.load_marks(STRANGER, other or THREAD) == {"a-1": Mark(1)}
    assert plugin.current_thread(STRANGER) == other or THREAD
    assert not plugin.has_thread(OWNER, THREAD)
    assert plugin.current_thread(OWNER) is None


@A_CRASH
def test_a_deletion_that_a_crash_cuts_leaves_all_or_nothing(left: int) -> None:
    plugin, run = dying(left)
    plugin.append_messages(OWNER, THREAD, exchange("1"))

    run(plugin.delete_thread, OWNER, THREAD)

    assert plugin.load_messages(OWNER, THREAD) == (exchange("1") if left == 0 else [])
    assert plugin.current_thread(OWNER) == (THREAD if left == 0 else None)
    assert plugin.append_messages(OWNER, "thread-2", [ask("2")]) == (
        Appended(THREAD, 3) if left == 0 else Appended("thread-2", 1)
    )


@A_CRASH
def test_a_crash_keeps_no_more_threads_than_it_made(left: int) -> None:
    plugin, run = dying(left, threads="many", max_threads=1)
    plugin.append_messages(OWNER, THREAD, exchange("1"))
    t.cast(ManualClock, plugin.clock).advance(1)

    run(plugin.append_messages, OWNER, "thread-2", exchange("2"))
    listed = [thread.id for thread in plugin.list_threads(OWNER)]
    assert listed in ([THREAD], ["thread-2", THREAD], ["thread-2"])

    plugin.append_messages(OWNER, "thread-3", exchange("3"))
    assert [thread.id for thread in plugin.list_threads(OWNER)] == ["thread-3"]
