"""The scope's one ongoing thread."""

from __future__ import annotations

import functools
import typing as t

import pytest

from ...plugins.abilities import CurrentThread
from ...plugins.records import Appended
from ..clock import ManualClock
from .expiry import EXPIRY
from .parts import able
from .parts import AblePlugin
from .parts import answer
from .parts import ask
from .parts import exchange
from .parts import MakePlugin
from .parts import OWNER
from .parts import SAME_OWNER_OTHER_CHATBOT
from .parts import STRANGER
from .parts import texts
from .parts import THREAD
from .parts import together


def with_current_thread(make_plugin: MakePlugin, **options: t.Any) -> AblePlugin:
    return able(make_plugin(**options), CurrentThread)


class CurrentThreadContract:
    """The ability :class:`CurrentThread`."""

    def test_the_plugin_says_whether_a_thread_persists(self, make_plugin: MakePlugin) -> None:
        assert with_current_thread(make_plugin, threads="one").has_persistent_thread is True
        assert with_current_thread(make_plugin, threads="many").has_persistent_thread is False

    @pytest.mark.parametrize("threads", ["one", "many"])
    def test_the_first_append_makes_its_thread_current(self, make_plugin: MakePlugin, threads: str) -> None:
        plugin = with_current_thread(make_plugin, threads=threads)
        assert plugin.current_thread(OWNER) is None
        assert plugin.load_current(OWNER) == (None, [])
        plugin.append_messages(OWNER, THREAD, exchange("1"))
        assert plugin.current_thread(OWNER) == THREAD
        assert plugin.load_current(OWNER) == (THREAD, exchange("1"))
        assert plugin.current_thread(STRANGER) is None
        assert plugin.current_thread(SAME_OWNER_OTHER_CHATBOT) is None

    def test_an_append_to_an_absent_thread_goes_to_the_current_one(self, make_plugin: MakePlugin) -> None:
        plugin = with_current_thread(make_plugin, threads="one")
        plugin.append_messages(OWNER, THREAD, [ask("1")], key="question:1")
        assert plugin.append_messages(OWNER, "thread-2", [ask("2")]) == Appended(THREAD, 2)
        assert not plugin.has_thread(OWNER, "thread-2")
        answered = plugin.append_messages(OWNER, "thread-2", [answer("1")], key="answer:1", reply_to="q-1")
        assert answered == Appended(THREAD, 3)
        assert plugin.append_messages(OWNER, "thread-2", [ask("1")], key="question:1") == Appended(THREAD, 1, True)
        assert plugin.append_messages(OWNER, "thread-2", [answer("9")], reply_to="q-9") is None
        assert texts(plugin.load_messages(OWNER, THREAD)) == ["question 1", "question 2", "answer 1"]

    def test_with_many_threads_an_append_makes_its_own(self, make_plugin: MakePlugin) -> None:
        plugin = with_current_thread(make_plugin, threads="many")
        plugin.append_messages(OWNER, THREAD, [ask("1")])
        assert plugin.append_messages(OWNER, "thread-2", [ask("2")]) == Appended("thread-2", 1)
        assert plugin.current_thread(OWNER) == THREAD

    def test_an_append_to_another_thread_that_is_there_stays_in_it(self, make_plugin: MakePlugin) -> None:
        plugin = with_current_thread(make_plugin, threads="one")
        plugin.append_messages(OWNER, THREAD, [ask("1")])
        plugin.save_messages(OWNER, "thread-2", [ask("2")])
        assert plugin.append_messages(OWNER, "thread-2", [ask("3")]) == Appended("thread-2", 2)
        assert plugin.current_thread(OWNER) == THREAD

    def test_after_a_deletion_there_is_no_current_thread_until_the_next_append(self, make_plugin: MakePlugin) -> None:
        plugin = with_current_thread(make_plugin)
        plugin.append_messages(OWNER, THREAD, [ask("1")])
        plugin.delete_thread(OWNER, THREAD)
        assert plugin.current_thread(OWNER) is None
        assert plugin.load_current(OWNER) == (None, [])
        assert plugin.append_messages(OWNER, "thread-2", [ask("2")]) == Appended("thread-2", 1)
        assert plugin.current_thread(OWNER) == "thread-2"

    def test_the_deletion_of_another_thread_leaves_the_current_one(self, make_plugin: MakePlugin) -> None:
        plugin = with_current_thread(make_plugin)
        plugin.append_messages(OWNER, THREAD, [ask("1")])
        plugin.append_messages(STRANGER, THREAD, [ask("1")])
        plugin.save_messages(OWNER, "thread-2", [ask("2")])
        plugin.delete_thread(OWNER, "thread-2")
        plugin.delete_thread(STRANGER, THREAD)
        assert plugin.current_thread(OWNER) == THREAD

    def test_a_cleared_thread_stays_the_current_one(self, make_plugin: MakePlugin) -> None:
        plugin = with_current_thread(make_plugin)
        plugin.append_messages(OWNER, THREAD, [ask("1")])
        plugin.clear_messages(OWNER, THREAD)
        assert plugin.current_thread(OWNER) == THREAD
        assert plugin.load_current(OWNER) == (THREAD, [])

    def test_an_expired_thread_is_not_the_current_one(self, make_plugin: MakePlugin) -> None:
        plugin = with_current_thread(make_plugin, expiry=EXPIRY)
        clock = plugin.clock = ManualClock()
        plugin.append_messages(OWNER, THREAD, [ask("1")])
        clock.advance(EXPIRY)
        assert plugin.current_thread(OWNER) == THREAD
        clock.advance(1)
        assert plugin.current_thread(OWNER) is None
        assert plugin.load_current(OWNER) == (None, [])
        assert plugin.append_messages(OWNER, "thread-2", [ask("2")]) == Appended("thread-2", 1)
        assert plugin.current_thread(OWNER) == "thread-2"

    def test_what_expired_beside_the_current_thread_can_be_written_anew(self, make_plugin: MakePlugin) -> None:
        plugin = with_current_thread(make_plugin, expiry=EXPIRY)
        clock = plugin.clock = ManualClock()
        plugin.append_messages(OWNER, THREAD, [ask("1")])
        clock.advance(EXPIRY + 1)
        plugin.append_messages(OWNER, "thread-2", [ask("2")])
        assert plugin.append_messages(OWNER, THREAD, [ask("3")]) == Appended("thread-2", 2)
        plugin.save_messages(OWNER, THREAD, [ask("4")])
        assert texts(plugin.load_messages(OWNER, THREAD)) == ["question 4"]
        assert plugin.current_thread(OWNER) == "thread-2"

    def test_the_newest_messages_come_with_the_current_thread(self, make_plugin: MakePlugin) -> None:
        plugin = with_current_thread(make_plugin)
        plugin.append_messages(OWNER, THREAD, [*exchange("1"), *exchange("2")])
        loaded = plugin.load_current(OWNER, limit=3)[1]
        assert texts(loaded) == ["answer 1", "question 2", "answer 2"]
        assert [message.sequence for message in loaded] == [2, 3, 4]
        assert plugin.load_current(OWNER, limit=0) == (THREAD, [])
        assert len(plugin.load_current(OWNER, limit=10**30)[1]) == 4

    @pytest.mark.parametrize("limit", [-1, True, "3", 2.5])
    @pytest.mark.parametrize("scope", [OWNER, STRANGER], ids=["with a thread", "without"])
    def test_what_is_no_limit_is_refused(self, make_plugin: MakePlugin, scope: t.Any, limit: t.Any) -> None:
        plugin = with_current_thread(make_plugin)
        plugin.append_messages(OWNER, THREAD, [ask("1")])
        with pytest.raises(ValueError):
            plugin.load_current(scope, limit=limit)

    def test_first_appends_at_once_end_in_one_thread(self, make_plugin: MakePlugin) -> None:
        plugin = with_current_thread(make_plugin, threads="one")
        appended = together(
            [functools.partial(plugin.append_messages, OWNER, f"thread-{n}", [ask(str(n))]) for n in range(8)]
        )
        assert {batch.thread_id for batch in appended if batch} == {plugin.current_thread(OWNER)}
        assert sorted(batch.sequence for batch in appended if batch) == list(range(1, 9))
