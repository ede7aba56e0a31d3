"""Caps on messages and threads."""

from __future__ import annotations

import pytest

from ...message import ChatMessage
from ...plugins.records import Appended
from .expiry import with_clock
from .parts import answer
from .parts import ask
from .parts import exchange
from .parts import MakePlugin
from .parts import OWNER
from .parts import sequences
from .parts import STRANGER
from .parts import texts
from .parts import THREAD


class MaxMessagesContract:
    """``options.max_messages``: whole turns go from the start, the newest always stays."""

    def test_the_cap_removes_whole_turns(self, make_plugin: MakePlugin) -> None:
        plugin = make_plugin(max_messages=4)
        for n in range(10):
            plugin.append_messages(OWNER, THREAD, [ask(str(n))])
            plugin.append_messages(OWNER, THREAD, [answer(str(n))], reply_to=f"q-{n}")
        loaded = plugin.load_messages(OWNER, THREAD)
        assert texts(loaded) == ["question 8", "answer 8", "question 9", "answer 9"]
        assert sequences(loaded) == [17, 18, 19, 20]

    def test_a_thread_within_the_cap_is_left_alone(self, make_plugin: MakePlugin) -> None:
        plugin = make_plugin(max_messages=4)
        plugin.append_messages(OWNER, THREAD, [*exchange("1"), *exchange("2")])
        assert len(plugin.load_messages(OWNER, THREAD)) == 4

    def test_the_cut_is_at_the_first_question_at_or_after_the_limit(self, make_plugin: MakePlugin) -> None:
        plugin = make_plugin(max_messages=4, threads="many")
        plugin.append_messages(OWNER, "thread-2", [*exchange("1"), *exchange("2"), *exchange("3")])
        kept = plugin.load_messages(OWNER, "thread-2")
        assert texts(kept) == ["question 2", "answer 2", "question 3", "answer 3"]
        tool = ChatMessage("tool", "found", tool_call_id="c1", turn="1")
        plugin.append_messages(OWNER, THREAD, [ask("1"), tool, answer("1"), ask("2"), answer("2")])
        assert texts(plugin.load_messages(OWNER, THREAD)) == ["question 2", "answer 2"]

    def test_the_newest_turn_stays_even_if_it_exceeds_the_cap(self, make_plugin: MakePlugin) -> None:
        plugin = make_plugin(max_messages=2)
        plugin.append_messages(OWNER, THREAD, exchange("1"))
        tools = [ChatMessage("tool", f"result {n}", tool_call_id=f"c{n}", turn="2") for n in range(4)]
        plugin.append_messages(OWNER, THREAD, [ask("2"), *tools, answer("2")])
        loaded = texts(plugin.load_messages(OWNER, THREAD))
        assert loaded == ["question 2", "result 0", "result 1", "result 2", "result 3", "answer 2"]

    def test_the_late_answer_of_a_removed_turn_goes_with_it(self, make_plugin: MakePlugin) -> None:
        plugin = make_plugin(max_messages=3)
        plugin.append_messages(OWNER, THREAD, [ask("1"), ask("2"), answer("1"), answer("2"), ask("3")])
        assert texts(plugin.load_messages(OWNER, THREAD)) == ["question 3"]
        plugin.append_messages(OWNER, THREAD, [ask("4"), answer("3"), answer("4")])
        assert texts(plugin.load_messages(OWNER, THREAD)) == ["question 4", "answer 4"]

    def test_a_message_without_a_turn_belongs_to_the_question_before_it(self, make_plugin: MakePlugin) -> None:
        plugin = make_plugin(max_messages=3)
        roles = ["user", "assistant", "user", "assistant", "assistant"]
        plugin.append_messages(OWNER, THREAD, [ChatMessage(role, str(n)) for n, role in enumerate(roles)])
        assert texts(plugin.load_messages(OWNER, THREAD)) == ["2", "3", "4"]

    def test_a_thread_without_any_question_is_not_cut(self, make_plugin: MakePlugin) -> None:
        plugin = make_plugin(max_messages=2)
        plugin.append_messages(OWNER, THREAD, [ChatMessage("assistant", str(n)) for n in range(5)])
        assert len(plugin.load_messages(OWNER, THREAD)) == 5

    def test_an_answer_whose_question_was_removed_is_dropped(self, make_plugin: MakePlugin) -> None:
        plugin = make_plugin(max_messages=2)
        plugin.append_messages(OWNER, THREAD, [ask("1")])
        plugin.append_messages(OWNER, THREAD, exchange("2"))
        plugin.append_messages(OWNER, THREAD, exchange("3"))
        assert plugin.append_messages(OWNER, THREAD, [answer("1")], key="answer:1", reply_to="q-1") is None
        assert texts(plugin.load_messages(OWNER, THREAD)) == ["question 3", "answer 3"]

    def test_the_cap_counts_each_thread_by_itself(self, make_plugin: MakePlugin) -> None:
        plugin = make_plugin(max_messages=2, threads="many")
        for scope, thread_id in ((OWNER, THREAD), (OWNER, "thread-2"), (STRANGER, THREAD)):
            plugin.append_messages(scope, thread_id, exchange("1"))
        for scope, thread_id in ((OWNER, THREAD), (OWNER, "thread-2"), (STRANGER, THREAD)):
            assert len(plugin.load_messages(scope, thread_id)) == 2

    def test_a_cleared_thread_is_counted_anew(self, make_plugin: MakePlugin) -> None:
        plugin = make_plugin(max_messages=4)
        plugin.append_messages(OWNER, THREAD, [*exchange("1"), *exchange("2")])
        plugin.clear_messages(OWNER, THREAD)
        plugin.append_messages(OWNER, THREAD, [*exchange("3"), *exchange("4")])
        assert len(plugin.load_messages(OWNER, THREAD)) == 4
        plugin.save_messages(OWNER, THREAD, exchange("5"))
        plugin.append_messages(OWNER, THREAD, exchange("6"))
        assert len(plugin.load_messages(OWNER, THREAD)) == 4


