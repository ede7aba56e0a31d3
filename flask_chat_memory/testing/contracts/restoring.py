"""Threads and ledgers that come from another store, as they were there."""

from __future__ import annotations

import collections.abc as cabc
import datetime as dt
import typing as t

import msgspec
import pytest

from ...message import ChatMessage
from ...plugins.abilities import RestoresThreads
from ...plugins.in_memory import InMemoryPlugin
from ...plugins.records import LiveTurn
from ...plugins.records import Mark
from ...plugins.records import Renewal
from ...plugins.records import Scope
from ...plugins.records import Thread
from ...plugins.records import UsageDay
from ...plugins.records import WholeThread
from ...plugins.rules import KEYS_KEPT
from ..clock import ManualClock
from .expiry import EXPIRY
from .listing import with_ability
from .parts import AblePlugin
from .parts import answer
from .parts import ask
from .parts import assert_same
from .parts import contents
from .parts import exchange
from .parts import HeldBatch
from .parts import MakePlugin
from .parts import OWNER
from .parts import PATIENCE
from .parts import STRANGER
from .parts import texts
from .parts import THREAD
from .parts import together
from .turns import end
from .turns import LEASE
from .turns import start

DAY = UsageDay(
    chatbot="default",
    day=dt.date(2026, 3, 1),
    model="gpt",
    turns=2,
    input=20,
    output=10,
    cached=4,
    reasoning=2,
    total=30,
)


def rich_thread(plugin: AblePlugin, clock: ManualClock, scope: Scope = OWNER, thread_id: str = THREAD) -> None:
    """Make a thread with one of everything: lines, marks, a title, keys, gaps in its numbers, a turn that died."""
    for name in ("1", "2"):
        start(plugin, name, scope, thread_id, title="of the first question")
        end(plugin, name, scope, thread_id)
    clock.advance(0.125)
    seen = plugin.load_messages(scope, thread_id)
    question = next(message for message in seen if message.id == "q-2")
    start(plugin, "2b", scope, thread_id, replaces=question.sequence)
    end(plugin, "2b", scope, thread_id)
    plugin.update_thread(scope, thread_id, title="Ein Titel äöü", pinned=True, archived=True, configuration='{"a": 1}')
    plugin.mark_message(scope, thread_id, "a-1", Mark(1, "great"))
    plugin.mark_message(scope, thread_id, "a-2", Mark(-1))
    start(plugin, "3", scope, thread_id)
    plugin.renew_turns([Renewal(scope, thread_id, "3", "as far as")], clock() + LEASE)
    clock.advance(LEASE + 1)


def restoring(make_plugin: MakePlugin, **options: t.Any) -> tuple[AblePlugin, ManualClock]:
    return with_ability(make_plugin, RestoresThreads, **options)


def other_store(clock: ManualClock, **options: t.Any) -> AblePlugin:
    """Return another store, at the same time."""
    return t.cast(AblePlugin, InMemoryPlugin(options, clock=clock))


def hand_over(source: AblePlugin, target: AblePlugin, scope: Scope = OWNER, thread_id: str = THREAD) -> WholeThread:
    whole = source.find_whole(scope, thread_id)
    assert whole is not None
    target.restore_thread(scope, whole, source.load_messages(scope, thread_id, hidden=True))
    return whole


CHANGES: dict[str, cabc.Callable[[AblePlugin], object]] = {
    "a message": lambda plugin: plugin.append_messages(OWNER, THREAD, [ask("4")]),
    "a title": lambda plugin: plugin.update_thread(OWNER, THREAD, title="another"),
    "a mark": lambda plugin: plugin.mark_message(OWNER, THREAD, "a-1", None),
    "a line": lambda plugin: plugin.change_lines(OWNER, THREAD, lambda lines, last: lines.without([1], last)),
    "all of it": lambda plugin: plugin.delete_thread(OWNER, THREAD),
}


def plain_thread(messages: cabc.Sequence[ChatMessage], id: str = THREAD, **told: t.Any) -> WholeThread:
    """Return what belongs to a thread of these messages, numbered from 1 on."""
    thread = Thread(id=id, created_at=1_799_999_000.5, last_activity=1_799_999_999.25, messages=len(messages))
    return WholeThread(thread=thread, sequence=len(messages), **told)


