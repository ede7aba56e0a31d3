"""How the plugin is chosen: its options, those of the wrapped plugin, and what is refused."""

from __future__ import annotations

import logging
import pathlib
import sys
import typing as t

import flask
import pytest

from flask_chat_memory import ChatMemory
from flask_chat_memory import ConfigurationError
from flask_chat_memory.encryption import Cipher
from flask_chat_memory.plugins.encrypted import EncryptedPlugin
from flask_chat_memory.plugins.encrypted_.sealing import Sealing
from flask_chat_memory.plugins.registry import PluginRegistry
from flask_chat_memory.plugins.sqlalchemy import SQLAlchemyPlugin

from .apps import said
from .conftest import MakeSite
from .encryption import NEW
from .encryption import OLD
from .encryption import OTHER
from .encryption import wrapped
from .five_methods import FiveMethodsPlugin

THREADS = pytest.mark.parametrize("threads", ["one", "many"])


def start(folder: pathlib.Path, **options: t.Any) -> ChatMemory:
    app = flask.Flask("site", instance_path=str(folder / "instance"))
    app.config.update(SECRET_KEY="secret", CHAT_MEMORY_PLUGIN="encrypted", CHAT_MEMORY_OPTIONS=options)
    return ChatMemory(app)


WRONG: dict[str, tuple[dict[str, t.Any], str]] = {
    "nothing": ({}, "CHAT_MEMORY_OPTIONS lacks the option 'plugin', which has no default"),
    "no keys": ({"plugin": "in_memory"}, "CHAT_MEMORY_OPTIONS lacks the option 'keys', which has no default"),
    "an empty list": ({"plugin": "in_memory", "keys": []}, "keys is empty; make a key: python"),
    "one key as text": ({"plugin": "in_memory", "keys": NEW}, r"keys is \*\*\*; allowed is list"),
    "a short key": ({"plugin": "in_memory", "keys": [NEW, "c2hvcnQ="]}, r"keys\[1\] is no base64 of 32 bytes; make a"),
    "None": ({"plugin": None, "keys": [NEW]}, "plugin is None; name the plugin that keeps what is encrypted"),
    "unknown": (
        {"plugin": "sqlite", "keys": [NEW]},
        r"CHAT_MEMORY_OPTIONS\['plugin'\]: no plugin 'sqlite'; known are: in",
    ),
    "no plugin": ({"plugin": 5, "keys": [NEW]}, r"CHAT_MEMORY_OPTIONS\['plugin'\]: 5 is no plugin"),
    "itself": ({"plugin": "encrypted", "keys": [NEW]}, r"CHAT_MEMORY_OPTIONS\['plugin'\] is 'encrypted' itself"),
    "its class": ({"plugin": EncryptedPlugin, "keys": [NEW]}, "is 'encrypted' itself"),
    "no dict": (
        {"plugin": "in_memory", "keys": [NEW], "options": "secret words"},
        r"CHAT_MEMORY_OPTIONS\['options'\] must be a dict, not str",
    ),
    "an unknown option": (
        {"plugin": "file", "keys": [NEW], "options": {"path": "x"}},
        r"CHAT_MEMORY_OPTIONS\['options'\] has no option 'path'; the options are: ",
    ),
    "a wrong option": (
        {"plugin": "file", "keys": [NEW], "options": {"folder": ""}},
        r"CHAT_MEMORY_OPTIONS\['options'\]: file: folder '' is no path",
    ),
    "an option in the wrong place": (
        {"plugin": "sqlalchemy", "keys": [NEW], "url": "x"},
        "CHAT_MEMORY_OPTIONS has no option 'url'; the options are: .*plugin, keys, options",
    ),
    "an option of both": (
        {"plugin": "in_memory", "keys": [NEW], "options": {"expiry": 5}},
        r"CHAT_MEMORY_OPTIONS\['options'\] has 'expiry', which is for both plugins; give it beside 'plugin'",
    ),
    "a wrong option of both": ({"plugin": "in_memory", "keys": [NEW], "expiry": 0}, "CHAT_MEMORY_OPTIONS: expiry is 0"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_refused_at_start_up(name: str, tmp_path: pathlib.Path) -> None:
    options, text = WRONG[name]
    with pytest.raises(ConfigurationError, match=text) as caught:
        start(tmp_path, **options)
    assert "secret words" not in str(caught.value)
    assert "c2hvcnQ" not in str(caught.value)


def test_an_option_that_the_wrapped_plugin_needs_is_asked_for(tmp_path: pathlib.Path) -> None:
    class Needs(FiveMethodsPlugin):
        class Options(FiveMethodsPlugin.Options, frozen=True, kw_only=True):
            place: str

    with pytest.raises(ConfigurationError, match=r"CHAT_MEMORY_OPTIONS\['options'\] lacks the option 'place'"):
        start(tmp_path, plugin=Needs, keys=[NEW])


def test_without_cryptography_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("flask_chat_memory.plugins.encrypted", "flask_chat_memory.encryption"):
        monkeypatch.delitem(sys.modules, module)
    for module in [name for name in sys.modules if name.split(".")[0] == "cryptography"]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "cryptography", None)
    with pytest.raises(ConfigurationError, match=r"needs cryptography.*install flask-chat-memory\[encryption\]"):
        PluginRegistry().find("encrypted")
    assert "encrypted" not in PluginRegistry().definitions()


def test_the_options_of_all_plugins_hold_for_both() -> None:
    class Short(FiveMethodsPlugin):
        class Options(FiveMethodsPlugin.Options, frozen=True, kw_only=True):
            expiry: int | None = 60
            max_threads: int = 7

    made = EncryptedPlugin({"plugin": Short, "keys": [NEW], "max_messages": 8, "max_threads": 9, "threads": "many"})
    for options in (made.options, wrapped(made).options):
        assert (options.expiry, options.max_messages, options.max_threads, options.threads) == (60, 8, 9, "many")


def test_the_wrapped_plugin_finds_its_place_in_the_instance_folder(tmp_path: pathlib.Path) -> None:
    places = {
        "sqlalchemy": ({"url": "sqlite:///deep/own.db"}, "instance/deep/own.db"),
        "file": ({}, "instance/chat-memory"),
    }
    for plugin, (options, place) in places.items():
        app = flask.Flask("site", instance_path=str(tmp_path / "instance"))
        app.config.update(SECRET_KEY="s", CHAT_MEMORY_PLUGIN="encrypted")
        app.config["CHAT_MEMORY_OPTIONS"] = {"plugin": plugin, "keys": [NEW], "options": options}
        memory = ChatMemory(app)
        with app.app_context():
            memory.start_conversation("user:1").turn("hi").finish("hello")
            assert len(memory.start_conversation("user:1").history()) == 2
        assert (tmp_path / place).exists()


def test_nothing_shows_a_key_or_an_option_of_the_wrapped_plugin() -> None:
    options = {"plugin": "sqlalchemy", "keys": [NEW, OLD], "options": {"url": "sqlite:///hidden.db"}}
    made = EncryptedPlugin.Options.make(options, "here")
    for shown in (repr(made), str(made), f"{made!r:.999}"):
        assert NEW not in shown
        assert "hidden.db" not in shown
    definitions = PluginRegistry().definitions()["encrypted"].options
    assert definitions["keys"].secret
    assert definitions["options"].secret
    assert not any(definitions[name].editable for name in ("plugin", "keys", "options"))


def test_equal_options_share_an_instance_and_others_do_not(tmp_path: pathlib.Path) -> None:
    app = flask.Flask("site", instance_path=str(tmp_path))
    same = {"plugin": "encrypted", "options": {"plugin": "sqlalchemy", "keys": [NEW]}}
    by_class = {"plugin": EncryptedPlugin, "options": {"plugin": SQLAlchemyPlugin, "keys": [NEW]}}
    other_key = {"plugin": "encrypted", "options": {"plugin": "sqlalchemy", "keys": [OTHER]}}
    app.config.update(SECRET_KEY="s", CHAT_MEMORY_CHATBOTS={"a": same, "b": by_class, "c": other_key})
    memory = ChatMemory(app)
    with app.app_context():
        a, b, c = map(memory.plugin_for, "abc")
        assert a is b
        assert a is not c


@pytest.mark.scenario("S055")
@pytest.mark.parametrize(("plugin", "warned"), [("in_memory", True), ("file", False)])
def test_the_warning_about_workers_goes_by_the_wrapped_plugin(
    plugin: str, warned: bool, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("WEB_CONCURRENCY", "4")
    app = flask.Flask("site", instance_path=str(tmp_path))
    app.config.update(SECRET_KEY="s", CHAT_MEMORY_PLUGIN="encrypted")
    app.config["CHAT_MEMORY_OPTIONS"] = {"plugin": plugin, "keys": [NEW]}
    memory = ChatMemory(app)
    with app.app_context(), caplog.at_level(logging.WARNING):
        assert memory.plugin is not None
    assert ("WEB_CONCURRENCY" in caplog.text) is warned


@THREADS
@pytest.mark.parametrize("plugin", ["in_memory", "sqlalchemy", "file", FiveMethodsPlugin])
def test_a_guest_who_logs_in_keeps_the_conversation(new_site: MakeSite, threads: str, plugin: t.Any) -> None:
    options = {"plugin": plugin, "keys": [NEW], "threads": threads}
    site = new_site(login=True, CHAT_MEMORY_PLUGIN="encrypted", CHAT_MEMORY_OPTIONS=options)
    elsewhere = site.browser()
    elsewhere.login("ann")
    browser = site.browser()
    browser.ask("first")
    browser.ask("second")
    browser.login("ann")
    assert browser.texts() == said("first", "second")
    browser.ask("third")
    assert browser.texts() == said("first", "second", "third")


def test_a_lost_key_is_an_unavailable_store_to_the_visitor_until_it_is_back(
    new_site: MakeSite, caplog: pytest.LogCaptureFixture
) -> None:
    site = new_site(CHAT_MEMORY_PLUGIN="encrypted", CHAT_MEMORY_OPTIONS={"plugin": "sqlalchemy", "keys": [NEW]})
    browser = site.browser()
    browser.ask("first")
    plugin = t.cast(EncryptedPlugin, site.plugin)
    sealing, plugin._sealing = plugin._sealing, Sealing(Cipher([OTHER]))
    for response in (browser.client.get("/chat-memory/default/history"), browser.ask("second")):
        assert response.status_code == 503
        assert "first" not in response.text
    assert "add the old key to the end of the option 'keys'" in caplog.text
    assert "first" not in caplog.text
    plugin._sealing = sealing
    assert browser.texts()[:2] == said("first")
