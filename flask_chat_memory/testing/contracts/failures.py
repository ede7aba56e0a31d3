"""A store that fails, and records that cannot be read."""

from __future__ import annotations

import collections.abc as cabc

import pytest

from flask_chat_memory import ChatMemoryPlugin
from flask_chat_memory import CorruptRecord
from flask_chat_memory import Scope
from flask_chat_memory import StorageError

from .parts import ask
from .parts import exchange
from .parts import MakePlugin
from .parts import OWNER
from .parts import texts
from .parts import THREAD

Damage = cabc.Callable[[ChatMemoryPlugin, Scope, str], None]
BreakStore = cabc.Callable[[ChatMemoryPlugin], None]

OPERATIONS: dict[str, cabc.Callable[[ChatMemoryPlugin], object]] = {
    "has": lambda plugin: plugin.has_thread(OWNER, THREAD),
    "load": lambda plugin: plugin.load_messages(OWNER, THREAD),
    "save": lambda plugin: plugin.save_messages(OWNER, THREAD, [ask("hidden words")]),
    "append": lambda plugin: plugin.append_messages(OWNER, THREAD, [ask("hidden words")]),
    "clear": lambda plugin: plugin.clear_messages(OWNER, THREAD),
    "delete": lambda plugin: plugin.delete_thread(OWNER, THREAD),
}


class CorruptionContract:
    """Corrupt data is reported and kept, and does no harm to its neighbours.

    The fixture ``damage`` gives a function of plugin, scope and thread id that makes the newest record of the thread
    unreadable.
    """

    def test_a_damaged_record_is_reported_and_kept(self, make_plugin: MakePlugin, damage: Damage) -> None:
        plugin = make_plugin()
        plugin.append_messages(OWNER, THREAD, exchange("1"))
        damage(plugin, OWNER, THREAD)
        for _ in range(2):
            with pytest.raises(CorruptRecord):
                plugin.load_messages(OWNER, THREAD)

    def test_an_append_does_not_bury_the_damage(self, make_plugin: MakePlugin, damage: Damage) -> None:
        plugin = make_plugin()
        plugin.append_messages(OWNER, THREAD, exchange("1"))
        damage(plugin, OWNER, THREAD)
        try:
            plugin.append_messages(OWNER, THREAD, exchange("2"))
        except StorageError:
            pass
        with pytest.raises(CorruptRecord):
            plugin.load_messages(OWNER, THREAD)

    def test_neighbours_of_a_damaged_thread_go_on(self, make_plugin: MakePlugin, damage: Damage) -> None:
        plugin = make_plugin(threads="many")
        plugin.append_messages(OWNER, THREAD, exchange("1"))
        plugin.append_messages(OWNER, "neighbour", exchange("2"))
        damage(plugin, OWNER, THREAD)
        plugin.append_messages(OWNER, "neighbour", exchange("3"))
        expected = ["question 2", "answer 2", "question 3", "answer 3"]
        assert texts(plugin.load_messages(OWNER, "neighbour")) == expected

    def test_a_damaged_thread_can_be_deleted(self, make_plugin: MakePlugin, damage: Damage) -> None:
        plugin = make_plugin()
        plugin.append_messages(OWNER, THREAD, exchange("1"))
        damage(plugin, OWNER, THREAD)
        assert plugin.delete_thread(OWNER, THREAD)
        assert plugin.load_messages(OWNER, THREAD) == []


class FailingStoreContract:
    """What the driver raises arrives as StorageError with the cause, and tells nothing of the messages.

    The fixture ``break_store`` gives a function of the plugin after which its store no longer works.
    """

    @pytest.mark.parametrize("operation", OPERATIONS)
    def test_a_failure_keeps_its_cause_and_shows_no_text(
        self, make_plugin: MakePlugin, break_store: BreakStore, operation: str
    ) -> None:
        plugin = make_plugin()
        plugin.append_messages(OWNER, THREAD, exchange("1"))
        break_store(plugin)
        with pytest.raises(StorageError) as caught:
            OPERATIONS[operation](plugin)
        assert caught.value.__cause__ is not None
        assert "hidden words" not in str(caught.value)
