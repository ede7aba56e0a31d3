"""Replacing, clearing and deleting."""

from __future__ import annotations

import typing as t

import pytest

from ...message import ChatMessage
from .appending import NO_MESSAGE
from .appending import REFUSED
from .parts import ask
from .parts import assert_same
from .parts import contents
from .parts import exchange
from .parts import MakePlugin
from .parts import OWNER
from .parts import sequences
from .parts import texts
from .parts import THREAD
from .parts import UNKNOWN


class ReplacingContract:
    """``save_messages``, ``clear_messages`` and ``delete_thread``."""

    def test_save_makes_an_absent_thread(self, make_plugin: MakePlugin) -> None:
        plugin = make_plugin()
        plugin.save_messages(OWNER, THREAD, exchange("1"))
        loaded = plugin.load_messages(OWNER, THREAD)
        assert_same(loaded, exchange("1"))
        assert sequences(loaded) == [1, 2]

    def test_save_replaces_everything(self, make_plugin: MakePlugin) -> None:
        plugin = make_plugin()
        plugin.append_messages(OWNER, THREAD, exchange("1"))
        plugin.save_messages(OWNER, THREAD, exchange("2"))
        assert_same(plugin.load_messages(OWNER, THREAD), exchange("2"))

    def test_save_of_nothing_leaves_an_empty_thread(self, make_plugin: MakePlugin) -> None:
        plugin = make_plugin()
        plugin.append_messages(OWNER, THREAD, exchange("1"))
        plugin.save_messages(OWNER, THREAD, [])
        assert plugin.has_thread(OWNER, THREAD)
        assert plugin.load_messages(OWNER, THREAD) == []

    def test_save_keeps_the_numbers_that_it_is_given(self, make_plugin: MakePlugin) -> None:
        plugin = make_plugin()
        plugin.append_messages(OWNER, THREAD, [*exchange("1"), *exchange("2"), *exchange("3")])
        kept = [message for message in plugin.load_messages(OWNER, THREAD) if message.sequence in (2, 5)]
        plugin.save_messages(OWNER, THREAD, kept)
        loaded = plugin.load_messages(OWNER, THREAD)
        assert_same(loaded, kept)
        assert sequences(loaded) == [2, 5]

    def test_save_numbers_new_messages_on_and_uses_no_number_twice(self, make_plugin: MakePlugin) -> None:
        plugin = make_plugin()
        plugin.append_messages(OWNER, THREAD, [*exchange("1"), *exchange("2")])
        old = plugin.load_messages(OWNER, THREAD)
        plugin.save_messages(OWNER, THREAD, [old[0], ask("new"), old[3]])
        loaded = plugin.load_messages(OWNER, THREAD)
        assert texts(loaded) == ["question 1", "question new", "answer 2"]
        given = sequences(loaded)
        assert given[0] == 1
        assert not set(given) & {2, 3}
        appended = plugin.append_messages(OWNER, THREAD, [ask("3")])
        assert appended is not None
        assert appended.sequence > given[-1]

    def test_a_save_that_fails_leaves_what_was_there(self, make_plugin: MakePlugin) -> None:
        plugin = make_plugin()
        batch: t.Any = [ask("2"), NO_MESSAGE]
        with pytest.raises(REFUSED):
            plugin.save_messages(OWNER, THREAD, batch)
        assert not plugin.has_thread(OWNER, THREAD)
        plugin.append_messages(OWNER, THREAD, exchange("1"))
        before = contents(plugin, OWNER)
        with pytest.raises(REFUSED):
            plugin.save_messages(OWNER, THREAD, batch)
        assert contents(plugin, OWNER) == before
        plugin.append_messages(OWNER, THREAD, [ask("3")])
        assert texts(plugin.load_messages(OWNER, THREAD)) == ["question 1", "answer 1", "question 3"]

    def test_clear_removes_all_messages_and_keeps_the_thread(self, make_plugin: MakePlugin) -> None:
        plugin = make_plugin()
        plugin.append_messages(OWNER, THREAD, [ChatMessage("user", str(n)) for n in range(1001)])
        plugin.clear_messages(OWNER, THREAD)
        assert plugin.load_messages(OWNER, THREAD) == []
        assert plugin.has_thread(OWNER, THREAD)
        plugin.append_messages(OWNER, THREAD, [ask("1")])
        assert texts(plugin.load_messages(OWNER, THREAD)) == ["question 1"]

    def test_clear_of_an_unknown_thread_makes_none(self, make_plugin: MakePlugin) -> None:
        plugin = make_plugin()
        plugin.clear_messages(OWNER, UNKNOWN)
        assert not plugin.has_thread(OWNER, UNKNOWN)

    def test_delete_tells_once_that_there_was_a_thread(self, make_plugin: MakePlugin) -> None:
        plugin = make_plugin()
        plugin.append_messages(OWNER, THREAD, exchange("1"))
        assert plugin.delete_thread(OWNER, THREAD) is True
        assert not plugin.has_thread(OWNER, THREAD)
        assert plugin.load_messages(OWNER, THREAD) == []
        assert plugin.delete_thread(OWNER, THREAD) is False
        assert plugin.delete_thread(OWNER, UNKNOWN) is False

    def test_nothing_of_a_deleted_thread_comes_back_with_its_id(self, make_plugin: MakePlugin) -> None:
        plugin = make_plugin()
        plugin.append_messages(OWNER, THREAD, exchange("1"))
        plugin.delete_thread(OWNER, THREAD)
        plugin.append_messages(OWNER, THREAD, [ask("2")])
        assert texts(plugin.load_messages(OWNER, THREAD)) == ["question 2"]

    def test_an_empty_thread_can_be_deleted(self, make_plugin: MakePlugin) -> None:
        plugin = make_plugin()
        plugin.save_messages(OWNER, THREAD, [])
        assert plugin.delete_thread(OWNER, THREAD) is True
        assert not plugin.has_thread(OWNER, THREAD)

    def test_the_other_threads_of_the_scope_stay(self, make_plugin: MakePlugin) -> None:
        plugin = make_plugin(threads="many")
        for name in ("1", "2", "3", "4"):
            plugin.append_messages(OWNER, f"thread-{name}", exchange(name))
        plugin.delete_thread(OWNER, "thread-1")
        plugin.clear_messages(OWNER, "thread-2")
        plugin.save_messages(OWNER, "thread-3", [ask("new")])
        assert_same(plugin.load_messages(OWNER, "thread-4"), exchange("4"))
