"""What answers cost, in a ledger beside the threads."""

from __future__ import annotations

import datetime as dt
import typing as t

import pytest

from ...message import ChatMessage
from ...plugins.abilities import CountsUsage
from ...plugins.abilities import MovesThreads
from ...plugins.records import FORGOTTEN
from ...plugins.records import Scope
from ...plugins.records import UsageDay
from ..clock import ManualClock
from .listing import SCOPES
from .listing import with_ability
from .parts import AblePlugin
from .parts import answer
from .parts import ask
from .parts import exchange
from .parts import keeps_live_turns
from .parts import MakePlugin
from .parts import OWNER
from .parts import STRANGER
from .parts import THREAD
from .parts import together
from .turns import start

USAGE = {"input": 10, "output": 5, "cached": 2, "reasoning": 1, "total": 15}
DAY = 86400.0


def used(name: str, usage: t.Any = None, model: str | None = "gpt") -> ChatMessage:
    """Return the answer of the turn ``name`` with what it cost."""
    told = {} if model is None else {"model": model}
    return answer(name).replace(usage=USAGE if usage is None else usage, **told)


def tell(plugin: AblePlugin, name: str, *answers: ChatMessage, scope: Scope = OWNER, thread_id: str = THREAD) -> None:
    """Store a question and its answer."""
    plugin.append_messages(scope, thread_id, [ask(name)], key=f"question:{name}")
    plugin.append_messages(scope, thread_id, answers, key=f"answer:{name}", reply_to=f"q-{name}")


def numbers(days: list[UsageDay]) -> list[tuple[int, ...]]:
    """Return turns, input, output, cached, reasoning and total of each."""
    return [(day.turns, day.input, day.output, day.cached, day.reasoning, day.total) for day in days]


def counting(make_plugin: MakePlugin, **options: t.Any) -> tuple[AblePlugin, ManualClock]:
    return with_ability(make_plugin, CountsUsage, **options)


