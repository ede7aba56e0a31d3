from __future__ import annotations

import copy
import pathlib
import typing as t

import flask
import pytest

from flask_chat_memory import ChatMemory
from flask_chat_memory import ConfigurationError
from flask_chat_memory import UnknownPlugin
from flask_chat_memory.config import DEFAULTS

from .five_methods import FiveMethodsPlugin


def app_with(**config: t.Any) -> flask.Flask:
    app = flask.Flask("site")
    app.config.update(config)
    return app


def refused(**config: t.Any) -> str:
    with pytest.raises(ConfigurationError) as caught:
        ChatMemory(app_with(**config))
    return str(caught.value)


def settings_of(app: flask.Flask, memory: ChatMemory) -> t.Any:
    with app.app_context():
        return memory.settings


def test_a_site_that_sets_nothing_keeps_the_history_in_the_browser() -> None:
    app = app_with()
    memory = ChatMemory(app)
    settings = settings_of(app, memory)
    assert list(settings.chatbots) == ["default"]
    assert settings.chatbot(None).plugin is None
    assert (settings.preload, settings.max_message_chars, settings.url_prefix) == (50, 32_000, "/chat-memory")
    assert (settings.on_login, settings.on_unavailable) == ("adopt", "refuse")
    assert [memory.turns for memory in settings.chatbot("default").short_term] == [20]


def test_defaults_are_written_back() -> None:
    app = app_with(CHAT_MEMORY_PRELOAD=5)
    ChatMemory(app)
    assert {key: app.config[key] for key in DEFAULTS} == {**DEFAULTS, "CHAT_MEMORY_PRELOAD": 5}


def test_defaults_of_one_app_are_not_those_of_another() -> None:
    before = copy.deepcopy(DEFAULTS)
    app = app_with()
    ChatMemory(app)
    try:
        app.config["CHAT_MEMORY_OPTIONS"]["expiry"] = 5
        app.config["CHAT_MEMORY_CHATBOTS"]["support"] = {}
        app.config["CHAT_MEMORY_SHORT_TERM"][0]["turns"] = 1
        assert DEFAULTS == before
    finally:
        DEFAULTS.update(before)


def test_the_configuration_is_read_once() -> None:
    app = app_with()
    memory = ChatMemory(app)
    app.config["CHAT_MEMORY_PRELOAD"] = 7
    assert settings_of(app, memory).preload == 50


@pytest.mark.scenario("S193")
@pytest.mark.parametrize("key", ["CHAT_MEMORY_PLUGINS", "CHAT_MEMORY_MAX_CHARS", "CHAT_MEMORY_", "CHAT_MEMORY_plugin"])
def test_a_wrong_key_is_refused_with_what_is_allowed(key: str) -> None:
    text = refused(**{key: 1})
    assert key in text
    assert any(known in text.replace(key, "", 1) for known in DEFAULTS)


def test_other_keys_of_the_site_are_left_alone() -> None:
    ChatMemory(app_with(CHAT_MEMORIES=1, CHAT=2, chat_memory_plugin=3))


