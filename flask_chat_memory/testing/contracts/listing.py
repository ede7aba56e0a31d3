"""Threads of a scope without their messages."""

from __future__ import annotations

import typing as t

import pytest

from ...plugins.abilities import ListsThreads
from ...plugins.records import Position
from ...plugins.records import Renewal
from ...plugins.records import Scope
from ...plugins.records import Thread
from ..clock import ManualClock
from .expiry import EXPIRY
from .expiry import with_clock
from .parts import able
from .parts import AblePlugin
from .parts import answer
from .parts import ask
from .parts import exchange
from .parts import keeps_live_turns
from .parts import MakePlugin
from .parts import OWNER
from .parts import SAME_OWNER_OTHER_CHATBOT
from .parts import STRANGER
from .parts import THREAD
from .turns import end
from .turns import start

SCOPES = [OWNER, STRANGER, SAME_OWNER_OTHER_CHATBOT, Scope("user:*"), Scope("user:%"), Scope("ÄÖ 漢 😀/..")]


def with_ability(make_plugin: MakePlugin, ability: type, **options: t.Any) -> tuple[AblePlugin, ManualClock]:
    plugin, clock = with_clock(make_plugin, **{"threads": "many", **options})
    return able(plugin, ability), clock


def fill(plugin: AblePlugin, clock: ManualClock, *names: str, scope: Scope = OWNER) -> None:
    """Store a thread of each name, a second apart."""
    for name in names:
        plugin.append_messages(scope, name, exchange(name))
        clock.advance(1)


def ids(threads: list[Thread]) -> list[str]:
    return [thread.id for thread in threads]


