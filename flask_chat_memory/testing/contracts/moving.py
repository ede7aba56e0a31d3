"""Threads that get another owner."""

from __future__ import annotations

import collections.abc as cabc
import typing as t

import pytest

from ...errors import CorruptRecord
from ...message import ChatMessage
from ...plugins.abilities import CurrentThread
from ...plugins.abilities import DescribesThreads
from ...plugins.abilities import MovesThreads
from ...plugins.abilities import Reseals
from ...plugins.records import Appended
from ...plugins.records import Renewal
from ...plugins.records import Scope
from ...plugins.rules import MAX_THREAD_ID
from ..clock import ManualClock
from .expiry import EXPIRY
from .expiry import with_clock
from .parts import able
from .parts import AblePlugin
from .parts import answer
from .parts import ask
from .parts import assert_same
from .parts import contents
from .parts import exchange
from .parts import keeps_live_turns
from .parts import MakePlugin
from .parts import OWNER
from .parts import sequences
from .parts import texts
from .parts import THREAD
from .parts import together
from .turns import end
from .turns import LEASE
from .turns import start

ANONYMOUS = Scope("anon:a")
OTHERS = [Scope("anon:ab"), Scope("anon:a", "support"), Scope("anon:A"), Scope("user:10")]


class Relabel:
    """Tells in each text where it came from and where it went."""

    def messages(self, old: str, new: str, messages: cabc.Iterable[ChatMessage]) -> list[ChatMessage]:
        return [message.replace(content=f"{message.text}, from {old} to {new}") for message in messages]

    def title(self, thread_id: str, title: str) -> str:
        return f"{title} of {thread_id}"

    def comment(self, old: str, new: str, message_id: str, comment: str) -> str:
        return f"{comment} on {message_id}, from {old} to {new}"

    def live_text(self, thread_id: str, turn: str, text: str) -> str:
        return f"{text} of {turn} in {thread_id}"


def with_moves(make_plugin: MakePlugin, **options: t.Any) -> tuple[AblePlugin, ManualClock]:
    plugin, clock = with_clock(make_plugin, **options)
    return able(plugin, MovesThreads), clock


