"""The plugins of temporary storage, and what they leave to the plugin that they pick."""

from __future__ import annotations

import pathlib
import types
import typing as t

import pytest

from flask_chat_memory import ChatMemoryPlugin
from flask_chat_memory import ChatMessage
from flask_chat_memory import ConfigurationError
from flask_chat_memory import Scope
from flask_chat_memory.plugins import abilities
from flask_chat_memory.plugins.file import FilePlugin
from flask_chat_memory.plugins.flask_session import FlaskSessionPlugin
from flask_chat_memory.plugins.flask_session import FlaskSessionPoolPlugin
from flask_chat_memory.plugins.flask_session import TemporaryPlugin
from flask_chat_memory.plugins.forwarding import OWN
from flask_chat_memory.plugins.options import DAY
from flask_chat_memory.plugins.redis import RedisPlugin
from flask_chat_memory.plugins.registry import PluginRegistry
from flask_chat_memory.plugins.sqlalchemy import SQLAlchemyPlugin

from .conversations import OWNER

PICKED = [RedisPlugin, SQLAlchemyPlugin, FilePlugin]


@pytest.mark.parametrize("picked", PICKED)
def test_it_has_every_ability_of_what_it_picks(picked: type[ChatMemoryPlugin]) -> None:
    of_picked = {kind for kind in picked.__mro__ if kind.__module__.startswith(f"{abilities.__name__}.")}
    assert len(of_picked) > 3
    assert of_picked <= set(TemporaryPlugin.__mro__)
    assert picked.shared_by_processes is TemporaryPlugin.shared_by_processes


def test_every_operation_goes_to_the_plugin_that_was_picked(tmp_path: pathlib.Path) -> None:
    plugin: t.Any = PluginRegistry().create("flask_session", {"store": str(tmp_path / "sessions")})
    plugin._picked = Recorder()
    operations = [
        name
        for kind in TemporaryPlugin.__mro__[1:]
        for name, value in vars(kind).items()
        if isinstance(value, types.FunctionType) and not name.startswith("_") and name not in (OWN, "close")
    ]
    assert len(operations) > 14
    for name in operations:
        assert getattr(plugin, name)("one", two=2) == (name, ("one",), {"two": 2})


class Recorder:
    def __getattr__(self, name: str) -> t.Any:
        return lambda *arguments, **named: (name, arguments, named)


def test_nothing_of_it_is_left_abstract() -> None:
    assert not TemporaryPlugin.__abstractmethods__


def test_a_child_process_gets_a_lock_of_its_own(tmp_path: pathlib.Path) -> None:
    plugin = PluginRegistry().create("flask_session", {"store": str(tmp_path / "sessions")})
    of_the_parent = plugin.lock
    plugin.after_fork()
    assert plugin.lock is not of_the_parent


def test_a_settings_page_shows_temporary_storage() -> None:
    definitions = PluginRegistry().definitions()
    one, many = definitions["flask_session"], definitions["flask_session_pool"]
    assert (one.label, many.label) == ("Temporary storage", "Temporary storage, multiple threads")
    assert one.options["expiry"].default == many.options["expiry"].default == DAY
    assert (one.options["threads"].choices, many.options["threads"].choices) == (("one",), ("many",))
    assert (one.options["max_threads"].default, many.options["max_threads"].default) == (100, 10)
    editable = [name for name, option in many.options.items() if option.editable]
    assert editable == ["expiry", "max_messages", "max_threads"]
    assert many.options["max_threads"].label == one.options["max_threads"].label == "Conversations kept"


def test_outside_an_app_the_store_is_given(tmp_path: pathlib.Path) -> None:
    plugin = PluginRegistry().create("flask_session", {"store": str(tmp_path / "sessions")})
    plugin.append_messages(Scope(OWNER), "thread", [ChatMessage("user", "hello")])
    assert [path.name for path in tmp_path.iterdir()] == ["sessions-chat_memory_temporary"]
    assert str(tmp_path) not in repr(plugin.options)
    with pytest.raises(ConfigurationError, match="^flask_session_pool: outside an app, give store"):
        PluginRegistry().create("flask_session_pool")


def test_the_two_plugins_have_names_of_their_own() -> None:
    names = [FlaskSessionPlugin.Options().name, FlaskSessionPoolPlugin.Options().name]
    assert names == ["chat_memory_temporary", "chat_memory_temporary_pool"]
