"""Several lines of a thread, of which one is seen."""

from __future__ import annotations

import collections.abc as cabc
import functools
import itertools
import typing as t

import pytest

from ...plugins.abilities import CurrentThread
from ...plugins.abilities import DescribesThreads
from ...plugins.abilities import HidesMessages
from ...plugins.abilities import MovesThreads
from ...plugins.lines import Lines
from ...plugins.records import Appended
from ...plugins.records import Scope
from .expiry import EXPIRY
from .listing import with_ability
from .parts import AblePlugin
from .parts import answer
from .parts import ask
from .parts import contents
from .parts import exchange
from .parts import keeps_live_turns
from .parts import MakePlugin
from .parts import OWNER
from .parts import sequences
from .parts import STRANGER
from .parts import texts
from .parts import THREAD
from .parts import together
from .parts import UNKNOWN
from .scopes import check_confined
from .scopes import INTRUDERS
from .scopes import Operation
from .turns import end
from .turns import LEASE
from .turns import record
from .turns import start

REMOVALS: dict[str, Operation] = {
    "delete": lambda plugin, scope, id: plugin.delete_thread(scope, id),
    "clear": lambda plugin, scope, id: plugin.clear_messages(scope, id),
    "save": lambda plugin, scope, id: plugin.save_messages(scope, id, []),
    "expire": lambda plugin, scope, id: plugin.clock.advance(EXPIRY + 1),  # type: ignore[attr-defined]
}


def hide(plugin: AblePlugin, *hidden: int, scope: Scope = OWNER, thread_id: str = THREAD) -> bool:
    return plugin.change_lines(scope, thread_id, lambda lines, last: lines.without(hidden, last))


def replace(plugin: AblePlugin, sequence: int, scope: Scope = OWNER, thread_id: str = THREAD) -> bool:
    """Begin a new line in the place of a question, without asking another one."""
    return plugin.change_lines(scope, thread_id, lambda lines, last: lines.replaced(sequence, last))


def show(plugin: AblePlugin, sequence: int, scope: Scope = OWNER, thread_id: str = THREAD) -> bool:
    return plugin.change_lines(scope, thread_id, lambda lines, last: lines.shown(sequence, last))


OPERATIONS: dict[str, Operation] = {
    "load all": lambda plugin, scope, id: plugin.load_messages(scope, id, hidden=True),
    "find": lambda plugin, scope, id: plugin.find_lines(scope, id),
    "change": lambda plugin, scope, id: replace(plugin, 1, scope, id),
}


def with_turns(make_plugin: MakePlugin, **options: t.Any) -> AblePlugin:
    plugin, _ = with_ability(make_plugin, HidesMessages, **options)
    if not keeps_live_turns(plugin):
        pytest.skip("the plugin keeps no live turns")
    return plugin


