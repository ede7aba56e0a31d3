"""Turns that are being answered."""

from __future__ import annotations

import dataclasses
import typing as t

import pytest

from ...plugins.abilities import CurrentThread
from ...plugins.abilities import DescribesThreads
from ...plugins.abilities import KeepsLiveTurns
from ...plugins.records import Appended
from ...plugins.records import LiveTurn
from ...plugins.records import Renewal
from ...plugins.records import Scope
from ..clock import ManualClock
from .appending import NO_MESSAGE
from .appending import REFUSED
from .expiry import EXPIRY
from .expiry import with_clock
from .parts import able
from .parts import AblePlugin
from .parts import answer
from .parts import ask
from .parts import contents
from .parts import exchange
from .parts import MakePlugin
from .parts import OWNER
from .parts import STRANGER
from .parts import texts
from .parts import THREAD
from .parts import together
from .parts import UNKNOWN
from .scopes import check_confined
from .scopes import INTRUDERS
from .scopes import Operation

LEASE = 30.0


def record(plugin: AblePlugin, name: str, lease: float = LEASE) -> LiveTurn:
    """Return the live record of the turn ``name``, with a lease of so many seconds from now."""
    return LiveTurn(name, f"q-{name}", f"a-{name}", plugin.clock() + lease)


def start(plugin: AblePlugin, name: str, scope: Scope = OWNER, thread_id: str = THREAD) -> Appended:
    live = record(plugin, name)
    return plugin.start_turn(scope, thread_id, ask(name), key=f"question:{name}", live=live)


def end(plugin: AblePlugin, name: str, scope: Scope = OWNER, thread_id: str = THREAD) -> Appended | None:
    return plugin.end_turn(scope, thread_id, name, [answer(name)], key=f"answer:{name}", reply_to=f"q-{name}")


OPERATIONS: dict[str, Operation] = {
    "start": lambda plugin, scope, id: start(plugin, "3", scope, id),
    "start a known key": lambda plugin, scope, id: start(plugin, "1", scope, id),
    "renew": lambda plugin, scope, id: plugin.renew_turns([Renewal(scope, id, "2")], plugin.clock() + 900),
    "tell of": lambda plugin, scope, id: plugin.renew_turns([Renewal(scope, id, "2", "forged")], plugin.clock() + 900),
    "stop": lambda plugin, scope, id: plugin.stop_turn(scope, id, "2"),
    "end": lambda plugin, scope, id: end(plugin, "2", scope, id),
    "live": lambda plugin, scope, id: plugin.live_turns(scope, id),
}
REMOVALS: dict[str, Operation] = {
    "delete": lambda plugin, scope, id: plugin.delete_thread(scope, id),
    "clear": lambda plugin, scope, id: plugin.clear_messages(scope, id),
}


def with_live_turns(make_plugin: MakePlugin, **options: t.Any) -> tuple[AblePlugin, ManualClock]:
    plugin, clock = with_clock(make_plugin, **options)
    return able(plugin, KeepsLiveTurns), clock


