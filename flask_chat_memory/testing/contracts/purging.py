"""The threads of all scopes, and how they are purged."""

from __future__ import annotations

import typing as t

import pytest

from ...message import ChatMessage
from ...plugins.abilities import CurrentThread
from ...plugins.abilities import PurgesThreads
from ...plugins.records import Scope
from .expiry import EXPIRY
from .listing import fill
from .listing import SCOPES
from .listing import with_ability
from .parts import answer
from .parts import ask
from .parts import contents
from .parts import keeps_live_turns
from .parts import MakePlugin
from .parts import OWNER
from .parts import SAME_OWNER_OTHER_CHATBOT
from .parts import STRANGER
from .parts import texts
from .parts import THREAD
from .parts import UNKNOWN
from .thread_ids import IMPOSSIBLE
from .turns import end
from .turns import LEASE
from .turns import start


def purge(plugin: PurgesThreads, before: float, **arguments: t.Any) -> list[tuple[Scope, str]]:
    """Return the threads that a purge removes."""
    return [thread for purged in plugin.purge_threads(before, **arguments) for thread in purged.threads]


class PurgesThreadsContract:
    """The ability :class:`PurgesThreads`."""

    def test_all_threads_of_all_scopes_are_found(self, make_plugin: MakePlugin) -> None:
        plugin, clock = with_ability(make_plugin, PurgesThreads, expiry=EXPIRY)
        assert list(plugin.all_threads()) == []
        for scope in SCOPES:
            fill(plugin, clock, "old", scope=scope)
        clock.advance(EXPIRY)
        for scope in SCOPES:
            fill(plugin, clock, "new", scope=scope)
        found = {(scope, thread.id): thread.messages for scope, thread in plugin.all_threads()}
        assert found == {(scope, name): 2 for scope in SCOPES for name in ("old", "new")}
        of_chatbot = [(scope, thread.id) for scope, thread in plugin.all_threads(chatbot="support")]
        assert sorted(name for scope, name in of_chatbot if scope == SAME_OWNER_OTHER_CHATBOT) == ["new", "old"]
        assert len(of_chatbot) == 2

    def test_only_what_was_idle_before_goes(self, make_plugin: MakePlugin) -> None:
        plugin, clock = with_ability(make_plugin, PurgesThreads)
        fill(plugin, clock, "a", "b", "c")
        at_b = clock() - 2
        (purged,) = plugin.purge_threads(at_b)
        assert (purged.threads, purged.messages) == (((OWNER, "a"),), 2)
        assert [name for name in "abc" if plugin.has_thread(OWNER, name)] == ["b", "c"]
        assert purge(plugin, at_b) == []
        assert texts(plugin.load_messages(OWNER, "b")) == ["question b", "answer b"]
        assert plugin.purge_thread(OWNER, "b", at_b) is None

    def test_batches_report_what_they_removed(self, make_plugin: MakePlugin) -> None:
        plugin, clock = with_ability(make_plugin, PurgesThreads)
        for place, scope in enumerate(SCOPES):
            fill(plugin, clock, *(f"{place}-{n}" for n in range(3)), scope=scope)
        removed = list(plugin.purge_threads(clock(), batch=4))
        assert all(0 < len(purged.threads) <= 4 for purged in removed)
        names = {thread for purged in removed for thread in purged.threads}
        assert names == {(scope, f"{place}-{n}") for place, scope in enumerate(SCOPES) for n in range(3)}
        assert sum(purged.messages for purged in removed) == 6 * len(SCOPES)
        assert list(plugin.all_threads()) == []

    def test_a_purge_may_stop_after_a_batch_and_go_on_later(self, make_plugin: MakePlugin) -> None:
        plugin, clock = with_ability(make_plugin, PurgesThreads)
        fill(plugin, clock, *"abcdef")
        first = next(iter(plugin.purge_threads(clock(), batch=2)))
        assert len(list(plugin.all_threads())) == 6 - len(first.threads)
        assert len(first.threads) + len(purge(plugin, clock(), batch=2)) == 6

    def test_a_purge_of_one_chatbot_leaves_the_others(self, make_plugin: MakePlugin) -> None:
        plugin, clock = with_ability(make_plugin, PurgesThreads)
        for scope in SCOPES:
            fill(plugin, clock, THREAD, scope=scope)
        assert purge(plugin, clock(), chatbot="support") == [(SAME_OWNER_OTHER_CHATBOT, THREAD)]
        assert [plugin.has_thread(scope, THREAD) for scope in SCOPES] == [s.chatbot != "support" for s in SCOPES]

    def test_a_thread_that_became_active_stays(self, make_plugin: MakePlugin) -> None:
        plugin, clock = with_ability(make_plugin, PurgesThreads)
        fill(plugin, clock, "a", "b", "c")
        before = clock()
        plugin.append_messages(OWNER, "b", [ask("again")])
        assert plugin.purge_thread(OWNER, "b", before) is None
        assert plugin.purge_thread(OWNER, "a", before) == 2
        assert plugin.purge_thread(OWNER, "a", before) is None
        assert plugin.purge_thread(STRANGER, "c", before) is None
        assert plugin.purge_thread(OWNER, "c", before) == 2
        assert [name for name in "abc" if plugin.has_thread(OWNER, name)] == ["b"]

    def test_a_thread_that_becomes_active_during_a_purge_stays(self, make_plugin: MakePlugin) -> None:
        plugin, clock = with_ability(make_plugin, PurgesThreads)
        fill(plugin, clock, "a", "b", "c")
        purging = plugin.purge_threads(clock(), batch=1)
        gone = {id for _, id in next(iter(purging)).threads}
        revived = min({"a", "b", "c"} - gone)
        plugin.append_messages(OWNER, revived, [ask("again")])
        gone |= {id for purged in purging for _, id in purged.threads}
        assert gone == {"a", "b", "c"} - {revived}
        assert len(plugin.load_messages(OWNER, revived)) == 3

    def test_a_running_turn_keeps_its_thread(self, make_plugin: MakePlugin) -> None:
        plugin, clock = with_ability(make_plugin, PurgesThreads)
        if not keeps_live_turns(plugin):
            pytest.skip("the plugin keeps no live turns")
        start(plugin, "1")
        clock.advance(1)
        assert purge(plugin, clock()) == []
        assert plugin.purge_thread(OWNER, THREAD, clock()) is None
        end(plugin, "1")
        start(plugin, "2", thread_id="thread-2")
        clock.advance(LEASE + 1)
        assert len(purge(plugin, clock())) == 2

    def test_what_was_purged_leaves_nothing_behind(self, make_plugin: MakePlugin) -> None:
        plugin, clock = with_ability(make_plugin, PurgesThreads, threads="one")
        plugin.append_messages(OWNER, THREAD, [ask("1")], key="question:1")
        untouched = contents(plugin, STRANGER)
        clock.advance(1)
        assert purge(plugin, clock()) == [(OWNER, THREAD)]
        assert contents(plugin, OWNER) == untouched
        if isinstance(plugin, CurrentThread):
            assert plugin.current_thread(OWNER) is None
        assert plugin.append_messages(OWNER, THREAD, [answer("1")], reply_to="q-1") is None
        again = plugin.append_messages(OWNER, THREAD, [ask("1")], key="question:1")
        assert again is not None
        assert not again.repeated

    @pytest.mark.parametrize("thread_id", [UNKNOWN, *IMPOSSIBLE.values()])
    def test_a_purge_of_what_is_not_there_does_nothing(self, make_plugin: MakePlugin, thread_id: str) -> None:
        plugin, clock = with_ability(make_plugin, PurgesThreads)
        plugin.append_messages(OWNER, THREAD, [ChatMessage("user", "x")])
        assert plugin.purge_thread(OWNER, thread_id, clock() + 1) is None
        assert plugin.has_thread(OWNER, THREAD)