class HidesMessagesContract:
    """The ability :class:`HidesMessages`."""

    def test_what_is_hidden_is_left_out_of_every_range(self, make_plugin: MakePlugin) -> None:
        plugin, _ = with_ability(make_plugin, HidesMessages)
        plugin.append_messages(OWNER, THREAD, [*itertools.chain(*(exchange(str(n)) for n in range(10)))])
        gone = [1, 4, 7, 8, 9, 10, 11, 12, 18, 20]
        assert hide(plugin, *gone)
        seen = [sequence for sequence in range(1, 21) if sequence not in gone]
        for place, limit in itertools.product((0, 3, 4, 9, 13, 21), (None, 0, 1, 2, 5, 50)):
            earlier = [sequence for sequence in seen if sequence < place]
            later = [sequence for sequence in seen if sequence > place]
            loaded = plugin.load_messages(OWNER, THREAD, before=place, limit=limit)
            assert sequences(loaded) == (earlier if limit is None else earlier[max(0, len(earlier) - limit) :])
            loaded = plugin.load_messages(OWNER, THREAD, after=place, limit=limit)
            assert sequences(loaded) == later[:limit]
        assert sequences(plugin.load_messages(OWNER, THREAD, limit=5)) == seen[-5:]
        if isinstance(plugin, CurrentThread):
            thread_id, loaded = plugin.load_current(OWNER, limit=5)
            assert (thread_id, sequences(loaded)) == (THREAD, seen[-5:])
            assert sequences(plugin.load_current(OWNER)[1]) == seen
        assert sequences(plugin.load_messages(OWNER, THREAD, hidden=True)) == list(range(1, 21))
        assert sequences(plugin.load_messages(OWNER, THREAD, hidden=True, limit=3, before=11)) == [8, 9, 10]

    def test_an_older_line_can_be_gone_back_to(self, make_plugin: MakePlugin) -> None:
        plugin, _ = with_ability(make_plugin, HidesMessages)
        assert plugin.find_lines(OWNER, THREAD) == Lines()
        plugin.append_messages(OWNER, THREAD, [*exchange("1"), *exchange("2")])
        assert replace(plugin, 3)
        assert plugin.find_lines(OWNER, THREAD) == Lines().replaced(3, 4)
        assert texts(plugin.load_messages(OWNER, THREAD)) == ["question 1", "answer 1"]
        plugin.append_messages(OWNER, THREAD, exchange("3"))
        assert texts(plugin.load_messages(OWNER, THREAD))[2:] == ["question 3", "answer 3"]
        assert show(plugin, 4)
        plugin.append_messages(OWNER, THREAD, exchange("4"))
        assert texts(plugin.load_messages(OWNER, THREAD))[2:] == ["question 2", "answer 2", "question 4", "answer 4"]
        assert show(plugin, 5)
        assert texts(plugin.load_messages(OWNER, THREAD))[2:] == ["question 3", "answer 3"]
        assert sequences(plugin.load_messages(OWNER, THREAD, hidden=True)) == list(range(1, 9))

    def test_a_change_that_changes_nothing_says_so(self, make_plugin: MakePlugin) -> None:
        plugin, _ = with_ability(make_plugin, HidesMessages)
        plugin.append_messages(OWNER, THREAD, exchange("1"))
        replace(plugin, 1)
        before = contents(plugin, OWNER)
        assert plugin.change_lines(OWNER, THREAD, lambda lines, last: None) is False
        assert plugin.change_lines(OWNER, THREAD, lambda lines, last: lines) is False
        assert replace(plugin, 1, thread_id=UNKNOWN) is False
        with pytest.raises(ZeroDivisionError):
            plugin.change_lines(OWNER, THREAD, lambda lines, last: Lines() if 1 // 0 else None)
        assert contents(plugin, OWNER) == before
        assert not plugin.has_thread(OWNER, UNKNOWN)

    def test_a_change_is_no_activity_of_the_thread(self, make_plugin: MakePlugin) -> None:
        plugin, clock = with_ability(make_plugin, HidesMessages, expiry=EXPIRY)
        plugin.append_messages(OWNER, THREAD, exchange("1"))
        before = plugin.find_thread(OWNER, THREAD) if isinstance(plugin, DescribesThreads) else None
        clock.advance(EXPIRY)
        assert replace(plugin, 1)
        if isinstance(plugin, DescribesThreads):
            assert plugin.find_thread(OWNER, THREAD) == before
        clock.advance(1)
        assert not plugin.has_thread(OWNER, THREAD)
        assert show(plugin, 1) is False

    def test_an_answer_is_stored_in_the_line_of_its_question(self, make_plugin: MakePlugin) -> None:
        plugin, _ = with_ability(make_plugin, HidesMessages)
        plugin.append_messages(OWNER, THREAD, [ask("1")])
        replace(plugin, 1)
        plugin.append_messages(OWNER, THREAD, [ask("2")])
        for name in ("1", "2"):
            plugin.append_messages(OWNER, THREAD, [answer(name)], key=f"answer:{name}", reply_to=f"q-{name}")
        assert texts(plugin.load_messages(OWNER, THREAD)) == ["question 2", "answer 2"]
        show(plugin, 1)
        assert texts(plugin.load_messages(OWNER, THREAD)) == ["question 1", "answer 1"]

    def test_a_question_asked_in_the_place_of_one_that_is_being_answered(self, make_plugin: MakePlugin) -> None:
        plugin = with_turns(make_plugin)
        plugin.append_messages(OWNER, THREAD, exchange("1"))
        start(plugin, "2")
        assert start(plugin, "3", replaces=3) == Appended(THREAD, 4)
        assert texts(plugin.load_messages(OWNER, THREAD))[2:] == ["question 3"]
        assert [live.turn for live in plugin.live_turns(OWNER, THREAD)] == ["2", "3"]
        assert end(plugin, "2") == Appended(THREAD, 5)
        assert texts(plugin.load_messages(OWNER, THREAD))[2:] == ["question 3"]
        assert end(plugin, "3") == Appended(THREAD, 6)
        assert texts(plugin.load_messages(OWNER, THREAD))[2:] == ["question 3", "answer 3"]
        show(plugin, 3)
        assert texts(plugin.load_messages(OWNER, THREAD))[2:] == ["question 2", "answer 2"]

    def test_what_stays_where_a_question_is_replaced(self, make_plugin: MakePlugin) -> None:
        plugin = with_turns(make_plugin)
        for name in ("1", "2"):
            start(plugin, name)
        for name in ("2", "1"):
            end(plugin, name)
        assert start(plugin, "3", replaces=2, kept=[4]) == Appended(THREAD, 5)
        assert sequences(plugin.load_messages(OWNER, THREAD)) == [1, 4, 5]
        assert start(plugin, "4", replaces=5, kept=[1, 3, 6, 99]) == Appended(THREAD, 6)
        assert sequences(plugin.load_messages(OWNER, THREAD)) == [1, 4, 6]

    def test_a_question_in_the_place_of_one_that_is_not_seen_is_not_stored(self, make_plugin: MakePlugin) -> None:
        plugin = with_turns(make_plugin, expiry=EXPIRY)
        plugin.append_messages(OWNER, THREAD, [*exchange("1"), *exchange("2")])
        plugin.append_messages(OWNER, "thread-2", [*exchange("1"), *exchange("2"), *exchange("3")])
        assert start(plugin, "4", replaces=3) == Appended(THREAD, 5)
        before = contents(plugin, OWNER)
        for sequence in (3, 4, 6, 99, 0, -1):
            assert start(plugin, "5", replaces=sequence) == Appended(THREAD, 0)
        assert contents(plugin, OWNER) == before
        assert start(plugin, "4", replaces=3) == Appended(THREAD, 5, repeated=True)
        assert contents(plugin, OWNER) == before
        assert start(plugin, "5", thread_id=UNKNOWN, replaces=1) == Appended(UNKNOWN, 0)
        assert not plugin.has_thread(OWNER, UNKNOWN)
        plugin.clock.advance(EXPIRY + LEASE + 1)  # type: ignore[attr-defined]
        assert start(plugin, "5", replaces=1) == Appended(THREAD, 0)
        assert not plugin.has_thread(OWNER, THREAD)

    def test_a_question_in_the_place_of_another_stays_in_the_named_thread(self, make_plugin: MakePlugin) -> None:
        plugin = with_turns(make_plugin, threads="one")
        plugin.append_messages(OWNER, THREAD, exchange("1"))
        before = contents(plugin, OWNER)
        assert start(plugin, "2", thread_id="thread-2", replaces=1) == Appended("thread-2", 0)
        assert contents(plugin, OWNER) == before
        live = record(plugin, "2")
        elsewhere = plugin.start_turn(
            OWNER, THREAD, ask("2"), key="question:2", live=live, replaces=1, only_into="thread-2"
        )
        assert elsewhere == Appended(THREAD, 0)
        assert contents(plugin, OWNER) == before

    @pytest.mark.parametrize("removal", REMOVALS)
    def test_all_lines_go_with_the_messages(self, make_plugin: MakePlugin, removal: str) -> None:
        plugin, _ = with_ability(make_plugin, HidesMessages, expiry=EXPIRY)
        plugin.append_messages(OWNER, THREAD, [*exchange("1"), *exchange("2")])
        replace(plugin, 3)
        hide(plugin, 1, 2)
        REMOVALS[removal](plugin, OWNER, THREAD)
        assert plugin.load_messages(OWNER, THREAD, hidden=True) == []
        plugin.append_messages(OWNER, THREAD, [*exchange("3"), *exchange("4")])
        assert plugin.find_lines(OWNER, THREAD) == Lines()
        assert plugin.load_messages(OWNER, THREAD) == [*exchange("3"), *exchange("4")]
        assert len(plugin.load_messages(OWNER, THREAD, hidden=True)) == 4

    def test_the_cap_on_messages_counts_all_lines(self, make_plugin: MakePlugin) -> None:
        plugin, _ = with_ability(make_plugin, HidesMessages, max_messages=4)
        plugin.append_messages(OWNER, THREAD, [*exchange("1"), *exchange("2")])
        replace(plugin, 3)
        plugin.append_messages(OWNER, THREAD, [ask("3")])
        assert texts(plugin.load_messages(OWNER, THREAD)) == ["question 3"]
        assert texts(plugin.load_messages(OWNER, THREAD, hidden=True)) == ["question 2", "answer 2", "question 3"]
        assert show(plugin, 4)
        assert texts(plugin.load_messages(OWNER, THREAD)) == ["question 2", "answer 2"]

    def test_changes_at_once_are_all_made(self, make_plugin: MakePlugin) -> None:
        plugin, _ = with_ability(make_plugin, HidesMessages)
        plugin.append_messages(OWNER, THREAD, [*exchange("1"), *exchange("2"), *exchange("3")])
        calls: list[cabc.Callable[[], object]] = [functools.partial(hide, plugin, n) for n in (1, 2, 4, 6)]
        calls += [functools.partial(plugin.append_messages, OWNER, THREAD, [ask(str(n))]) for n in range(4)]
        together(calls)
        assert sequences(plugin.load_messages(OWNER, THREAD)) == [3, 5, 7, 8, 9, 10]

    def test_all_lines_move_with_their_thread(self, make_plugin: MakePlugin) -> None:
        plugin, _ = with_ability(make_plugin, HidesMessages)
        if not isinstance(plugin, MovesThreads):
            pytest.skip("the plugin moves no threads")
        plugin.append_messages(STRANGER, THREAD, [*exchange("1"), *exchange("2")])
        replace(plugin, 3, STRANGER)
        plugin.append_messages(STRANGER, THREAD, exchange("3"))
        before = contents(plugin, STRANGER)
        assert plugin.move_threads(STRANGER, OWNER) == 0
        assert contents(plugin, OWNER) == before
        assert contents(plugin, STRANGER) == contents(plugin, STRANGER, UNKNOWN)
        assert show(plugin, 4)
        assert texts(plugin.load_messages(OWNER, THREAD))[2:] == ["question 2", "answer 2"]

    def test_what_is_visible_is_added_to_a_thread_that_is_there(self, make_plugin: MakePlugin) -> None:
        plugin, _ = with_ability(make_plugin, HidesMessages, threads="one")
        if not isinstance(plugin, MovesThreads):
            pytest.skip("the plugin moves no threads")
        plugin.append_messages(OWNER, "thread-2", exchange("own"))
        hide(plugin, 2, thread_id="thread-2")
        plugin.append_messages(STRANGER, THREAD, [*exchange("1"), *exchange("2")])
        replace(plugin, 3, STRANGER)
        plugin.append_messages(STRANGER, THREAD, exchange("3"))
        assert plugin.move_threads(STRANGER, OWNER) == 0
        visible = ["question own", *texts([*exchange("1"), *exchange("3")])]
        assert texts(plugin.load_messages(OWNER, "thread-2")) == visible
        assert sequences(plugin.load_messages(OWNER, "thread-2", hidden=True)) == list(range(1, 7))
        assert show(plugin, 2, thread_id="thread-2")
        assert texts(plugin.load_messages(OWNER, "thread-2")) == ["question own", "answer own"]

    @pytest.mark.parametrize("intruder", INTRUDERS, ids=["other owner", "other chatbot"])
    @pytest.mark.parametrize("operation", OPERATIONS)
    def test_the_lines_of_somebody_else_are_like_those_of_unknown_threads(
        self, make_plugin: MakePlugin, intruder: Scope, operation: str
    ) -> None:
        check_confined(make_plugin, intruder, OPERATIONS[operation])

    @pytest.mark.parametrize("intruder", INTRUDERS, ids=["other owner", "other chatbot"])
    def test_no_question_is_asked_in_the_place_of_somebody_elses(
        self, make_plugin: MakePlugin, intruder: Scope
    ) -> None:
        with_turns(make_plugin)
        check_confined(make_plugin, intruder, lambda plugin, scope, id: start(plugin, "3", scope, id, replaces=1))