class LiveTurnsContract:
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
        assert start(plugin, "1", thread_id="thread-2") == Appended(THREAD, 3)
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

    def test_a_renewed_lease_lasts_longer(self, make_plugin: MakePlugin) -> None:
        plugin, clock = with_live_turns(make_plugin, threads="many")
        start(plugin, "1")
        start(plugin, "2", thread_id="thread-2")
        start(plugin, "3", STRANGER)
        turns = [(OWNER, THREAD, "1"), (STRANGER, THREAD, "3"), (OWNER, UNKNOWN, "1"), (STRANGER, THREAD, "1")]
        plugin.renew_turns([Renewal(*turn) for turn in turns], clock() + 99)
        assert plugin.live_turns(OWNER, THREAD) == [record(plugin, "1", 99)]
        assert plugin.live_turns(OWNER, "thread-2") == [record(plugin, "2")]
        assert plugin.live_turns(STRANGER, THREAD) == [record(plugin, "3", 99)]
        assert plugin.live_turns(OWNER, UNKNOWN) == []

    def test_renewing_passes_over_what_has_ended(self, make_plugin: MakePlugin) -> None:
        plugin, clock = with_live_turns(make_plugin)
        start(plugin, "1")
        end(plugin, "1")
        before = contents(plugin, OWNER)
        plugin.renew_turns([Renewal(OWNER, THREAD, "1")], clock() + LEASE)
        plugin.renew_turns([], clock() + LEASE)
        assert contents(plugin, OWNER) == before

    def test_what_a_turn_has_told_so_far_is_kept(self, make_plugin: MakePlugin) -> None:
        plugin, clock = with_live_turns(make_plugin)
        for name in ("1", "2"):
            start(plugin, name)
        far = 'a "line"\n' * 9000
        for text, told in [("as far", "as far"), (None, "as far"), ("as far as this 你好 🙂", None), (far, None)]:
            plugin.renew_turns([Renewal(OWNER, THREAD, "1", text), Renewal(OWNER, THREAD, "2")], clock() + LEASE)
            expected = dataclasses.replace(record(plugin, "1"), text=told or text or "")
            assert plugin.live_turns(OWNER, THREAD) == [expected, record(plugin, "2")]
        plugin.append_messages(OWNER, THREAD, exchange("3"))
        assert plugin.live_turns(OWNER, THREAD)[0].text == far
        assert texts(plugin.load_messages(OWNER, THREAD)) == ["question 1", "question 2", "question 3", "answer 3"]
        clock.advance(LEASE + 1)
        assert [live.text for live in plugin.live_turns(OWNER, THREAD)] == [far, ""]
        end(plugin, "1")
        assert [live.text for live in plugin.live_turns(OWNER, THREAD)] == [""]

    def test_the_wish_to_stop_reaches_whoever_renews_the_turn(self, make_plugin: MakePlugin) -> None:
        plugin, clock = with_live_turns(make_plugin, threads="many")
        start(plugin, "1")
        start(plugin, "2")
        start(plugin, "3", thread_id="thread-2")
        turns = [Renewal(OWNER, THREAD, "1", "so far"), Renewal(OWNER, THREAD, "2"), Renewal(OWNER, "thread-2", "3")]
        assert plugin.renew_turns(turns, clock() + LEASE) == set()
        for _ in range(2):
            assert plugin.stop_turn(OWNER, THREAD, "1") is True
            assert [live.stop_wanted for live in plugin.live_turns(OWNER, THREAD)] == [True, False]
            assert plugin.renew_turns(turns[:1], clock() + LEASE) == {"1"}
            assert plugin.renew_turns(turns, clock() + LEASE) == {"1"}
        assert plugin.live_turns(OWNER, THREAD)[0].text == "so far"
        assert plugin.renew_turns(turns[1:], clock() + LEASE) == set()
        end(plugin, "1")
        assert plugin.renew_turns(turns, clock() + LEASE) == {"1"}

    def test_many_turns_are_renewed_at_once(self, make_plugin: MakePlugin) -> None:
        plugin, clock = with_live_turns(make_plugin, threads="many")
        names = [str(number) for number in range(40)]
        for name in names:
            start(plugin, name)
        for name in names[::13]:
            plugin.stop_turn(OWNER, THREAD, name)
        turns = [Renewal(OWNER, THREAD, name, f"text {name}") for name in names]
        assert plugin.renew_turns(turns, clock() + 99) == {"0", "13", "26", "39"}
        expected = [dataclasses.replace(record(plugin, name, 99), text=f"text {name}") for name in names]
        found = [dataclasses.replace(live, stop_wanted=False) for live in plugin.live_turns(OWNER, THREAD)]
        assert found == expected

    @pytest.mark.parametrize("ending", [*REMOVALS, "end", "expire"])
    def test_a_turn_that_is_over_cannot_be_stopped(self, make_plugin: MakePlugin, ending: str) -> None:
        plugin, clock = with_live_turns(make_plugin, expiry=EXPIRY)
        start(plugin, "1")
        if ending == "end":
            end(plugin, "1")
        elif ending == "expire":
            clock.advance(EXPIRY + LEASE + 1)
        else:
            REMOVALS[ending](plugin, OWNER, THREAD)
        before = contents(plugin, OWNER)
        assert plugin.stop_turn(OWNER, THREAD, "1") is False
        assert plugin.stop_turn(OWNER, UNKNOWN, "1") is False
        assert plugin.stop_turn(OWNER, "", "1") is False
        assert contents(plugin, OWNER) == before

    def test_to_tell_and_to_stop_is_no_activity(self, make_plugin: MakePlugin) -> None:
        plugin, clock = with_live_turns(make_plugin)
        if not isinstance(plugin, DescribesThreads):
            pytest.skip("the plugin describes no threads")
        start(plugin, "1")
        before = plugin.find_thread(OWNER, THREAD)
        clock.advance(5)
        plugin.renew_turns([Renewal(OWNER, THREAD, "1", "so far")], clock() + LEASE)
        plugin.stop_turn(OWNER, THREAD, "1")
        assert plugin.find_thread(OWNER, THREAD) == before

    def test_a_dead_turn_is_told_of_until_somebody_ends_it(self, make_plugin: MakePlugin) -> None:
        plugin, clock = with_live_turns(make_plugin)
        start(plugin, "1")
        clock.advance(LEASE + 1)
        assert [live.lease < clock() for live in plugin.live_turns(OWNER, THREAD)] == [True]
        assert end(plugin, "1") == Appended(THREAD, 2)
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
