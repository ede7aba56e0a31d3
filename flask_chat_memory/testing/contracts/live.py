"""Turns that are being answered."""

from __future__ import annotations

import pytest

from ...plugins.abilities import CurrentThread
from ...plugins.abilities import DescribesThreads
from ...plugins.records import Appended
from ...plugins.records import Renewal
from ...plugins.records import Scope
from .appending import NO_MESSAGE
from .appending import REFUSED
from .expiry import EXPIRY
from .parts import answer
from .parts import ask
from .parts import contents
from .parts import exchange
from .parts import MakePlugin
from .parts import OWNER
from .parts import texts
from .parts import THREAD
from .parts import together
from .parts import UNKNOWN
from .renewing import RenewingContract
from .scopes import check_confined
from .scopes import INTRUDERS
from .scopes import Operation
from .turns import end
from .turns import LEASE
from .turns import record
from .turns import REMOVALS
from .turns import start
from .turns import with_live_turns

OPERATIONS: dict[str, Operation] = {
    "start": lambda plugin, scope, id: start(plugin, "3", scope, id),
    "start a known key": lambda plugin, scope, id: start(plugin, "1", scope, id),
    "renew": lambda plugin, scope, id: plugin.renew_turns([Renewal(scope, id, "2")], plugin.clock() + 900),
    "tell of": lambda plugin, scope, id: plugin.renew_turns([Renewal(scope, id, "2", "forged")], plugin.clock() + 900),
    "stop": lambda plugin, scope, id: plugin.stop_turn(scope, id, "2"),
    "end": lambda plugin, scope, id: end(plugin, "2", scope, id),
    "live": lambda plugin, scope, id: plugin.live_turns(scope, id),
}