class LastingNumbersContract:
    """Sequence numbers and keys outlive the messages; a plugin that keeps nothing but messages lacks this."""

    def test_a_number_is_never_used_again(self, make_plugin: MakePlugin) -> None:
        plugin = make_plugin(max_messages=4)
        plugin.append_messages(OWNER, THREAD, exchange("1"))
        plugin.clear_messages(OWNER, THREAD)
        assert plugin.append_messages(OWNER, THREAD, exchange("2")) == Appended(THREAD, 3)
        plugin.save_messages(OWNER, THREAD, [])
        assert plugin.append_messages(OWNER, THREAD, exchange("3")) == Appended(THREAD, 5)
        plugin.save_messages(OWNER, THREAD, exchange("4"))
        assert sequences(plugin.load_messages(OWNER, THREAD)) == [7, 8]
        plugin.save_messages(OWNER, THREAD, plugin.load_messages(OWNER, THREAD)[:1])
        assert plugin.append_messages(OWNER, THREAD, exchange("5")) == Appended(THREAD, 9)
        plugin.append_messages(OWNER, THREAD, [*exchange("6"), *exchange("7")])
        assert plugin.append_messages(OWNER, THREAD, exchange("8")) == Appended(THREAD, 15)

    @pytest.mark.parametrize("max_messages", [4, None])
    def test_the_keys_of_the_newest_fifty_turns_are_remembered(
        self, make_plugin: MakePlugin, max_messages: int | None
    ) -> None:
        plugin = make_plugin(max_messages=max_messages)
        for n in range(60):
            plugin.append_messages(OWNER, THREAD, [ask(str(n))], key=f"question:{n}")
            plugin.append_messages(OWNER, THREAD, [answer(str(n))], key=f"answer:{n}", reply_to=f"q-{n}")
        before = plugin.load_messages(OWNER, THREAD)
        for n in range(10, 60):
            question = plugin.append_messages(OWNER, THREAD, [ask(str(n))], key=f"question:{n}")
            assert question == Appended(THREAD, 2 * n + 1, repeated=True)
            repeated = plugin.append_messages(OWNER, THREAD, [answer("x")], key=f"answer:{n}", reply_to=f"q-{n}")
            assert repeated == Appended(THREAD, 2 * n + 2, repeated=True)
        assert plugin.load_messages(OWNER, THREAD) == before

    def test_a_question_that_was_cleared_is_not_asked_again_by_a_retry(self, make_plugin: MakePlugin) -> None:
        plugin = make_plugin()
        plugin.append_messages(OWNER, THREAD, [ask("1")], key="question:1")
        plugin.clear_messages(OWNER, THREAD)
        assert plugin.append_messages(OWNER, THREAD, [ask("1")], key="question:1") == Appended(THREAD, 1, repeated=True)
        assert plugin.load_messages(OWNER, THREAD) == []


class MaxThreadsContract:
    """``options.max_threads``: the thread that was idle longest goes."""

    def test_the_thread_idle_longest_goes(self, make_plugin: MakePlugin) -> None:
        plugin, clock = with_clock(make_plugin, threads="many", max_threads=3)
        for name in ("1", "2", "3"):
            plugin.append_messages(OWNER, f"thread-{name}", exchange(name))
            clock.advance(1)
        plugin.append_messages(OWNER, "thread-1", exchange("again"))
        clock.advance(1)
        plugin.append_messages(OWNER, "thread-4", exchange("4"))
        assert [n for n in range(1, 5) if plugin.has_thread(OWNER, f"thread-{n}")] == [1, 3, 4]
        assert plugin.load_messages(OWNER, "thread-2") == []

    def test_a_thread_made_by_save_counts_too(self, make_plugin: MakePlugin) -> None:
        plugin, clock = with_clock(make_plugin, threads="many", max_threads=1)
        plugin.append_messages(OWNER, "thread-1", exchange("1"))
        clock.advance(1)
        plugin.save_messages(OWNER, "thread-2", exchange("2"))
        assert not plugin.has_thread(OWNER, "thread-1")
        assert plugin.has_thread(OWNER, "thread-2")

    def test_the_new_thread_stays_even_if_the_clock_goes_back(self, make_plugin: MakePlugin) -> None:
        plugin, clock = with_clock(make_plugin, threads="many", max_threads=1)
        plugin.append_messages(OWNER, "thread-1", exchange("1"))
        clock.advance(-5)
        plugin.append_messages(OWNER, "thread-2", exchange("2"))
        assert not plugin.has_thread(OWNER, "thread-1")
        assert plugin.has_thread(OWNER, "thread-2")

    def test_the_cap_counts_each_scope_by_itself(self, make_plugin: MakePlugin) -> None:
        plugin, clock = with_clock(make_plugin, threads="many", max_threads=1)
        plugin.append_messages(OWNER, THREAD, exchange("1"))
        clock.advance(1)
        plugin.append_messages(STRANGER, THREAD, exchange("2"))
        assert plugin.has_thread(OWNER, THREAD)
        assert plugin.has_thread(STRANGER, THREAD)
