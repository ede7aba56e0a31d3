"""Reading a thread."""

from __future__ import annotations

import typing as t

import pytest

from ...message import ChatMessage
from ..clock import ManualClock
from .parts import ask
from .parts import MakePlugin
from .parts import OWNER
from .parts import sequences
from .parts import texts
from .parts import THREAD
from .parts import UNKNOWN

LETTERS = "abcdef"


class LoadingContract:
    """``has_thread`` and ``load_messages``."""

    def test_an_unknown_thread_is_empty_and_stays_unknown(self, make_plugin: MakePlugin) -> None:
        plugin = make_plugin()
        assert plugin.load_messages(OWNER, UNKNOWN) == []
        assert plugin.load_messages(OWNER, UNKNOWN, limit=5, before=3) == []
        assert not plugin.has_thread(OWNER, UNKNOWN)

    def test_messages_of_one_instant_come_in_the_order_of_their_appends(self, make_plugin: MakePlugin) -> None:
        plugin = make_plugin()
        plugin.clock = ManualClock()
        plugin.append_messages(OWNER, THREAD, [ChatMessage("user", f"batch {n}", id=str(9 - n)) for n in range(5)])
        for n in range(5):
            plugin.append_messages(OWNER, THREAD, [ChatMessage("user", f"single {n}", id=f"0{9 - n}")])
        loaded = plugin.load_messages(OWNER, THREAD)
        assert texts(loaded) == [f"batch {n}" for n in range(5)] + [f"single {n}" for n in range(5)]
        assert sequences(loaded) == list(range(1, 11))

    def test_a_time_that_the_message_claims_does_not_order_it(self, make_plugin: MakePlugin) -> None:
        plugin = make_plugin()
        times = ["2026-11-30T17:00:00Z", "2026-11-30T12:00:00Z", "1999-01-01T00:00:00Z"]
        plugin.append_messages(OWNER, THREAD, [ChatMessage("user", time, created_at=time) for time in times])
        assert texts(plugin.load_messages(OWNER, THREAD)) == times

    @pytest.mark.parametrize(
        ("range_", "expected"),
        [
            ({}, "abcdef"),
            ({"limit": None}, "abcdef"),
            ({"limit": 0}, ""),
            ({"limit": 1}, "f"),
            ({"limit": 2}, "ef"),
            ({"limit": 6}, "abcdef"),
            ({"limit": 10**9}, "abcdef"),
            ({"limit": 10**30}, "abcdef"),
            ({"before": 4}, "abc"),
            ({"before": 4, "limit": 2}, "bc"),
            ({"before": 4, "limit": 0}, ""),
            ({"before": 1}, ""),
            ({"before": -7}, ""),
            ({"before": 10**30, "limit": 2}, "ef"),
            ({"after": 4}, "ef"),
            ({"after": 2, "limit": 3}, "cde"),
            ({"after": 0, "limit": 2}, "ab"),
            ({"after": 2, "limit": 0}, ""),
            ({"after": 6}, ""),
            ({"after": -7, "limit": 1}, "a"),
            ({"after": 10**30}, ""),
        ],
    )
    def test_a_range_is_read_oldest_first(
        self, make_plugin: MakePlugin, range_: dict[str, t.Any], expected: str
    ) -> None:
        plugin = make_plugin()
        plugin.append_messages(OWNER, THREAD, [ChatMessage("user", letter) for letter in LETTERS])
        loaded = plugin.load_messages(OWNER, THREAD, **range_)
        assert "".join(texts(loaded)) == expected
        assert sequences(loaded) == [LETTERS.index(letter) + 1 for letter in expected]

    @pytest.mark.parametrize("thread_id", [THREAD, UNKNOWN])
    @pytest.mark.parametrize(
        "range_",
        [
            {"limit": -1},
            {"limit": True},
            {"limit": "3"},
            {"limit": 2.5},
            {"before": "3"},
            {"after": 1.0},
            {"before": 5, "after": 1},
        ],
    )
    def test_what_is_no_range_is_refused(
        self, make_plugin: MakePlugin, thread_id: str, range_: dict[str, t.Any]
    ) -> None:
        plugin = make_plugin()
        plugin.append_messages(OWNER, THREAD, [ask("1")])
        with pytest.raises(ValueError):
            plugin.load_messages(OWNER, thread_id, **range_)

    def test_scrolling_back_neither_repeats_nor_skips_while_messages_arrive(self, make_plugin: MakePlugin) -> None:
        plugin = make_plugin()
        plugin.append_messages(OWNER, THREAD, [ChatMessage("user", letter) for letter in LETTERS])
        seen: list[str] = []
        before = None
        while page := plugin.load_messages(OWNER, THREAD, limit=2, before=before):
            seen = texts(page) + seen
            before = page[0].sequence
            plugin.append_messages(OWNER, THREAD, [ChatMessage("user", "meanwhile")])
        assert "".join(seen) == LETTERS

    def test_who_changes_a_loaded_message_does_not_change_the_stored_one(self, make_plugin: MakePlugin) -> None:
        plugin = make_plugin()
        message = ChatMessage("user", [{"type": "text", "text": "as stored"}], metadata={"kept": [1]})
        plugin.append_messages(OWNER, THREAD, [message])
        for held in (message, *plugin.load_messages(OWNER, THREAD)):
            held.metadata["kept"].append(2)
            assert isinstance(held.content, list)
            held.content.clear()
        loaded = plugin.load_messages(OWNER, THREAD)[0]
        assert loaded.metadata == {"kept": [1]}
        assert loaded.text == "as stored"