class MovesThreadsContract:
    """The ability :class:`MovesThreads`."""

    relabel: Reseals = Relabel()

    def test_all_threads_move_as_they_are(self, make_plugin: MakePlugin) -> None:
        plugin, _ = with_moves(make_plugin, threads="many")
        plugin.append_messages(ANONYMOUS, "thread-1", exchange("1"), key="k")
        plugin.append_messages(ANONYMOUS, "thread-2", exchange("2"))
        plugin.append_messages(OWNER, "thread-3", exchange("3"))
        assert plugin.move_threads(ANONYMOUS, OWNER) == 0
        for name in ("1", "2", "3"):
            loaded = plugin.load_messages(OWNER, f"thread-{name}")
            assert_same(loaded, exchange(name))
            assert sequences(loaded) == [1, 2]
            assert not plugin.has_thread(ANONYMOUS, f"thread-{name}")
        assert plugin.append_messages(OWNER, "thread-1", [ask("1")], key="k") == Appended("thread-1", 1, repeated=True)

    def test_the_ongoing_thread_stays_the_ongoing_one(self, make_plugin: MakePlugin) -> None:
        plugin, _ = with_moves(make_plugin)
        plugin.append_messages(ANONYMOUS, THREAD, exchange("1"))
        assert plugin.move_threads(ANONYMOUS, OWNER) == 0
        assert plugin.load_messages(OWNER, THREAD) == exchange("1")
        if isinstance(plugin, CurrentThread):
            assert plugin.current_thread(OWNER) == THREAD
            assert plugin.current_thread(ANONYMOUS) is None

    def test_an_ongoing_thread_is_added_to_one_that_is_there(self, make_plugin: MakePlugin) -> None:
        plugin, clock = with_moves(make_plugin, threads="one")
        messages = [ask("1").replace(created_at="2026-01-01T00:00:00Z"), answer("1")]
        plugin.append_messages(ANONYMOUS, THREAD, messages, key="question:1")
        plugin.append_messages(OWNER, "thread-2", exchange("2"))
        clock.advance(5)
        assert plugin.move_threads(ANONYMOUS, OWNER) == 0
        loaded = plugin.load_messages(OWNER, "thread-2")
        assert_same(loaded, [*exchange("2"), *messages])
        assert sequences(loaded) == [1, 2, 3, 4]
        assert not plugin.has_thread(ANONYMOUS, THREAD)
        assert not plugin.has_thread(OWNER, THREAD)

    def test_a_repeated_move_adds_nothing(self, make_plugin: MakePlugin) -> None:
        plugin, _ = with_moves(make_plugin, threads="one")
        plugin.append_messages(OWNER, "thread-2", exchange("2"))
        for _ in range(3):
            # As if the move had been interrupted before the old thread was deleted.
            plugin.append_messages(ANONYMOUS, THREAD, exchange("1"))
            assert plugin.move_threads(ANONYMOUS, OWNER) == 0
            assert plugin.move_threads(ANONYMOUS, OWNER) == 0
            assert_same(plugin.load_messages(OWNER, "thread-2"), [*exchange("2"), *exchange("1")])
            assert not plugin.has_thread(ANONYMOUS, THREAD)

    def test_the_longest_id_is_not_too_long_to_be_moved(self, make_plugin: MakePlugin) -> None:
        plugin, _ = with_moves(make_plugin, threads="one")
        for last in "ab":
            plugin.append_messages(ANONYMOUS, "x" * (MAX_THREAD_ID - 1) + last, [ask(last)])
            plugin.append_messages(OWNER, THREAD, [ask("2")], key="question:2")
            assert plugin.move_threads(ANONYMOUS, OWNER) == 0
        assert texts(plugin.load_messages(OWNER, THREAD)) == ["question 2", "question a", "question b"]

    def test_moves_at_once_have_the_result_of_one(self, make_plugin: MakePlugin) -> None:
        plugin, _ = with_moves(make_plugin, threads="one")
        plugin.append_messages(ANONYMOUS, THREAD, exchange("1"))
        plugin.append_messages(OWNER, "thread-2", exchange("2"))
        assert together([lambda: plugin.move_threads(ANONYMOUS, OWNER)] * 4) == [0] * 4
        assert_same(plugin.load_messages(OWNER, "thread-2"), [*exchange("2"), *exchange("1")])

    def test_a_thread_with_a_running_turn_is_left_for_later(self, make_plugin: MakePlugin) -> None:
        plugin, clock = with_moves(make_plugin, threads="many")
        if not keeps_live_turns(plugin):
            pytest.skip("the plugin keeps no live turns")
        plugin.append_messages(ANONYMOUS, "thread-1", exchange("1"))
        start(plugin, "2", ANONYMOUS, "thread-2")
        start(plugin, "3", ANONYMOUS, "thread-3")
        plugin.renew_turns([Renewal(ANONYMOUS, "thread-3", "3")], clock() + 3 * LEASE)
        before = contents(plugin, ANONYMOUS, "thread-2")
        assert plugin.move_threads(ANONYMOUS, OWNER) == 2
        assert plugin.has_thread(OWNER, "thread-1")
        after = contents(plugin, ANONYMOUS, "thread-2")
        assert {**after, "current": None} == {**before, "current": None}
        end(plugin, "2", ANONYMOUS, "thread-2")
        assert plugin.move_threads(ANONYMOUS, OWNER) == 1
        assert texts(plugin.load_messages(OWNER, "thread-2")) == ["question 2", "answer 2"]
        clock.advance(4 * LEASE)
        assert plugin.move_threads(ANONYMOUS, OWNER) == 0
        assert texts(plugin.load_messages(OWNER, "thread-3")) == ["question 3"]
        assert [live.turn for live in plugin.live_turns(OWNER, "thread-3")] == ["3"]

    def test_what_a_dead_turn_told_moves_with_it(self, make_plugin: MakePlugin) -> None:
        plugin, clock = with_moves(make_plugin, threads="many")
        if not keeps_live_turns(plugin):
            pytest.skip("the plugin keeps no live turns")
        for name in ("1", "2"):
            start(plugin, name, ANONYMOUS)
        plugin.renew_turns([Renewal(ANONYMOUS, THREAD, "1", "as far")], clock() + LEASE)
        clock.advance(LEASE + 1)
        assert plugin.move_threads(ANONYMOUS, OWNER, reseal=self.relabel) == 0
        told = [(live.turn, live.text) for live in plugin.live_turns(OWNER, THREAD)]
        assert told == [("1", f"as far of 1 in {THREAD}"), ("2", "")]
        assert end(plugin, "1") == Appended(THREAD, 3)

    def test_a_late_answer_does_not_bring_the_old_thread_back(self, make_plugin: MakePlugin) -> None:
        plugin, _ = with_moves(make_plugin)
        plugin.append_messages(ANONYMOUS, THREAD, [ask("1")])
        plugin.move_threads(ANONYMOUS, OWNER)
        assert plugin.append_messages(ANONYMOUS, THREAD, [answer("1")], key="answer:1", reply_to="q-1") is None
        assert not plugin.has_thread(ANONYMOUS, THREAD)
        assert plugin.load_messages(OWNER, THREAD) == [ask("1")]

    def test_what_moves_can_be_made_fit_its_new_place(self, make_plugin: MakePlugin) -> None:
        plugin, _ = with_moves(make_plugin, threads="many")
        plugin.append_messages(ANONYMOUS, "thread-1", [ask("1")], key="k")
        plugin.append_messages(ANONYMOUS, "thread-2", [ask("2")])
        plugin.append_messages(OWNER, "thread-2", [ask("own")])
        if isinstance(plugin, DescribesThreads):
            plugin.update_thread(ANONYMOUS, "thread-1", title="the title")
        assert plugin.move_threads(ANONYMOUS, OWNER, reseal=self.relabel) == 0
        assert texts(plugin.load_messages(OWNER, "thread-1")) == ["question 1, from thread-1 to thread-1"]
        expected = ["question own", "question 2, from thread-2 to thread-2"]
        assert texts(plugin.load_messages(OWNER, "thread-2")) == expected
        if isinstance(plugin, DescribesThreads):
            found = plugin.find_thread(OWNER, "thread-1")
            assert found
            assert found.title == "the title of thread-1"
        again = plugin.append_messages(OWNER, "thread-1", [ask("1")], key="k")
        assert again == Appended("thread-1", 1, repeated=True)

    def test_what_joins_another_thread_can_be_made_fit_it(self, make_plugin: MakePlugin) -> None:
        plugin, _ = with_moves(make_plugin, threads="one")
        plugin.append_messages(ANONYMOUS, THREAD, [ask("1")])
        plugin.append_messages(OWNER, "thread-2", [ask("2")])
        for _ in range(2):
            assert plugin.move_threads(ANONYMOUS, OWNER, reseal=self.relabel) == 0
            expected = ["question 2", f"question 1, from {THREAD} to thread-2"]
            assert texts(plugin.load_messages(OWNER, "thread-2")) == expected

    def test_what_cannot_be_made_fit_stays(self, make_plugin: MakePlugin) -> None:
        class Refuses(Relabel):
            def messages(self, old: str, new: str, messages: cabc.Iterable[ChatMessage]) -> list[ChatMessage]:
                raise CorruptRecord("it cannot be read")

        plugin, _ = with_moves(make_plugin)
        plugin.append_messages(ANONYMOUS, THREAD, exchange("1"))
        before = contents(plugin, ANONYMOUS)
        for _ in range(2):
            with pytest.raises(CorruptRecord):
                plugin.move_threads(ANONYMOUS, OWNER, reseal=Refuses())
            assert contents(plugin, ANONYMOUS) == before
            assert not plugin.has_thread(OWNER, THREAD)

    def test_nothing_to_move_makes_nothing(self, make_plugin: MakePlugin) -> None:
        plugin, _ = with_moves(make_plugin)
        plugin.append_messages(OWNER, THREAD, exchange("1"))
        before = contents(plugin, OWNER)
        assert plugin.move_threads(ANONYMOUS, OWNER) == 0
        assert contents(plugin, OWNER) == before

    def test_the_threads_of_others_stay(self, make_plugin: MakePlugin) -> None:
        plugin, _ = with_moves(make_plugin)
        for scope in OTHERS:
            plugin.append_messages(scope, THREAD, exchange("other"))
        plugin.append_messages(ANONYMOUS, THREAD, exchange("1"))
        before = [contents(plugin, scope) for scope in OTHERS]
        plugin.move_threads(ANONYMOUS, OWNER)
        assert [contents(plugin, scope) for scope in OTHERS] == before

    def test_an_expired_thread_does_not_move(self, make_plugin: MakePlugin) -> None:
        plugin, clock = with_moves(make_plugin, threads="many", expiry=EXPIRY)
        plugin.append_messages(ANONYMOUS, "thread-1", exchange("1"))
        clock.advance(EXPIRY + 1)
        plugin.append_messages(ANONYMOUS, "thread-2", exchange("2"))
        assert plugin.move_threads(ANONYMOUS, OWNER) == 0
        assert not plugin.has_thread(OWNER, "thread-1")
        assert plugin.has_thread(OWNER, "thread-2")

    def test_an_expired_conversation_of_the_new_owner_counts_as_none(self, make_plugin: MakePlugin) -> None:
        plugin, clock = with_moves(make_plugin, threads="one", expiry=EXPIRY)
        plugin.append_messages(OWNER, "thread-2", exchange("2"))
        clock.advance(EXPIRY + 1)
        plugin.append_messages(ANONYMOUS, THREAD, exchange("1"))
        plugin.move_threads(ANONYMOUS, OWNER)
        assert_same(plugin.load_messages(OWNER, THREAD), exchange("1"))
        if isinstance(plugin, CurrentThread):
            assert plugin.current_thread(OWNER) == THREAD

    def test_the_cap_on_threads_holds_after_a_move(self, make_plugin: MakePlugin) -> None:
        plugin, clock = with_moves(make_plugin, threads="many", max_threads=2)
        for scope, name in ((OWNER, "1"), (OWNER, "2"), (ANONYMOUS, "3")):
            plugin.append_messages(scope, f"thread-{name}", exchange(name))
            clock.advance(1)
        plugin.move_threads(ANONYMOUS, OWNER)
        assert [n for n in range(1, 4) if plugin.has_thread(OWNER, f"thread-{n}")] == [2, 3]

    def test_threads_with_the_same_id_are_not_lost(self, make_plugin: MakePlugin) -> None:
        plugin, _ = with_moves(make_plugin, threads="many")
        plugin.append_messages(ANONYMOUS, THREAD, [ChatMessage("user", "of the visitor")])
        plugin.append_messages(OWNER, THREAD, [ChatMessage("user", "of the user")])
        assert plugin.move_threads(ANONYMOUS, OWNER) == 0
        assert texts(plugin.load_messages(OWNER, THREAD)) == ["of the user", "of the visitor"]
        assert not plugin.has_thread(ANONYMOUS, THREAD)