class LiveTurnsContract(RenewingContract):
    """The ability :class:`KeepsLiveTurns`."""

    def test_a_turn_lives_from_its_question_to_its_answer(self, make_plugin: MakePlugin) -> None:
        plugin, _ = with_live_turns(make_plugin)
        assert plugin.live_turns(OWNER, THREAD) == []
        assert start(plugin, "1") == Appended(THREAD, 1)
        assert plugin.live_turns(OWNER, THREAD) == [record(plugin, "1")]
        assert texts(plugin.load_messages(OWNER, THREAD)) == ["question 1"]
        assert end(plugin, "1") == Appended(THREAD, 2)
        assert plugin.live_turns(OWNER, THREAD) == []
        assert texts(plugin.load_messages(OWNER, THREAD)) == ["question 1", "answer 1"]

    def test_turns_overlap_and_come_in_the_order_of_their_questions(self, make_plugin: MakePlugin) -> None:
        plugin, _ = with_live_turns(make_plugin)
        for name in ("z", "a", "m"):
            start(plugin, name)
        assert [live.turn for live in plugin.live_turns(OWNER, THREAD)] == ["z", "a", "m"]
        end(plugin, "a")
        assert [live.turn for live in plugin.live_turns(OWNER, THREAD)] == ["z", "m"]
        assert texts(plugin.load_messages(OWNER, THREAD)) == ["question z", "question a", "question m", "answer a"]

    def test_the_retry_of_a_question_starts_nothing(self, make_plugin: MakePlugin) -> None:
        plugin, clock = with_live_turns(make_plugin)
        start(plugin, "1")
        before = contents(plugin, OWNER)
        clock.advance(5)
        other = record(plugin, "other")
        repeated = plugin.start_turn(OWNER, THREAD, ask("other"), key="question:1", live=other)
        assert repeated == Appended(THREAD, 1, repeated=True)
        assert contents(plugin, OWNER) == before
        end(plugin, "1")
        assert start(plugin, "1").repeated
        assert plugin.live_turns(OWNER, THREAD) == []

    def test_who_ends_a_turn_first_wins(self, make_plugin: MakePlugin) -> None:
        plugin, _ = with_live_turns(make_plugin)
        start(plugin, "1")
        assert end(plugin, "1") == Appended(THREAD, 2)
        late = answer("1", status="partial")
        again = plugin.end_turn(OWNER, THREAD, "1", [late], key="answer:1", reply_to="q-1")
        assert again == Appended(THREAD, 2, repeated=True)
        assert [message.status for message in plugin.load_messages(OWNER, THREAD)] == [None, "complete"]

    def test_many_who_end_a_turn_at_once_store_one_answer(self, make_plugin: MakePlugin) -> None:
        plugin, _ = with_live_turns(make_plugin)
        start(plugin, "1")
        ended = together([lambda: end(plugin, "1")] * 8)
        assert sorted(batch.repeated for batch in ended if batch) == [False] + [True] * 7
        assert texts(plugin.load_messages(OWNER, THREAD)) == ["question 1", "answer 1"]

    @pytest.mark.parametrize("removal", REMOVALS)
    def test_a_turn_ends_without_a_trace_once_its_question_is_gone(self, make_plugin: MakePlugin, removal: str) -> None:
        plugin, clock = with_live_turns(make_plugin)
        start(plugin, "1")
        REMOVALS[removal](plugin, OWNER, THREAD)
        before = contents(plugin, OWNER)
        assert before["live"] == []
        plugin.renew_turns([Renewal(OWNER, THREAD, "1")], clock() + LEASE)
        assert end(plugin, "1") is None
        assert contents(plugin, OWNER) == before

    def test_a_turn_ends_in_the_thread_that_its_answer_goes_to(self, make_plugin: MakePlugin) -> None:
        plugin, _ = with_live_turns(make_plugin, threads="one")
        if not isinstance(plugin, CurrentThread):
            pytest.skip("the plugin finds no current thread")
        plugin.append_messages(OWNER, THREAD, exchange("0"))
        assert start(plugin, "1", thread_id="thread-2", title="of no thread") == Appended(THREAD, 3)
        assert getattr(contents(plugin, OWNER).get("described"), "title", None) is None
        assert plugin.live_turns(OWNER, THREAD) == [record(plugin, "1")]
        assert end(plugin, "1", thread_id="thread-2") == Appended(THREAD, 4)
        assert plugin.live_turns(OWNER, THREAD) == []

    def test_an_answer_that_cannot_be_stored_leaves_the_turn_running(self, make_plugin: MakePlugin) -> None:
        plugin, _ = with_live_turns(make_plugin)
        start(plugin, "1")
        before = contents(plugin, OWNER)
        with pytest.raises(REFUSED):
            plugin.end_turn(OWNER, THREAD, "1", [answer("1"), NO_MESSAGE], key="answer:1", reply_to="q-1")
        assert contents(plugin, OWNER) == before
        assert end(plugin, "1") == Appended(THREAD, 2)

    def test_a_question_that_cannot_be_stored_starts_no_turn(self, make_plugin: MakePlugin) -> None:
        plugin, _ = with_live_turns(make_plugin)
        with pytest.raises(REFUSED):
            plugin.start_turn(OWNER, THREAD, NO_MESSAGE, key="question:1", live=record(plugin, "1"))
        assert contents(plugin, OWNER) == contents(plugin, OWNER, UNKNOWN)

    def test_a_question_that_makes_a_thread_gives_it_a_title(self, make_plugin: MakePlugin) -> None:
        plugin, clock = with_live_turns(make_plugin, threads="many", expiry=EXPIRY)
        assert start(plugin, "1", title=" Größe 漢字 😀 ") == Appended(THREAD, 1)
        plugin.save_messages(OWNER, "thread-2", [])
        start(plugin, "2", thread_id="thread-2", title="of a thread that was there")
        if not isinstance(plugin, DescribesThreads):
            pytest.skip("the plugin describes no threads")
        for name in ("1", "2"):
            start(plugin, name, title="later")
            found = plugin.find_thread(OWNER, THREAD)
            assert found
            assert found.title == "Größe 漢字 😀"
        found = plugin.find_thread(OWNER, "thread-2")
        assert found
        assert found.title is None
        clock.advance(EXPIRY + LEASE + 1)
        start(plugin, "1", title="anew")
        found = plugin.find_thread(OWNER, THREAD)
        assert found
        assert found.title == "anew"

    def test_a_title_that_is_too_long_starts_no_turn(self, make_plugin: MakePlugin) -> None:
        plugin, _ = with_live_turns(make_plugin)
        with pytest.raises(ValueError, match="characters"):
            start(plugin, "1", title="x" * 201)
        assert contents(plugin, OWNER) == contents(plugin, OWNER, UNKNOWN)
        assert start(plugin, "1", title="😀" * 200) == Appended(THREAD, 1)

    def test_a_turn_for_another_thread_neither_starts_nor_ends(self, make_plugin: MakePlugin) -> None:
        plugin, _ = with_live_turns(make_plugin)
        live = record(plugin, "1")
        started = plugin.start_turn(OWNER, THREAD, ask("1"), key="question:1", live=live, only_into="thread-2")
        assert started == Appended(THREAD, 0)
        assert not plugin.has_thread(OWNER, THREAD)
        start(plugin, "1")
        before = contents(plugin, OWNER)
        ended = plugin.end_turn(OWNER, THREAD, "1", [answer("1")], key="answer:1", reply_to="q-1", only_into="thread-2")
        assert ended == Appended(THREAD, 0)
        assert contents(plugin, OWNER) == before
        ended = plugin.end_turn(OWNER, THREAD, "1", [answer("1")], key="answer:1", reply_to="q-1", only_into=THREAD)
        assert ended == Appended(THREAD, 2)
        assert plugin.live_turns(OWNER, THREAD) == []

    def test_a_thread_with_a_running_turn_does_not_expire(self, make_plugin: MakePlugin) -> None:
        plugin, clock = with_live_turns(make_plugin, expiry=EXPIRY)
        start(plugin, "1")
        plugin.renew_turns([Renewal(OWNER, THREAD, "1")], clock() + 1000)
        clock.advance(999)
        assert plugin.has_thread(OWNER, THREAD)
        assert texts(plugin.load_messages(OWNER, THREAD)) == ["question 1"]
        assert contents(plugin, OWNER).get("current") in (THREAD, None)
        assert start(plugin, "1").repeated
        assert end(plugin, "1") == Appended(THREAD, 2)
        clock.advance(EXPIRY + 1)
        assert not plugin.has_thread(OWNER, THREAD)

    def test_an_expired_thread_has_no_turns_and_none_brings_it_back(self, make_plugin: MakePlugin) -> None:
        plugin, clock = with_live_turns(make_plugin, expiry=EXPIRY)
        start(plugin, "1")
        clock.advance(EXPIRY + 1)
        assert not plugin.has_thread(OWNER, THREAD)
        assert plugin.live_turns(OWNER, THREAD) == []
        plugin.renew_turns([Renewal(OWNER, THREAD, "1")], clock() + LEASE)
        assert not plugin.has_thread(OWNER, THREAD)
        assert end(plugin, "1") is None
        assert not plugin.has_thread(OWNER, THREAD)

    def test_a_turn_in_an_expired_thread_starts_it_anew(self, make_plugin: MakePlugin) -> None:
        plugin, clock = with_live_turns(make_plugin, expiry=EXPIRY)
        start(plugin, "1")
        clock.advance(EXPIRY + 1)
        assert not start(plugin, "1").repeated
        assert texts(plugin.load_messages(OWNER, THREAD)) == ["question 1"]
        assert plugin.live_turns(OWNER, THREAD) == [record(plugin, "1")]

    def test_the_cap_on_messages_spares_a_running_turn(self, make_plugin: MakePlugin) -> None:
        plugin, _ = with_live_turns(make_plugin, max_messages=2)
        plugin.append_messages(OWNER, THREAD, exchange("0"))
        start(plugin, "1")
        for name in ("2", "3"):
            plugin.append_messages(OWNER, THREAD, exchange(name))
        assert texts(plugin.load_messages(OWNER, THREAD))[0] == "question 1"
        assert end(plugin, "1") is not None
        plugin.append_messages(OWNER, THREAD, exchange("4"))
        assert texts(plugin.load_messages(OWNER, THREAD)) == ["question 4", "answer 4"]

    def test_the_cap_on_messages_spares_a_turn_that_ends(self, make_plugin: MakePlugin) -> None:
        plugin, _ = with_live_turns(make_plugin, max_messages=2)
        for name in ("1", "2"):
            start(plugin, name)
        end(plugin, "2")
        end(plugin, "1")
        expected = ["question 1", "question 2", "answer 2", "answer 1"]
        assert texts(plugin.load_messages(OWNER, THREAD)) == expected

    def test_the_cap_on_threads_spares_a_running_turn(self, make_plugin: MakePlugin) -> None:
        plugin, clock = with_live_turns(make_plugin, threads="many", max_threads=2)
        start(plugin, "1", thread_id="thread-1")
        for name in ("2", "3"):
            clock.advance(1)
            plugin.append_messages(OWNER, f"thread-{name}", exchange(name))
        assert [n for n in range(1, 4) if plugin.has_thread(OWNER, f"thread-{n}")] == [1, 3]

    @pytest.mark.parametrize("intruder", INTRUDERS, ids=["other owner", "other chatbot"])
    @pytest.mark.parametrize("operation", OPERATIONS)
    def test_turns_of_somebody_else_are_like_unknown_ones(
        self, make_plugin: MakePlugin, intruder: Scope, operation: str
    ) -> None:
        check_confined(make_plugin, intruder, OPERATIONS[operation])
