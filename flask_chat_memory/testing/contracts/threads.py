"""One plugin, many OS threads."""

from __future__ import annotations

import collections.abc as cabc
import contextlib
import functools
import threading
import typing as t

import pytest

from ...message import ChatMessage
from ...plugins.records import Appended
from .appending import NO_MESSAGE
from .appending import REFUSED
from .parts import answer
from .parts import ask
from .parts import exchange
from .parts import HeldBatch
from .parts import MakePlugin
from .parts import OWNER
from .parts import PATIENCE
from .parts import sequences
from .parts import STRANGER
from .parts import texts
from .parts import THREAD
from .parts import together

WRITERS = 8
ROUNDS = 5
A_MOMENT = 0.05
"""Seconds in which something that ought to wait may show that it does not."""


def batch(writer: object, round_: int) -> list[ChatMessage]:
    return [ChatMessage("user", f"{writer}/{round_}/{place}") for place in range(3)]


def assert_whole_batches(messages: list[ChatMessage]) -> None:
    """Check that batches made by :func:`batch` are all there, each in one piece."""
    sequences(messages)
    for place in range(0, len(messages), 3):
        name = messages[place].text.rpartition("/")[0]
        assert texts(messages[place : place + 3]) == [f"{name}/0", f"{name}/1", f"{name}/2"]


class ThreadsContract:
    """Laws 6 to 8 for OS threads that use one plugin at once."""

    def test_batches_of_many_threads_stay_whole(self, make_plugin: MakePlugin) -> None:
        plugin = make_plugin()

        def write(writer: int) -> None:
            for round_ in range(ROUNDS):
                plugin.append_messages(OWNER, THREAD, batch(writer, round_))

        def read() -> None:
            while len(messages := plugin.load_messages(OWNER, THREAD)) < 3 * WRITERS * ROUNDS:
                assert_whole_batches(messages)

        calls: list[cabc.Callable[[], None]] = [functools.partial(write, writer) for writer in range(WRITERS)]
        together([*calls, read])
        messages = plugin.load_messages(OWNER, THREAD)
        assert_whole_batches(messages)
        assert sequences(messages) == list(range(1, 3 * WRITERS * ROUNDS + 1))
        for writer in range(WRITERS):
            own = [text for text in texts(messages) if text.startswith(f"{writer}/")]
            assert own == [f"{writer}/{round_}/{place}" for round_ in range(ROUNDS) for place in range(3)]

    def test_a_key_that_many_threads_send_at_once_is_stored_once(self, make_plugin: MakePlugin) -> None:
        plugin = make_plugin()
        results = together([lambda: plugin.append_messages(OWNER, THREAD, exchange("1"), key="k")] * WRITERS)
        assert sorted(result.repeated for result in results if result) == [False] + [True] * (WRITERS - 1)
        assert {result.sequence for result in results if result} == {1}
        assert len(plugin.load_messages(OWNER, THREAD)) == 2

    def test_the_first_reads_of_a_new_store_at_once_find_nothing(self, make_plugin: MakePlugin) -> None:
        plugin = make_plugin()
        assert together([lambda: plugin.load_messages(OWNER, THREAD)] * WRITERS) == [[]] * WRITERS

    def test_nobody_ever_sees_the_messages_of_another_thread(self, make_plugin: MakePlugin) -> None:
        plugin = make_plugin(threads="many")

        def chat(writer: int) -> None:
            scope = (OWNER, STRANGER)[writer % 2]
            for round_ in range(1, ROUNDS + 1):
                plugin.append_messages(scope, f"thread-{writer}", [ChatMessage("user", f"of {writer}")])
                for _ in range(5):
                    assert texts(plugin.load_messages(scope, f"thread-{writer}")) == [f"of {writer}"] * round_

        together([functools.partial(chat, writer) for writer in range(16)])

    def test_a_deletion_in_the_middle_of_an_append_lasts(self, make_plugin: MakePlugin) -> None:
        plugin = make_plugin()
        plugin.append_messages(OWNER, THREAD, [ask("1")])
        held = HeldBatch(answer("1"))
        append = threading.Thread(
            target=plugin.append_messages, args=(OWNER, THREAD, held), kwargs={"reply_to": "q-1"}, daemon=True
        )
        delete = threading.Thread(target=plugin.delete_thread, args=(OWNER, THREAD), daemon=True)
        append.start()
        assert held.reached.wait(PATIENCE)
        delete.start()
        delete.join(A_MOMENT)
        held.release.set()
        for thread in (append, delete):
            thread.join(PATIENCE)
            assert not thread.is_alive()
        assert not plugin.has_thread(OWNER, THREAD)
        assert plugin.load_messages(OWNER, THREAD) == []

    def test_a_clear_in_the_middle_of_an_append_lasts(self, make_plugin: MakePlugin) -> None:
        plugin = make_plugin()
        plugin.append_messages(OWNER, THREAD, [ask("1")])
        held = HeldBatch(answer("1"))
        append = threading.Thread(
            target=plugin.append_messages, args=(OWNER, THREAD, held), kwargs={"reply_to": "q-1"}, daemon=True
        )
        clear = threading.Thread(target=plugin.clear_messages, args=(OWNER, THREAD), daemon=True)
        append.start()
        assert held.reached.wait(PATIENCE)
        clear.start()
        clear.join(A_MOMENT)
        held.release.set()
        for thread in (append, clear):
            thread.join(PATIENCE)
            assert not thread.is_alive()
        assert plugin.load_messages(OWNER, THREAD) == []

    def test_an_append_that_fails_does_not_hold_up_the_others(self, make_plugin: MakePlugin) -> None:
        plugin = make_plugin()
        half: t.Any = [ask("1"), NO_MESSAGE]

        def write(batch: t.Any) -> None:
            with pytest.raises(REFUSED) if batch is half else contextlib.nullcontext():
                plugin.append_messages(OWNER, THREAD, batch)

        together([functools.partial(write, batch) for batch in [half, [ask("2")]] * 4])
        assert texts(plugin.load_messages(OWNER, THREAD)) == ["question 2"] * 4
        assert plugin.append_messages(OWNER, THREAD, [ask("3")]) == Appended(THREAD, 5)
