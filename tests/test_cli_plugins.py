"""The list of plugins on the command line."""

from __future__ import annotations

import json
import pathlib

from flask_chat_memory import ChatMemory
from tests.apps import make_app


def test_each_plugin_is_listed_with_its_options(tmp_path: pathlib.Path) -> None:
    app = make_app(tmp_path)
    memory = ChatMemory(app)
    result = app.test_cli_runner().invoke(args=["chat-memory", "plugins", "--json"])
    assert result.exit_code == 0, result.output
    listed = {plugin["id"]: plugin for plugin in json.loads(result.stdout)}
    assert list(listed) == list(memory.plugins.definitions())
    assert {"name": "threads", "choices": ["one", "many"], "default": "one"}.items() <= next(
        option for option in listed["sqlalchemy"]["options"] if option["name"] == "threads"
    ).items()


def test_people_read_a_table(tmp_path: pathlib.Path) -> None:
    app = make_app(tmp_path)
    ChatMemory(app)
    result = app.test_cli_runner().invoke(args=["chat-memory", "plugins"])
    assert result.exit_code == 0, result.output
    assert "sqlalchemy (" in result.output
    assert "\n  max_messages " in result.output
    assert "  threads       'one' or 'many'  one         One ongoing conversation" in result.output
    assert "list, secret" in result.output
    assert "(required)" in result.output
