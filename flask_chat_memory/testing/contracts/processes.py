"""A store that processes share."""

from __future__ import annotations

import collections.abc as cabc
import functools
import threading
import typing as t

import pytest

from ...message import ChatMessage
from ...plugins.abilities import CountsUsage
from ...plugins.records import Appended
from .counting import tell
from .counting import used
from .forks import Child
from .forks import needs_fork
from .forks import Say
from .parts import able
from .parts import AblePlugin
from .parts import ask
from .parts import contents
from .parts import exchange
from .parts import keeps_live_turns
from .parts import MakePlugin
from .parts import OWNER
from .parts import sequences
from .parts import texts
from .parts import THREAD
from .threads import assert_whole_batches
from .threads import batch
from .turns import end
from .turns import start

PROCESSES = 4
ROUNDS = 10


class _FatalBatch(cabc.Sequence[ChatMessage]):
    """A batch in the middle of which the writing process waits to be killed."""

    def __init__(self, messages: cabc.Sequence[ChatMessage], say: Say) -> None:
        self._messages = messages
        self._say = say

    def __len__(self) -> int:
        return len(self._messages)

    def __getitem__(self, place: t.Any) -> t.Any:
        return self._messages[place]

    def __iter__(self) -> cabc.Iterator[ChatMessage]:
        yield self._messages[0]
        self._say()
        threading.Event().wait()


@needs_fork
class ProcessContract:
    """Laws 5 to 8 for processes that use one store at once; for plugins that are ``shared_by_processes``."""

    def test_the_plugin_says_that_it_is_shared(self, make_plugin: MakePlugin) -> None:
        assert make_plugin().shared_by_processes

    def test_batches_of_many_processes_stay_whole(self, make_plugin: MakePlugin) -> None:
        def write(writer: int, _say: Say) -> None:
            plugin = make_plugin()
            for round_ in range(ROUNDS):
                plugin.append_messages(OWNER, THREAD, batch(writer, round_))

        # The store is new: the processes set it up at once, too.
        children = [Child(functools.partial(write, writer)) for writer in range(PROCESSES)]
        assert [child.wait() for child in children] == [0] * PROCESSES
        messages = make_plugin().load_messages(OWNER, THREAD)
        assert sequences(messages) == list(range(1, 3 * PROCESSES * ROUNDS + 1))
        assert_whole_batches(messages)

    def test_answers_of_many_processes_are_all_counted(self, make_plugin: MakePlugin) -> None:
        if not isinstance(make_plugin(), CountsUsage):
            pytest.skip("the plugin counts no usage")

        def write(writer: int, _say: Say) -> None:
            plugin = able(make_plugin(), CountsUsage)
            for n in range(ROUNDS):
                name = f"{writer}-{n}"
                tell(plugin, name, used(name), thread_id=f"thread-{writer}")

        children = [Child(functools.partial(write, writer)) for writer in range(PROCESSES)]
        assert [child.wait() for child in children] == [0] * PROCESSES
        lines = able(make_plugin(), CountsUsage).list_usage(OWNER)
        answers = PROCESSES * ROUNDS
        assert [(sum(line.turns for line in lines), sum(line.total for line in lines))] == [(answers, 15 * answers)]

    def test_a_key_that_many_processes_send_is_stored_once(self, make_plugin: MakePlugin) -> None:
        def write(_say: Say) -> None:
            plugin = make_plugin()
            for n in range(ROUNDS):
                appended = plugin.append_messages(OWNER, THREAD, exchange(str(n)), key=f"question:{n}")
                assert appended is not None
                assert appended.sequence == 2 * n + 1

        children = [Child(write) for _ in range(PROCESSES)]
        assert [child.wait() for child in children] == [0] * PROCESSES
        assert len(make_plugin().load_messages(OWNER, THREAD)) == 2 * ROUNDS

    def test_what_was_stored_before_a_kill_is_there_after_it(self, make_plugin: MakePlugin) -> None:
        def write(say: Say) -> None:
            plugin = make_plugin()
            for round_ in range(100_000):
                plugin.append_messages(OWNER, THREAD, batch("child", round_))
                say()

        child = Child(write)
        child.wait_for_steps(5)
        child.kill()
        plugin = make_plugin()
        messages = plugin.load_messages(OWNER, THREAD)
        assert len(messages) >= 5 * 3
        assert_whole_batches(messages)
        assert plugin.append_messages(OWNER, THREAD, [ask("after")]) == Appended(THREAD, len(messages) + 1)

    def test_a_kill_in_the_middle_of_a_write_leaves_what_was_there(self, make_plugin: MakePlugin) -> None:
        plugin = make_plugin()
        plugin.append_messages(OWNER, THREAD, exchange("1"))
        before = contents(plugin, OWNER)

        def append(say: Say) -> None:
            make_plugin().append_messages(OWNER, THREAD, _FatalBatch(exchange("2"), say), key="k")

        def save(say: Say) -> None:
            make_plugin().save_messages(OWNER, THREAD, _FatalBatch(exchange("2"), say))

        for work in (append, save):
            child = Child(work)
            child.wait_for_steps(1)
            child.kill()
            assert contents(plugin, OWNER) == before
        assert plugin.append_messages(OWNER, THREAD, exchange("2"), key="k") == Appended(THREAD, 3)

    def test_a_deletion_is_seen_by_all_processes(self, make_plugin: MakePlugin) -> None:
        plugin = make_plugin()
        plugin.append_messages(OWNER, THREAD, [ask("1")])

        def delete(_say: Say) -> None:
            assert make_plugin().delete_thread(OWNER, THREAD)

        assert Child(delete).wait() == 0
        assert plugin.append_messages(OWNER, THREAD, [ask("2")], reply_to="q-1") is None
        assert not plugin.has_thread(OWNER, THREAD)

    def test_a_turn_whose_process_was_killed_is_ended_once(self, make_plugin: MakePlugin) -> None:
        plugin = t.cast(AblePlugin, make_plugin())
        if not keeps_live_turns(plugin):
            pytest.skip("the plugin keeps no live turns")

        def ask_and_hang(say: Say) -> None:
            start(t.cast(AblePlugin, make_plugin()), "1")
            say()
            threading.Event().wait()

        child = Child(ask_and_hang)
        child.wait_for_steps(1)
        child.kill()
        assert [live.turn for live in plugin.live_turns(OWNER, THREAD)] == ["1"]
        enders = [Child(lambda _say: end(t.cast(AblePlugin, make_plugin()), "1")) for _ in range(PROCESSES)]
        assert [ender.wait() for ender in enders] == [0] * PROCESSES
        assert texts(plugin.load_messages(OWNER, THREAD)) == ["question 1", "answer 1"]
        assert plugin.live_turns(OWNER, THREAD) == []