class CountsUsageContract:
    """The ability :class:`CountsUsage`."""

    def test_nothing_is_counted_before_the_first_answer(self, make_plugin: MakePlugin) -> None:
        plugin, _ = counting(make_plugin)
        assert plugin.list_usage(OWNER) == []
        plugin.append_messages(OWNER, THREAD, [ask("1")], key="question:1")
        assert plugin.list_usage(OWNER) == []

    def test_answers_of_a_model_and_a_day_are_added_up(self, make_plugin: MakePlugin) -> None:
        plugin, clock = counting(make_plugin)
        for name in "123":
            tell(plugin, name, used(name))
        day = dt.datetime.fromtimestamp(clock(), dt.UTC).date()
        (counted,) = plugin.list_usage(OWNER)
        assert (counted.chatbot, counted.day, counted.model) == (OWNER.chatbot, day, "gpt")
        assert numbers([counted]) == [(3, 30, 15, 6, 3, 45)]

    def test_days_and_models_are_apart(self, make_plugin: MakePlugin) -> None:
        plugin, clock = counting(make_plugin, expiry=None)
        first = dt.datetime.fromtimestamp(clock(), dt.UTC).date()
        tell(plugin, "1", used("1"))
        tell(plugin, "2", used("2", model="b 漢:%"))
        clock.advance(DAY)
        tell(plugin, "3", used("3"))
        tell(plugin, "4", used("4", model=None))
        second = first + dt.timedelta(days=1)
        found = [(day.day, day.model) for day in plugin.list_usage(OWNER)]
        assert found == [(first, "b 漢:%"), (first, "gpt"), (second, None), (second, "gpt")]
        assert [day.day for day in plugin.list_usage(OWNER, since=second)] == [second, second]
        assert [day.day for day in plugin.list_usage(OWNER, until=first)] == [first, first]
        assert plugin.list_usage(OWNER, since=second, until=first) == []

    def test_a_day_ends_at_midnight_of_utc(self, make_plugin: MakePlugin) -> None:
        plugin, clock = counting(make_plugin, expiry=None)
        clock.advance(DAY - clock() % DAY - 1)
        tell(plugin, "1", used("1"))
        clock.advance(2)
        tell(plugin, "2", used("2"))
        assert [day.turns for day in plugin.list_usage(OWNER)] == [1, 1]

    def test_a_ledger_is_confined_to_its_scope(self, make_plugin: MakePlugin) -> None:
        plugin, _ = counting(make_plugin)
        for place, scope in enumerate(SCOPES):
            tell(plugin, "1", used("1", {"total": place + 1}), scope=scope)
        assert [[day.total for day in plugin.list_usage(scope)] for scope in SCOPES] == [
            [place + 1] for place in range(len(SCOPES))
        ]

    def test_a_repeat_adds_nothing(self, make_plugin: MakePlugin) -> None:
        plugin, _ = counting(make_plugin)
        for _ in range(3):
            tell(plugin, "1", used("1"))
        assert numbers(plugin.list_usage(OWNER)) == [(1, 10, 5, 2, 1, 15)]

    def test_one_call_that_is_stored_as_several_messages_counts_once(self, make_plugin: MakePlugin) -> None:
        plugin, _ = counting(make_plugin)
        calls = ChatMessage("assistant", None, id="c-1", turn="1", usage=USAGE, model="gpt")
        other = ChatMessage("assistant", None, id="d-1", turn="1", usage={"total": 7}, model="small")
        tell(plugin, "1", calls, other, used("1"))
        assert numbers(plugin.list_usage(OWNER)) == [(1, 10, 5, 2, 1, 15), (0, 0, 0, 0, 0, 7)]

    @pytest.mark.parametrize(
        ("usage", "counted"),
        [
            ({}, (1, 0, 0, 0, 0, 0)),
            ({"output": 5, "input": None}, (1, 0, 5, 0, 0, 5)),
            ({"total": 7}, (1, 0, 0, 0, 0, 7)),
            ({"input": -1, "output": "many", "reasoning": 3}, (1, 0, 0, 0, 3, 0)),
            ({"input": 2**53, "output": 1, "total": 2**53}, (1, 2**53, 1, 0, 0, 2**53)),
        ],
    )
    def test_what_is_not_known_adds_nothing(
        self, make_plugin: MakePlugin, usage: dict[str, t.Any], counted: tuple[int, ...]
    ) -> None:
        plugin, _ = counting(make_plugin)
        tell(plugin, "1", used("1", usage))
        assert numbers(plugin.list_usage(OWNER)) == [counted]

    def test_an_answer_without_usage_is_a_turn(self, make_plugin: MakePlugin) -> None:
        plugin, _ = counting(make_plugin)
        tell(plugin, "1", answer("1"))
        assert numbers(plugin.list_usage(OWNER)) == [(1, 0, 0, 0, 0, 0)]

    def test_the_ledger_outlives_its_threads(self, make_plugin: MakePlugin) -> None:
        plugin, clock = counting(make_plugin, expiry=100, max_messages=2, max_threads=1)
        tell(plugin, "1", used("1"))
        tell(plugin, "2", used("2"))
        before = plugin.list_usage(OWNER)
        assert numbers(before) == [(2, 20, 10, 4, 2, 30)]
        plugin.clear_messages(OWNER, THREAD)
        plugin.append_messages(OWNER, "another", [ask("x")])
        plugin.delete_thread(OWNER, THREAD)
        plugin.delete_thread(OWNER, "another")
        clock.advance(101)
        plugin.append_messages(OWNER, THREAD, [ask("y")])
        assert plugin.list_usage(OWNER) == before

    def test_what_is_no_answer_does_not_count(self, make_plugin: MakePlugin) -> None:
        plugin, _ = counting(make_plugin)
        plugin.save_messages(OWNER, THREAD, [ask("1"), used("1")])
        plugin.append_messages(OWNER, THREAD, [ask("2"), used("2")], key="import")
        plugin.append_messages(OWNER, THREAD, [], reply_to="q-1")
        assert plugin.list_usage(OWNER) == []

    def test_moving_threads_moves_no_usage(self, make_plugin: MakePlugin) -> None:
        plugin, _ = counting(make_plugin)
        if not isinstance(plugin, MovesThreads):
            pytest.skip("the plugin moves no threads")
        tell(plugin, "1", used("1"))
        tell(plugin, "2", used("2"), scope=STRANGER, thread_id="other")
        before = plugin.list_usage(OWNER), plugin.list_usage(STRANGER)
        plugin.move_threads(OWNER, STRANGER)
        assert (plugin.list_usage(OWNER), plugin.list_usage(STRANGER)) == before

    def test_forgotten_usage_is_that_of_nobody_in_particular(self, make_plugin: MakePlugin) -> None:
        plugin, clock = counting(make_plugin, expiry=None)
        for scope in (OWNER, STRANGER):
            for name in "12":
                tell(plugin, name, used(name), scope=scope)
            tell(plugin, "3", used("3", model=None), scope=scope)
            clock.advance(DAY)
            tell(plugin, "4", used("4"), scope=scope)
            clock.advance(-DAY)
        kept = plugin.list_usage(STRANGER)
        assert plugin.forget_usage(OWNER) == 3
        assert (plugin.list_usage(OWNER), plugin.list_usage(STRANGER)) == ([], kept)
        nobody = Scope(FORGOTTEN, OWNER.chatbot)
        assert plugin.list_usage(nobody) == kept
        assert plugin.forget_usage(OWNER) == 0
        assert plugin.list_usage(nobody) == kept
        plugin.forget_usage(STRANGER)
        assert numbers(plugin.list_usage(nobody)) == [tuple(2 * number for number in day) for day in numbers(kept)]

    def test_an_answer_that_comes_after_its_owner_is_forgotten_is_counted_anew(self, make_plugin: MakePlugin) -> None:
        plugin, _ = counting(make_plugin)
        tell(plugin, "1", used("1"))
        plugin.append_messages(OWNER, THREAD, [ask("2")], key="question:2")
        plugin.delete_thread(OWNER, THREAD)
        plugin.forget_usage(OWNER)
        assert plugin.append_messages(OWNER, THREAD, [used("2")], key="answer:2", reply_to="q-2") is None
        assert numbers(plugin.list_usage(OWNER)) == [(1, 10, 5, 2, 1, 15)]
        assert not plugin.has_thread(OWNER, THREAD)
        assert plugin.forget_usage(OWNER) == 1
        assert numbers(plugin.list_usage(Scope(FORGOTTEN, OWNER.chatbot))) == [(2, 20, 10, 4, 2, 30)]

    def test_no_answer_is_lost_or_counted_twice_while_its_owner_is_forgotten(self, make_plugin: MakePlugin) -> None:
        plugin, _ = counting(make_plugin)
        names = [f"{n}" for n in range(6)]
        for name in names:
            plugin.append_messages(OWNER, f"thread-{name}", [ask(name)], key=f"question:{name}")

        def end(name: str) -> t.Any:
            return lambda: plugin.append_messages(
                OWNER, f"thread-{name}", [used(name)], key=f"answer:{name}", reply_to=f"q-{name}"
            )

        together([*map(end, names), *[lambda: plugin.forget_usage(OWNER)] * 3])
        plugin.forget_usage(OWNER)
        assert plugin.list_usage(OWNER) == []
        assert numbers(plugin.list_usage(Scope(FORGOTTEN, OWNER.chatbot))) == [(6, 60, 30, 12, 6, 90)]

    def test_an_answer_whose_question_is_gone_counts(self, make_plugin: MakePlugin) -> None:
        plugin, _ = counting(make_plugin)
        plugin.append_messages(OWNER, THREAD, [ask("1")], key="question:1")
        plugin.append_messages(OWNER, "kept", exchange("x"))
        plugin.delete_thread(OWNER, THREAD)
        assert plugin.append_messages(OWNER, THREAD, [used("1")], key="answer:1", reply_to="q-1") is None
        plugin.append_messages(OWNER, "kept", [ask("2")])
        plugin.clear_messages(OWNER, "kept")
        assert plugin.append_messages(OWNER, "kept", [used("2")], key="answer:2", reply_to="q-2") is None
        assert numbers(plugin.list_usage(OWNER)) == [(2, 20, 10, 4, 2, 30)]

    def test_the_end_of_a_turn_counts_once_whoever_ends_it(self, make_plugin: MakePlugin) -> None:
        plugin, _ = counting(make_plugin)
        if not keeps_live_turns(plugin):
            pytest.skip("the plugin keeps no live turns")
        start(plugin, "1")
        for text in ("first", "second"):
            ending = used("1").replace(content=text)
            plugin.end_turn(OWNER, THREAD, "1", [ending], key="answer:1", reply_to="q-1")
        assert numbers(plugin.list_usage(OWNER)) == [(1, 10, 5, 2, 1, 15)]

    def test_answers_at_once_are_all_counted(self, make_plugin: MakePlugin) -> None:
        plugin, _ = counting(make_plugin)
        names = [f"{n}" for n in range(8)]
        for name in names:
            plugin.append_messages(OWNER, f"thread-{name}", [ask(name)], key=f"question:{name}")

        def end(name: str) -> t.Any:
            return lambda: plugin.append_messages(
                OWNER, f"thread-{name}", [used(name)], key=f"answer:{name}", reply_to=f"q-{name}"
            )

        together([*map(end, names), *map(end, names)])
        assert numbers(plugin.list_usage(OWNER)) == [(8, 80, 40, 16, 8, 120)]