def numbered(messages: cabc.Iterable[ChatMessage]) -> list[ChatMessage]:
    return [message.numbered(place) for place, message in enumerate(messages, 1)]


class RestoresThreadsContract:
    """The abilities :class:`RestoresThreads` and :class:`RestoresUsage`, of a plugin that has the others, too."""

    @pytest.mark.parametrize("into", ["from another store", "to another store"])
    def test_a_restored_thread_is_the_same(self, make_plugin: MakePlugin, into: str) -> None:
        plugin, clock = restoring(make_plugin)
        source, target = other_store(clock, threads="many"), plugin
        if into == "to another store":
            source, target = target, source
        rich_thread(source, clock)
        whole = hand_over(source, target)
        assert target.find_whole(OWNER, THREAD) == whole
        assert contents(target, OWNER) == contents(source, OWNER)
        assert_same(target.load_messages(OWNER, THREAD, hidden=True), source.load_messages(OWNER, THREAD, hidden=True))
        assert texts(target.load_messages(OWNER, THREAD)) == [
            "question 1",
            "answer 1",
            "question 2b",
            "answer 2b",
            "question 3",
        ]
        assert [live.text for live in target.live_turns(OWNER, THREAD)] == ["as far as"]
        assert target.list_threads(OWNER) == source.list_threads(OWNER)

    def test_a_restored_thread_goes_on(self, make_plugin: MakePlugin) -> None:
        plugin, clock = restoring(make_plugin)
        source = other_store(clock, threads="many")
        rich_thread(source, clock)
        hand_over(source, plugin)
        for store in (plugin, source):
            appended = store.append_messages(OWNER, THREAD, [ask("1")], key="question:1")
            assert appended is not None and appended.repeated and appended.sequence == 1
            found = end(store, "3")
            assert found is not None and found.sequence == 8
            assert store.mark_message(OWNER, THREAD, "a-3", Mark(1))
        assert contents(plugin, OWNER) == contents(source, OWNER)

    def test_it_takes_the_place_of_what_is_there(self, make_plugin: MakePlugin) -> None:
        plugin, clock = restoring(make_plugin)
        rich_thread(plugin, clock)
        plugin.append_messages(OWNER, "another", exchange("9"))
        messages = numbered(exchange("8"))
        whole = plain_thread(messages)
        plugin.restore_thread(OWNER, whole, messages)
        assert plugin.find_whole(OWNER, THREAD) == whole
        assert_same(plugin.load_messages(OWNER, THREAD), messages)
        assert plugin.load_marks(OWNER, THREAD) == {}
        assert plugin.live_turns(OWNER, THREAD) == []
        assert texts(plugin.load_messages(OWNER, "another")) == ["question 9", "answer 9"]

    def test_numbers_that_were_given_are_not_given_again(self, make_plugin: MakePlugin) -> None:
        plugin, clock = restoring(make_plugin)
        whole = msgspec.structs.replace(plain_thread([]), sequence=9, keys={"question:4": 7, "answer:4": 8})
        plugin.restore_thread(OWNER, whole, [])
        assert plugin.find_whole(OWNER, THREAD) == whole
        appended = plugin.append_messages(OWNER, THREAD, exchange("5"))
        assert appended is not None and appended.sequence == 10
        known = plugin.append_messages(OWNER, THREAD, exchange("4"), key="question:4")
        assert known is not None and known.repeated and known.sequence == 7

    @pytest.mark.parametrize("failing", [0, 1, 450])
    def test_what_fails_half_way_leaves_what_was_there(self, make_plugin: MakePlugin, failing: int) -> None:
        plugin, clock = restoring(make_plugin)
        rich_thread(plugin, clock)
        before = contents(plugin, OWNER)
        messages = numbered(ask(str(n)) for n in range(460))

        def broken() -> cabc.Iterator[ChatMessage]:
            yield from messages[:failing]
            raise RuntimeError("the source is gone")

        for thread_id in (THREAD, "new"):
            with pytest.raises(RuntimeError, match="the source is gone"):
                plugin.restore_thread(OWNER, plain_thread(messages, thread_id), broken())
        assert contents(plugin, OWNER) == before
        assert not plugin.has_thread(OWNER, "new")
        assert [thread.id for _, thread in plugin.all_threads()] == [THREAD]
        plugin.restore_thread(OWNER, plain_thread(messages), messages)
        assert_same(plugin.load_messages(OWNER, THREAD), messages)

    @pytest.mark.parametrize("change", CHANGES)
    def test_it_takes_the_place_of_one_state_alone(self, make_plugin: MakePlugin, change: str) -> None:
        plugin, clock = restoring(make_plugin)
        rich_thread(plugin, clock)
        seen = plugin.find_whole(OWNER, THREAD)
        messages = numbered(exchange("8"))
        CHANGES[change](plugin)
        changed = contents(plugin, OWNER)
        assert not plugin.restore_thread(OWNER, plain_thread(messages), messages, instead_of=seen)
        assert contents(plugin, OWNER) == changed
        there = plugin.find_whole(OWNER, THREAD)
        assert plugin.restore_thread(OWNER, plain_thread(messages), messages, instead_of=there)

    def test_what_changes_while_messages_come_is_not_lost(self, make_plugin: MakePlugin) -> None:
        plugin, clock = restoring(make_plugin)
        rich_thread(plugin, clock)
        seen = plugin.find_whole(OWNER, THREAD)
        messages = HeldBatch(*numbered(exchange("8")))

        def write() -> None:
            assert messages.reached.wait(PATIENCE)
            try:
                plugin.append_messages(OWNER, THREAD, [ask("late")])
            finally:
                messages.release.set()

        def release() -> None:
            # Where the store keeps writers out meanwhile, they wait for this.
            assert messages.reached.wait(PATIENCE)
            messages.release.set()

        whole = plain_thread(list(messages[:]))
        restored, *_ = together(
            [lambda: plugin.restore_thread(OWNER, whole, messages, instead_of=seen), write, release]
        )
        found = texts(plugin.load_messages(OWNER, THREAD))
        assert found[-1] == "question late"
        assert (found[0] == "question 8") is restored

    def test_no_other_thread_makes_room_and_nothing_is_cut(self, make_plugin: MakePlugin) -> None:
        plugin, _ = restoring(make_plugin, max_threads=1, max_messages=2)
        messages = numbered(message for name in "123" for message in exchange(name))
        for id in ("a", "b", "c"):
            plugin.restore_thread(OWNER, plain_thread(messages, id), messages)
        assert {thread.id for _, thread in plugin.all_threads()} == {"a", "b", "c"}
        assert [thread.messages for _, thread in plugin.all_threads()] == [6, 6, 6]

    @pytest.mark.parametrize("scope", [STRANGER, Scope("user:1", "support")])
    def test_it_is_confined_to_its_scope(self, make_plugin: MakePlugin, scope: Scope) -> None:
        plugin, clock = restoring(make_plugin)
        rich_thread(plugin, clock)
        before = contents(plugin, OWNER)
        messages = numbered(exchange("8"))
        plugin.restore_thread(scope, plain_thread(messages), messages)
        assert contents(plugin, OWNER) == before
        assert texts(plugin.load_messages(scope, THREAD)) == ["question 8", "answer 8"]
        assert plugin.find_whole(Scope("user:11"), THREAD) is None

    def test_an_expired_thread_is_none_and_what_is_restored_may_be_expired(self, make_plugin: MakePlugin) -> None:
        plugin, clock = restoring(make_plugin, expiry=EXPIRY)
        plugin.append_messages(OWNER, THREAD, exchange("1"))
        whole = plugin.find_whole(OWNER, THREAD)
        clock.advance(EXPIRY + 1)
        assert plugin.find_whole(OWNER, THREAD) is None
        assert whole is not None
        messages = numbered(exchange("1"))
        plugin.restore_thread(OWNER, msgspec.structs.replace(whole), messages)
        assert not plugin.has_thread(OWNER, THREAD)

    def test_only_so_many_keys_go_along_as_every_thread_remembers(self, make_plugin: MakePlugin) -> None:
        plugin, clock = restoring(make_plugin)
        for n in range(KEYS_KEPT + 3):
            plugin.append_messages(OWNER, THREAD, [ask(str(n))], key=f"question:{n}")
        whole = hand_over(plugin, other_store(clock, threads="many"))
        assert list(whole.keys.items()) == [(f"question:{n}", n + 1) for n in range(3, KEYS_KEPT + 3)]

    @pytest.mark.parametrize("id", ["", "a\0b", "x" * 123])
    def test_an_impossible_id_is_refused(self, make_plugin: MakePlugin, id: str) -> None:
        plugin, _ = restoring(make_plugin)
        with pytest.raises(ValueError):
            plugin.restore_thread(OWNER, plain_thread([], id), [])
        assert plugin.find_whole(OWNER, id) is None

    def test_the_current_thread_is_what_the_other_store_says(self, make_plugin: MakePlugin) -> None:
        plugin, _ = restoring(make_plugin, threads="one")
        messages = numbered(exchange("1"))
        plugin.restore_thread(OWNER, plain_thread(messages, "a"), messages)
        assert plugin.current_thread(OWNER) is None
        plugin.restore_thread(OWNER, plain_thread(messages, "b", current=True), messages)
        assert plugin.current_thread(OWNER) == "b"
        plugin.restore_thread(OWNER, plain_thread(messages, "a", current=True), messages)
        assert plugin.current_thread(OWNER) == "a"
        plugin.restore_thread(OWNER, plain_thread(messages, "b"), messages)
        assert plugin.current_thread(OWNER) == "a"
        plugin.restore_thread(OWNER, plain_thread(messages, "a"), messages)
        assert plugin.current_thread(OWNER) is None

    def test_a_running_turn_stays_running(self, make_plugin: MakePlugin) -> None:
        plugin, clock = restoring(make_plugin, expiry=EXPIRY)
        messages = numbered([ask("1")])
        live = LiveTurn("1", "q-1", "a-1", clock() + LEASE, "half", stop_wanted=True)
        plugin.restore_thread(OWNER, plain_thread(messages, live=(live,)), messages)
        assert plugin.live_turns(OWNER, THREAD) == [live]
        found = plugin.find_whole(OWNER, THREAD)
        assert found is not None and found.running(clock()) and not found.running(clock() + LEASE)

    def test_a_ledger_is_restored_and_counts_on(self, make_plugin: MakePlugin) -> None:
        plugin, clock = restoring(make_plugin)
        unknown = msgspec.structs.replace(DAY, model=None, turns=7)
        scopes = [OWNER, STRANGER, Scope("ÄÖ 漢 😀/..", "support")]
        for scope in scopes:
            days = [msgspec.structs.replace(day, chatbot=scope.chatbot) for day in (unknown, DAY)]
            plugin.restore_usage(scope, days)
            plugin.restore_usage(scope, days[1:])
            assert plugin.list_usage(scope) == days
        assert sorted(plugin.usage_scopes(), key=repr) == sorted(scopes, key=repr)
        clock.now = dt.datetime(2026, 3, 1, 12, tzinfo=dt.UTC).timestamp()
        plugin.append_messages(OWNER, THREAD, [ask("1")])
        told = answer("1").replace(usage={"input": 1, "output": 1}, model="gpt")
        plugin.append_messages(OWNER, THREAD, [told], key="answer:1", reply_to="q-1")
        assert [(day.turns, day.total) for day in plugin.list_usage(OWNER)] == [(7, 30), (3, 32)]
        assert len(list(plugin.usage_scopes())) == 3

    def test_whoever_was_counted_has_a_ledger(self, make_plugin: MakePlugin) -> None:
        plugin, _ = restoring(make_plugin)
        assert list(plugin.usage_scopes()) == []
        plugin.append_messages(STRANGER, THREAD, [ask("1")])
        plugin.append_messages(STRANGER, THREAD, [answer("1")], reply_to="q-1")
        plugin.delete_thread(STRANGER, THREAD)
        assert list(plugin.usage_scopes()) == [STRANGER]
