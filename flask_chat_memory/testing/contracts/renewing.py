"""What a turn and those who wait for it tell each other while it is being answered."""

from __future__ import annotations

import msgspec
import pytest

from ...plugins.abilities import DescribesThreads
from ...plugins.records import Appended
from ...plugins.records import Renewal
from .expiry import EXPIRY
from .parts import contents
from .parts import exchange
from .parts import MakePlugin
from .parts import OWNER
from .parts import STRANGER
from .parts import texts
from .parts import THREAD
from .parts import UNKNOWN
from .turns import end
from .turns import LEASE
from .turns import record
from .turns import REMOVALS
from .turns import start
from .turns import with_live_turns


class RenewingContract:
    """Leases, the text so far, and the wish to stop."""

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
        assert plugin.renew_turns([Renewal(OWNER, THREAD, "1")], clock() + LEASE) == {"1"}
        assert plugin.renew_turns([], clock() + LEASE) == set()
        assert contents(plugin, OWNER) == before

    def test_renewing_tells_of_turns_whose_record_is_gone(self, make_plugin: MakePlugin) -> None:
        plugin, clock = with_live_turns(make_plugin, threads="many", expiry=EXPIRY)
        ids = [THREAD, "thread-2", "thread-3", "thread-4", "thread-5"]
        turns = [Renewal(OWNER, id, f"of-{id}", "so far") for id in ids]
        turns += [Renewal(OWNER, UNKNOWN, "of nobody"), Renewal(STRANGER, THREAD, "of somebody else")]
        for turn in turns[:-2]:
            start(plugin, turn.turn, thread_id=turn.thread_id)
        plugin.delete_thread(OWNER, "thread-2")
        plugin.clear_messages(OWNER, "thread-3")
        end(plugin, "of-thread-4", thread_id="thread-4")
        gone = {"of-thread-2", "of-thread-3", "of-thread-4", "of nobody", "of somebody else"}
        assert plugin.renew_turns(turns, clock() + LEASE) == gone
        plugin.renew_turns(turns[:1], clock() + 10 * EXPIRY)
        clock.advance(EXPIRY + LEASE + 1)
        assert plugin.renew_turns(turns, clock() + LEASE) == gone | {"of-thread-5"}
        assert [plugin.has_thread(OWNER, id) for id in ids] == [True, False, False, False, False]

    def test_what_a_turn_has_told_so_far_is_kept(self, make_plugin: MakePlugin) -> None:
        plugin, clock = with_live_turns(make_plugin)
        for name in ("1", "2"):
            start(plugin, name)
        far = 'a "line"\n' * 9000
        for text, told in [("as far", "as far"), (None, "as far"), ("as far as this 你好 🙂", None), (far, None)]:
            plugin.renew_turns([Renewal(OWNER, THREAD, "1", text), Renewal(OWNER, THREAD, "2")], clock() + LEASE)
            expected = msgspec.structs.replace(record(plugin, "1"), text=told or text or "")
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
        expected = [msgspec.structs.replace(record(plugin, name, 99), text=f"text {name}") for name in names]
        found = [msgspec.structs.replace(live, stop_wanted=False) for live in plugin.live_turns(OWNER, THREAD)]
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
