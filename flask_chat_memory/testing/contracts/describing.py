"""Titles and the like."""

from __future__ import annotations

import collections.abc as cabc
import functools
import typing as t

import pytest

from ...plugins.abilities import DescribesThreads
from ...plugins.abilities import ListsThreads
from ...plugins.abilities import MovesThreads
from ...plugins.records import Thread
from .expiry import EXPIRY
from .listing import fill
from .listing import ids
from .listing import SCOPES
from .listing import with_ability
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
from .thread_ids import IMPOSSIBLE


class DescribesThreadsContract:
    """The ability :class:`DescribesThreads`."""

    def test_a_thread_is_described(self, make_plugin: MakePlugin) -> None:
        plugin, clock = with_ability(make_plugin, DescribesThreads)
        plugin.append_messages(OWNER, THREAD, exchange("1"))
        plain = Thread(id=THREAD, created_at=clock(), last_activity=clock(), messages=2)
        assert plugin.find_thread(OWNER, THREAD) == plain
        title = "Größe 漢字 😀 <b>'\";--"
        assert plugin.update_thread(OWNER, THREAD, title=title, pinned=True)
        assert plugin.update_thread(OWNER, THREAD, archived=True, configuration="support, version 2")
        found = plugin.find_thread(OWNER, THREAD)
        assert found == Thread(
            id=THREAD,
            created_at=clock(),
            last_activity=clock(),
            messages=2,
            title=title,
            pinned=True,
            archived=True,
            configuration="support, version 2",
        )
        assert plugin.update_thread(OWNER, THREAD, title=None, pinned=False, archived=False, configuration=None)
        assert plugin.find_thread(OWNER, THREAD) == plain

    def test_a_description_outlives_what_happens_to_the_messages(self, make_plugin: MakePlugin) -> None:
        plugin, clock = with_ability(make_plugin, DescribesThreads)
        born = clock()
        plugin.append_messages(OWNER, THREAD, exchange("1"))
        plugin.update_thread(OWNER, THREAD, title="kept", pinned=True)
        clock.advance(1)
        plugin.append_messages(OWNER, THREAD, exchange("2"))
        plugin.save_messages(OWNER, THREAD, exchange("3"))
        plugin.clear_messages(OWNER, THREAD)
        found = plugin.find_thread(OWNER, THREAD)
        expected = Thread(id=THREAD, created_at=born, last_activity=clock(), messages=0, title="kept", pinned=True)
        assert found == expected

    def test_a_thread_made_anew_has_no_old_title(self, make_plugin: MakePlugin) -> None:
        plugin, clock = with_ability(make_plugin, DescribesThreads, expiry=EXPIRY)
        plugin.append_messages(OWNER, THREAD, exchange("1"))
        plugin.update_thread(OWNER, THREAD, title="old")
        plugin.delete_thread(OWNER, THREAD)
        plugin.append_messages(OWNER, THREAD, exchange("2"))
        plugin.append_messages(OWNER, "thread-2", exchange("1"))
        plugin.update_thread(OWNER, "thread-2", title="old")
        clock.advance(EXPIRY + 1)
        plugin.append_messages(OWNER, "thread-2", exchange("2"))
        assert [plugin.find_thread(OWNER, "thread-2")] == [
            Thread(id="thread-2", created_at=clock(), last_activity=clock(), messages=2)
        ]

    def test_a_change_is_no_activity(self, make_plugin: MakePlugin) -> None:
        plugin, clock = with_ability(make_plugin, DescribesThreads, expiry=EXPIRY)
        fill(plugin, clock, "a", "b")
        clock.advance(EXPIRY - 2)
        assert plugin.update_thread(OWNER, "a", title="renamed")
        if isinstance(plugin, ListsThreads):
            assert ids(plugin.list_threads(OWNER)) == ["b", "a"]
        clock.advance(1)
        assert plugin.find_thread(OWNER, "a") is None
        assert not plugin.update_thread(OWNER, "a", title="late")

    def test_a_list_shows_and_chooses_by_description(self, make_plugin: MakePlugin) -> None:
        plugin, clock = with_ability(make_plugin, DescribesThreads)
        if not isinstance(plugin, ListsThreads):
            pytest.skip("the plugin lists no threads")
        fill(plugin, clock, *"abcd")
        plugin.update_thread(OWNER, "a", title="A", pinned=True)
        plugin.update_thread(OWNER, "b", archived=True)
        plugin.update_thread(OWNER, "c", pinned=True, archived=True)
        assert [thread.title for thread in plugin.list_threads(OWNER)] == [None, None, None, "A"]
        assert ids(plugin.list_threads(OWNER, pinned=True)) == ["c", "a"]
        assert ids(plugin.list_threads(OWNER, pinned=False)) == ["d", "b"]
        assert ids(plugin.list_threads(OWNER, archived=True)) == ["c", "b"]
        assert ids(plugin.list_threads(OWNER, archived=False, pinned=False)) == ["d"]
        place = plugin.list_threads(OWNER, archived=True, limit=1)[-1].position
        assert ids(plugin.list_threads(OWNER, archived=True, limit=1, before=place)) == ["b"]

    def test_a_change_of_nothing_changes_nothing(self, make_plugin: MakePlugin) -> None:
        plugin, _ = with_ability(make_plugin, DescribesThreads)
        plugin.append_messages(OWNER, THREAD, exchange("1"))
        plugin.update_thread(OWNER, THREAD, title="kept", pinned=True)
        before = contents(plugin, OWNER)
        assert plugin.update_thread(OWNER, THREAD)
        assert not plugin.update_thread(OWNER, UNKNOWN)
        assert contents(plugin, OWNER) == before

    def test_a_title_and_messages_that_come_at_once_are_all_kept(self, make_plugin: MakePlugin) -> None:
        plugin, _ = with_ability(make_plugin, DescribesThreads)
        plugin.append_messages(OWNER, THREAD, exchange("0"))
        calls: list[cabc.Callable[[], object]] = []
        for name in "12345":
            calls.append(functools.partial(plugin.append_messages, OWNER, THREAD, exchange(name)))
            calls.append(functools.partial(plugin.update_thread, OWNER, THREAD, title="kept"))
        together(calls)
        found = plugin.find_thread(OWNER, THREAD)
        assert found
        assert (found.title, found.messages) == ("kept", 12)
        assert sorted(texts(plugin.load_messages(OWNER, THREAD))[::2]) == [f"question {name}" for name in "012345"]

    @pytest.mark.parametrize("thread_id", [UNKNOWN, *IMPOSSIBLE.values()])
    def test_an_unknown_thread_is_neither_found_nor_made(self, make_plugin: MakePlugin, thread_id: str) -> None:
        plugin, _ = with_ability(make_plugin, DescribesThreads)
        plugin.append_messages(OWNER, THREAD, exchange("1"))
        assert plugin.find_thread(OWNER, thread_id) is None
        assert not plugin.update_thread(OWNER, thread_id, title="x")
        assert not plugin.has_thread(OWNER, thread_id)

    def test_descriptions_are_confined_to_their_scope(self, make_plugin: MakePlugin) -> None:
        plugin, _ = with_ability(make_plugin, DescribesThreads)
        plugin.append_messages(OWNER, THREAD, exchange("1"))
        for scope in SCOPES[1:]:
            assert plugin.find_thread(scope, THREAD) is None
            assert not plugin.update_thread(scope, THREAD, title="stolen")
        found = plugin.find_thread(OWNER, THREAD)
        assert found
        assert found.title is None

    def test_text_is_made_storable_and_too_long_is_refused(self, make_plugin: MakePlugin) -> None:
        plugin, _ = with_ability(make_plugin, DescribesThreads)
        plugin.append_messages(OWNER, THREAD, exchange("1"))
        plugin.update_thread(OWNER, THREAD, title=" a\0b\ud800 ")
        found = plugin.find_thread(OWNER, THREAD)
        assert found
        assert found.title == "a\ufffdb\ufffd"
        assert plugin.update_thread(OWNER, THREAD, title="😀" * 200, configuration="😀" * 255)
        for changes in ({"title": "x" * 201}, {"configuration": "x" * 256}):
            with pytest.raises(ValueError, match="characters"):
                plugin.update_thread(OWNER, THREAD, **t.cast(t.Any, changes))
        plugin.update_thread(OWNER, THREAD, title="  ")
        found = plugin.find_thread(OWNER, THREAD)
        assert found
        assert (found.title, found.configuration) == (None, "😀" * 255)

    def test_an_unknown_field_is_refused(self, make_plugin: MakePlugin) -> None:
        plugin, _ = with_ability(make_plugin, DescribesThreads)
        plugin.append_messages(OWNER, THREAD, exchange("1"))
        with pytest.raises(TypeError, match="tokens"):
            plugin.update_thread(OWNER, THREAD, **t.cast(t.Any, {"tokens": 0}))

    def test_a_description_moves_with_its_thread(self, make_plugin: MakePlugin) -> None:
        plugin, clock = with_ability(make_plugin, DescribesThreads, max_messages=2)
        if not isinstance(plugin, MovesThreads):
            pytest.skip("the plugin moves no threads")
        for name in ("1", "2"):
            used = answer(name).replace(usage={"total": 10})
            plugin.append_messages(STRANGER, THREAD, [ask(name), used])
        plugin.update_thread(STRANGER, THREAD, title="mine", pinned=True, archived=True, configuration="c")
        before = plugin.find_thread(STRANGER, THREAD)
        clock.advance(1)
        plugin.move_threads(STRANGER, OWNER)
        assert plugin.find_thread(OWNER, THREAD) == before