@pytest.mark.parametrize(
    ("key", "value", "allowed"),
    [
        ("CHAT_MEMORY_ON_LOGIN", "keep", "'adopt' or 'leave'"),
        ("CHAT_MEMORY_ON_LOGIN", None, "'adopt' or 'leave'"),
        ("CHAT_MEMORY_ON_LOGIN", ["adopt"], "'adopt' or 'leave'"),
        ("CHAT_MEMORY_ON_UNAVAILABLE", "503", "'refuse' or 'answer'"),
        ("CHAT_MEMORY_PRELOAD", 0, "1"),
        ("CHAT_MEMORY_PRELOAD", "many", "whole number"),
        ("CHAT_MEMORY_PRELOAD", True, "whole number"),
        ("CHAT_MEMORY_PRELOAD", 2.5, "whole number"),
        ("CHAT_MEMORY_PRELOAD", None, "whole number"),
        ("CHAT_MEMORY_MAX_MESSAGE_CHARS", 0, "1"),
        ("CHAT_MEMORY_MAX_MESSAGE_CHARS", "-5", "whole number"),
        ("CHAT_MEMORY_URL_PREFIX", "", "None"),
        ("CHAT_MEMORY_URL_PREFIX", "/", "'/chat-memory'"),
        ("CHAT_MEMORY_URL_PREFIX", "chat", "'/chat-memory'"),
        ("CHAT_MEMORY_URL_PREFIX", "/chat/", "'/chat-memory'"),
        ("CHAT_MEMORY_URL_PREFIX", "/<chat>", "'/chat-memory'"),
        ("CHAT_MEMORY_URL_PREFIX", 5, "'/chat-memory'"),
        ("CHAT_MEMORY_SHORT_TERM", [{"type": "windows"}], "window"),
        ("CHAT_MEMORY_SHORT_TERM", [{"type": []}], "window"),
        ("CHAT_MEMORY_SHORT_TERM", [{"turns": 3}], "window"),
        ("CHAT_MEMORY_SHORT_TERM", [5], "window"),
        ("CHAT_MEMORY_SHORT_TERM", [{"type": "window", "turns": -1}], "0"),
        ("CHAT_MEMORY_SHORT_TERM", [{"type": "window", "turns": True}], "int"),
        ("CHAT_MEMORY_SHORT_TERM", [{"type": "window", "turns": 2.5}], "int"),
        ("CHAT_MEMORY_PLUGIN", "sqlalchmey", "in_memory, sqlalchemy"),
        ("CHAT_MEMORY_PLUGIN", "nowhere.at:All", "module"),
        ("CHAT_MEMORY_PLUGIN", "json:JSONDecoder", "ChatMemoryPlugin"),
        ("CHAT_MEMORY_PLUGIN", 5, "an id, an import path, a class or None"),
        ("CHAT_MEMORY_PLUGIN", dict, "ChatMemoryPlugin"),
    ],
)
def test_a_wrong_value_is_refused_with_what_is_allowed(key: str, value: t.Any, allowed: str) -> None:
    text = refused(**{key: value})
    assert key in text
    assert allowed in text
    shown = value[0] if isinstance(value, list) and key == "CHAT_MEMORY_SHORT_TERM" else value
    if isinstance(shown, dict):
        shown = next(reversed(shown.values()))
    assert str(shown) in text


@pytest.mark.parametrize(
    ("key", "value", "needed"),
    [
        ("CHAT_MEMORY_OPTIONS", [], "dict"),
        ("CHAT_MEMORY_OPTIONS", None, "dict"),
        ("CHAT_MEMORY_CHATBOTS", ["support"], "dict"),
        ("CHAT_MEMORY_CHATBOTS", "support", "dict"),
        ("CHAT_MEMORY_SHORT_TERM", {"type": "window"}, "list"),
        ("CHAT_MEMORY_SHORT_TERM", None, "list"),
    ],
)
def test_a_value_of_the_wrong_type_is_refused(key: str, value: t.Any, needed: str) -> None:
    text = refused(**{key: value})
    assert key in text
    assert needed in text
    assert type(value).__name__ in text


def test_a_wrong_option_of_a_short_term_memory_names_those_that_there_are() -> None:
    text = refused(CHAT_MEMORY_SHORT_TERM=[{"type": "window", "turn": 3}])
    assert "CHAT_MEMORY_SHORT_TERM[0]" in text
    assert "'turn'" in text
    assert "turns, messages" in text


@pytest.mark.parametrize("word", ["none", "None", "NONE"])
def test_the_word_none_is_refused_with_a_hint(word: str) -> None:
    text = refused(CHAT_MEMORY_PLUGIN=word)
    assert repr(word) in text
    assert "use None, not a string" in text
    assert "use None, not a string" in refused(CHAT_MEMORY_CHATBOTS={"support": {"plugin": word}})


@pytest.mark.scenario("S193", "D45")
@pytest.mark.parametrize("path", [".", "..", ":", ".redis", "a:", ":a", "a..b", "", " in_memory"])
def test_a_malformed_plugin_is_refused_like_an_unknown_one(path: str) -> None:
    with pytest.raises(UnknownPlugin, match="CHAT_MEMORY_PLUGIN"):
        ChatMemory(app_with(CHAT_MEMORY_PLUGIN=path))