class ListsThreadsContract:
    """The ability :class:`ListsThreads`."""

    def test_a_scope_without_threads_has_an_empty_list(self, make_plugin: MakePlugin) -> None:
        plugin, _ = with_ability(make_plugin, ListsThreads)
        assert plugin.list_threads(OWNER) == []

    def test_the_newest_activity_is_first(self, make_plugin: MakePlugin) -> None:
        plugin, clock = with_ability(make_plugin, ListsThreads)
        fill(plugin, clock, "a", "c", "b")
        assert ids(plugin.list_threads(OWNER)) == ["b", "c", "a"]
        plugin.append_messages(OWNER, "a", [ask("again")])
        assert ids(plugin.list_threads(OWNER)) == ["a", "b", "c"]

    def test_a_list_tells_of_each_thread(self, make_plugin: MakePlugin) -> None:
        plugin, clock = with_ability(make_plugin, ListsThreads)
        born = clock()
        used = answer("1").replace(usage={"input": 10, "output": 5})
        plugin.append_messages(OWNER, THREAD, [ask("1"), used])
        clock.advance(2.125)
        plugin.append_messages(OWNER, THREAD, [ask("2"), answer("2").replace(usage={"total": 7})])
        told = Thread(id=THREAD, created_at=born, last_activity=born + 2.125, messages=4, tokens=22)
        assert plugin.list_threads(OWNER) == [told]

    def test_what_the_parts_of_one_model_call_used_is_told_once(self, make_plugin: MakePlugin) -> None:
        plugin, _ = with_ability(make_plugin, ListsThreads)
        for name in "12":
            parts = [answer(name).replace(id=f"{name}-{part}", usage={"total": 7}, model="m") for part in "ab"]
            plugin.append_messages(OWNER, THREAD, [ask(name), *parts])
        assert [thread.tokens for thread in plugin.list_threads(OWNER)] == [14]
        plugin.save_messages(OWNER, THREAD, plugin.load_messages(OWNER, THREAD))
        assert [thread.tokens for thread in plugin.list_threads(OWNER)] == [14]

    def test_pages_show_every_thread_once(self, make_plugin: MakePlugin) -> None:
        plugin, clock = with_ability(make_plugin, ListsThreads)
        fill(plugin, clock, *"abcde")
        for name in "fghij":
            # All at the same time, between two pages.
            plugin.append_messages(OWNER, name, exchange(name))
        seen: list[Thread] = []
        while page := plugin.list_threads(OWNER, limit=3, before=seen[-1].position if seen else None):
            assert len(page) == (3 if len(seen) < 9 else 1)
            seen += page
        assert sorted(ids(seen)) == list("abcdefghij")
        assert ids(seen)[5:] == list("edcba")
        assert seen == plugin.list_threads(OWNER)

    def test_a_page_goes_on_where_a_deleted_thread_was(self, make_plugin: MakePlugin) -> None:
        plugin, clock = with_ability(make_plugin, ListsThreads)
        fill(plugin, clock, *"abcd")
        place = plugin.list_threads(OWNER, limit=2)[-1].position
        plugin.delete_thread(OWNER, "c")
        assert ids(plugin.list_threads(OWNER, before=place)) == ["b", "a"]
        assert plugin.list_threads(OWNER, before=Position(0.0, "z")) == []
        assert len(plugin.list_threads(OWNER, before=Position(clock() + 1, ""))) == 3

    @pytest.mark.parametrize("limit", [0, 1, 2, 99, 2**70])
    def test_a_limit_counts_threads(self, make_plugin: MakePlugin, limit: int) -> None:
        plugin, clock = with_ability(make_plugin, ListsThreads)
        fill(plugin, clock, *"abc")
        assert ids(plugin.list_threads(OWNER, limit=limit)) == list("cba")[:limit]

    @pytest.mark.parametrize("limit", [-1, True, 1.0, "1"])
    def test_a_list_refuses_what_is_no_limit(self, make_plugin: MakePlugin, limit: t.Any) -> None:
        plugin, _ = with_ability(make_plugin, ListsThreads)
        with pytest.raises(ValueError, match="limit"):
            plugin.list_threads(OWNER, limit=limit)

    def test_a_list_is_confined_to_its_scope(self, make_plugin: MakePlugin) -> None:
        plugin, clock = with_ability(make_plugin, ListsThreads)
        for place, scope in enumerate(SCOPES):
            fill(plugin, clock, f"of-{place}", scope=scope)
        assert [ids(plugin.list_threads(scope)) for scope in SCOPES] == [[f"of-{n}"] for n in range(len(SCOPES))]

    def test_what_is_gone_is_not_listed(self, make_plugin: MakePlugin) -> None:
        plugin, clock = with_ability(make_plugin, ListsThreads, expiry=EXPIRY)
        fill(plugin, clock, "expired", "deleted")
        clock.advance(EXPIRY)
        fill(plugin, clock, "deleted", "cleared", "kept")
        plugin.delete_thread(OWNER, "deleted")
        plugin.clear_messages(OWNER, "cleared")
        found = plugin.list_threads(OWNER)
        assert ids(found) == ["cleared", "kept"]
        assert (found[0].messages, found[0].tokens) == (0, 0)

    def test_a_thread_with_a_running_turn_is_listed_though_it_is_old(self, make_plugin: MakePlugin) -> None:
        plugin, clock = with_ability(make_plugin, ListsThreads, expiry=EXPIRY)
        if not keeps_live_turns(plugin):
            pytest.skip("the plugin keeps no live turns")
        start(plugin, "1")
        plugin.renew_turns([Renewal(OWNER, THREAD, "1")], clock() + 10 * EXPIRY)
        clock.advance(2 * EXPIRY)
        assert ids(plugin.list_threads(OWNER)) == [THREAD]

    def test_counts_follow_the_messages(self, make_plugin: MakePlugin) -> None:
        plugin, _ = with_ability(make_plugin, ListsThreads, max_messages=4)
        for n in range(5):
            plugin.append_messages(OWNER, THREAD, exchange(str(n)))
        assert [thread.messages for thread in plugin.list_threads(OWNER)] == [4]
        used = answer("x").replace(usage={"total": 9})
        plugin.save_messages(OWNER, THREAD, [ask("x"), used, ask("y")])
        assert [(thread.messages, thread.tokens) for thread in plugin.list_threads(OWNER)] == [(3, 9)]

    def test_a_turn_that_ends_late_does_not_lower_the_count(self, make_plugin: MakePlugin) -> None:
        plugin, _ = with_ability(make_plugin, ListsThreads)
        if not keeps_live_turns(plugin):
            pytest.skip("the plugin keeps no live turns")
        counts = []
        for step, name in ((start, "slow"), (start, "quick"), (end, "quick"), (end, "slow")):
            step(plugin, name)
            counts += [thread.messages for thread in plugin.list_threads(OWNER)]
        assert counts == [1, 2, 3, 4]
