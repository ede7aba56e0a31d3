from __future__ import annotations

import typing as t

import flask
import pytest

from flask_chat_memory import ChatMemory
from flask_chat_memory import ConfigurationError
from flask_chat_memory.config import CHATBOT_KEYS

from .five_methods import FiveMethodsPlugin


def app_with(**config: t.Any) -> flask.Flask:
    app = flask.Flask("site")
    app.config.update(config)
    return app


def refused(**config: t.Any) -> str:
    with pytest.raises(ConfigurationError) as caught:
        ChatMemory(app_with(**config))
    return str(caught.value)


@pytest.mark.parametrize(
    ("values", "about", "allowed"),
    [
        ({"prompt": "x"}, "'prompt'", ", ".join(CHATBOT_KEYS)),
        ({5: "x"}, "5", ", ".join(CHATBOT_KEYS)),
        ({"history": "no"}, "'no'", "bool"),
        ({"history": None}, "None", "bool"),
        ({"enabled": 1}, "1", "bool"),
        ({"system_prompt": 5}, "5", "str"),
        ({"greeting": ["hi"]}, "['hi']", "str"),
        ({"on_disconnect": "wait"}, "['on_disconnect'] is 'wait'", "'stop' or 'finish'"),
        ({"on_disconnect": None}, "['on_disconnect'] is None", "'stop' or 'finish'"),
        ({"options": {"expiry": 5}}, "options", "plugin"),
        ({"plugin": "nothing"}, "'nothing'", "in_memory, sqlalchemy"),
        ({"plugin": "in_memory", "options": []}, "list", "dict"),
        ({"short_term": "window"}, "str", "list"),
        ({"short_term": [{"type": "window", "turns": -1}]}, "-1", "0"),
        (None, "NoneType", "dict"),
        ([], "list", "dict"),
    ],
)
def test_a_wrong_chatbot_is_refused_with_what_is_allowed(values: t.Any, about: str, allowed: str) -> None:
    text = refused(CHAT_MEMORY_CHATBOTS={"support": values})
    assert "CHAT_MEMORY_CHATBOTS['support']" in text
    assert about in text
    assert allowed in text


@pytest.mark.parametrize("name", ["", "a b", "a/b", "x" * 65, "ä", "a\n", 5, None])
def test_a_wrong_chatbot_name_is_refused(name: t.Any) -> None:
    text = refused(CHAT_MEMORY_CHATBOTS={name: {}})
    assert f"CHAT_MEMORY_CHATBOTS[{name!r}]" in text
    assert "1 to 64 letters, digits, hyphens and underscores" in text


def test_no_url_prefix_means_no_routes() -> None:
    app = app_with(CHAT_MEMORY_URL_PREFIX=None)
    ChatMemory(app)
    assert [rule.rule for rule in app.url_map.iter_rules()] == ["/static/<path:filename>"]
    other = app_with(CHAT_MEMORY_URL_PREFIX="/api/chat")
    ChatMemory(other)
    assert "/api/chat/<chatbot>/history" in {rule.rule for rule in other.url_map.iter_rules()}


def test_plugin_and_options_of_a_chatbot_fall_back_together() -> None:
    app = app_with(
        CHAT_MEMORY_PLUGIN="in_memory",
        CHAT_MEMORY_OPTIONS={"expiry": 60},
        CHAT_MEMORY_CHATBOTS={
            "same": {},
            "own": {"plugin": "in_memory"},
            "browser": {"plugin": None},
            "again": {"plugin": "in_memory", "options": {"expiry": 60}},
        },
    )
    memory = ChatMemory(app)
    with app.app_context():
        same, own = memory.plugin_for("same"), memory.plugin_for("own")
        assert same is not None
        assert own is not None
        assert (same.options.expiry, own.options.expiry) == (60, 30 * 86_400)
        assert memory.plugin_for("browser") is None
        assert memory.plugin_for("again") is same


def test_a_second_extension_on_an_app_is_refused() -> None:
    app = app_with()
    memory = ChatMemory(app)
    with pytest.raises(ConfigurationError, match="has a ChatMemory already"):
        memory.init_app(app)
    with pytest.raises(ConfigurationError, match="has a ChatMemory already"):
        ChatMemory(app)


def test_one_extension_serves_two_apps_with_different_plugins() -> None:
    memory = ChatMemory()
    first, second = app_with(CHAT_MEMORY_PLUGIN="in_memory"), app_with(CHAT_MEMORY_PLUGIN=FiveMethodsPlugin)
    memory.init_app(first)
    memory.init_app(second)
    with first.app_context():
        assert memory.plugin is not None
        assert memory.plugin.id == "in_memory"
    with second.app_context():
        assert isinstance(memory.plugin, FiveMethodsPlugin)
    third = app_with()
    with third.app_context(), pytest.raises(ConfigurationError, match="init_app"):
        _ = memory.plugin