@pytest.mark.scenario("S168", "S171")
@pytest.mark.parametrize(
    ("options", "name", "value", "allowed"),
    [
        ({"expire": 1}, "expire", "", "expiry, max_messages, threads, max_threads"),
        ({"expiry": 0}, "expiry", "0", "1"),
        ({"expiry": -5}, "expiry", "-5", "1"),
        ({"expiry": "soon"}, "expiry", "'soon'", "int or None"),
        ({"expiry": True}, "expiry", "True", "int or None"),
        ({"max_messages": 0}, "max_messages", "0", "1"),
        ({"max_messages": 2.5}, "max_messages", "2.5", "int or None"),
        ({"threads": "two"}, "threads", "'two'", "'one' or 'many'"),
        ({"threads": 1}, "threads", "1", "'one' or 'many'"),
        ({"max_threads": None}, "max_threads", "None", "int"),
        ({"max_threads": 0}, "max_threads", "0", "1"),
    ],
)
def test_a_wrong_option_is_refused_with_what_is_allowed(
    options: dict[str, t.Any], name: str, value: str, allowed: str
) -> None:
    for text, key in (
        (refused(CHAT_MEMORY_PLUGIN="in_memory", CHAT_MEMORY_OPTIONS=options), "CHAT_MEMORY_OPTIONS"),
        (
            refused(CHAT_MEMORY_CHATBOTS={"support": {"plugin": "in_memory", "options": options}}),
            "CHAT_MEMORY_CHATBOTS['support']['options']",
        ),
    ):
        assert key in text
        assert name in text
        assert value in text
        assert allowed in text


@pytest.mark.scenario("D46")
def test_numbers_may_be_text() -> None:
    app = app_with(
        CHAT_MEMORY_PLUGIN="in_memory",
        CHAT_MEMORY_PRELOAD="7",
        CHAT_MEMORY_MAX_MESSAGE_CHARS="100",
        CHAT_MEMORY_OPTIONS={"expiry": "3600", "max_messages": "10", "max_threads": "5"},
    )
    settings = settings_of(app, ChatMemory(app))
    assert (settings.preload, settings.max_message_chars) == (7, 100)
    options = settings.chatbot(None).plugin.options
    assert (options.expiry, options.max_messages, options.max_threads) == (3600, 10, 5)


def test_the_environment_configures_everything(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> None:
    for name, value in {
        "PLUGIN": "sqlalchemy",
        "OPTIONS__expiry": "null",
        "OPTIONS__max_messages": "50",
        "OPTIONS__url": f"sqlite:///{tmp_path}/a.db",
        "OPTIONS__create_tables": "false",
        "URL_PREFIX": "null",
        "PRELOAD": "9",
        "CHATBOTS__support__system_prompt": "Be kind.",
        "SHORT_TERM": '[{"type": "window", "turns": 3}]',
    }.items():
        monkeypatch.setenv(f"FLASK_CHAT_MEMORY_{name}", value)
    app = flask.Flask("site")
    app.config.from_prefixed_env()
    settings = settings_of(app, ChatMemory(app))
    support = settings.chatbot("support")
    assert (support.system_prompt, support.short_term[0].turns) == ("Be kind.", 3)
    assert (settings.url_prefix, settings.preload) == (None, 9)
    options = support.plugin.options
    assert (options.expiry, options.max_messages, options.create_tables) == (None, 50, False)


@pytest.mark.parametrize(("value", "works"), [("null", True), ("None", False)])
def test_the_environment_says_null_for_the_browser(value: str, works: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLASK_CHAT_MEMORY_PLUGIN", value)
    app = flask.Flask("site")
    app.config.from_prefixed_env()
    if works:
        assert settings_of(app, ChatMemory(app)).chatbot(None).plugin is None
    else:
        with pytest.raises(ConfigurationError, match="use None"):
            ChatMemory(app)


def test_a_plugin_with_left_over_options_can_be_switched_off_in_one_line() -> None:
    app = app_with(CHAT_MEMORY_PLUGIN=None, CHAT_MEMORY_OPTIONS={"url": "sqlite:///a.db"})
    assert settings_of(app, ChatMemory(app)).chatbot(None).plugin is None


def test_options_of_a_five_method_plugin_are_checked() -> None:
    assert "expiry" in refused(CHAT_MEMORY_PLUGIN=FiveMethodsPlugin, CHAT_MEMORY_OPTIONS={"expiry": "x"})


@pytest.mark.parametrize("url", ["oracle://name:hunter2@host/db", "hunter2", "sqlite:///:memory:?key=hunter2"])
def test_a_secret_is_in_no_error(url: str) -> None:
    text = refused(CHAT_MEMORY_PLUGIN="sqlalchemy", CHAT_MEMORY_OPTIONS={"url": url})
    assert "url" in text
    assert "hunter2" not in text


def test_a_wrong_url_names_the_configuration_key() -> None:
    for url in ("oracle://host/db", "nonsense", "sqlite://"):
        assert "CHAT_MEMORY_OPTIONS" in refused(CHAT_MEMORY_PLUGIN="sqlalchemy", CHAT_MEMORY_OPTIONS={"url": url})
