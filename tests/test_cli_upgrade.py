"""The command that upgrades tables, over an app."""

from __future__ import annotations

import json
import pathlib
import sys
import typing as t

import flask
import pytest
import sqlalchemy as sa

from flask_chat_memory import ChatMemory
from flask_chat_memory.plugins.sqlalchemy import SQLAlchemyPlugin
from tests.apps import make_app
from tests.encryption import NEW
from tests.sql_servers import Place
from tests.test_sqlalchemy_plugin import OWNER


def run(app: flask.Flask, *arguments: str) -> t.Any:
    return app.test_cli_runner().invoke(args=["chat-memory", "upgrade", *arguments])


def upgraded(app: flask.Flask, *arguments: str) -> list[dict[str, t.Any]]:
    result = run(app, "--json", *arguments)
    assert result.exit_code == 0, result.output
    return t.cast("list[dict[str, t.Any]]", json.loads(result.stdout))


def test_each_database_of_chatbots_and_documents_is_upgraded_once(tmp_path: pathlib.Path) -> None:
    urls = {name: f"sqlite:///{tmp_path}/{name}.sqlite3" for name in ("one", "two", "three")}
    one: dict[str, t.Any] = {"plugin": "sqlalchemy", "options": {"url": urls["one"]}}
    many = {"plugin": "sqlalchemy", "options": {"url": urls["one"], "threads": "many"}}
    hidden = {
        "plugin": "encrypted",
        "options": {"plugin": "sqlalchemy", "options": {"url": urls["two"]}, "keys": [NEW]},
    }
    in_documents = {"plugin": "documents", "options": {"storage": {"type": "sqlalchemy", "url": urls["one"]}}}
    engine = sa.create_engine(urls["one"])
    session = {"plugin": "flask_session", "options": {"store": engine}}
    app = make_app(
        tmp_path,
        CHAT_MEMORY_PLUGIN=None,
        CHAT_MEMORY_OPTIONS={},
        CHAT_MEMORY_CHATBOTS={
            "a": one, "b": many, "c": hidden,
            "d": {"plugin": "in_memory"}, "e": in_documents, "f": session, "g": {"history": False},
        },
        CHAT_MEMORY_STORAGE={
            "type": "encrypted", "keys": [NEW], "storage": {"type": "sqlalchemy", "url": urls["three"]}
        },
    )  # fmt: skip
    ChatMemory(app)
    planned = upgraded(app, "--dry-run")
    assert not list(tmp_path.glob("*.sqlite3"))
    assert sorted((one["database"].split("'")[1], one["prefix"], one["tables"]) for one in planned) == [
        ("one.sqlite3", "chat_memory_", "documents"),
        ("one.sqlite3", "chat_memory_", "threads"),
        ("one.sqlite3", "chat_memory_temporary_", "threads"),
        ("three.sqlite3", "chat_memory_", "documents"),
        ("two.sqlite3", "chat_memory_", "threads"),
    ]
    assert upgraded(app) == planned
    assert [one["steps"] for one in upgraded(app)] == [[]] * 5
    engine.dispose()


def test_people_read_a_table(tmp_path: pathlib.Path) -> None:
    app = make_app(tmp_path)
    ChatMemory(app)
    head, threads, documents = run(app, "--dry-run").stdout.splitlines()
    assert head.split()[-2:] == ["would", "do"]
    assert threads.split()[-4:] == ["chat_memory_", "threads", "threads_0001", "threads_0001"]
    assert documents.split()[-4:] == ["chat_memory_", "documents", "documents_0001", "documents_0001"]
    assert run(app).exit_code == 0
    assert [line.split()[-1] for line in run(app).stdout.splitlines()] == ["done", "nothing", "nothing"]


def test_without_tables_there_is_nothing_to_do(tmp_path: pathlib.Path) -> None:
    app = make_app(tmp_path, CHAT_MEMORY_PLUGIN="in_memory", CHAT_MEMORY_OPTIONS={})
    ChatMemory(app)
    assert run(app).stdout == "No chatbot and no document of this app has tables.\n"
    assert upgraded(app) == []


def test_newer_tables_are_a_sentence_and_an_exit_code(tmp_path: pathlib.Path, file_place: Place) -> None:
    app = make_app(tmp_path, CHAT_MEMORY_OPTIONS={"url": file_place.url})
    ChatMemory(app)
    assert run(app).exit_code == 0
    file_place.run("UPDATE chat_memory_version SET version_num = 'threads_0007' WHERE version_num = 'threads_0001'")
    for arguments in ([], ["--dry-run"], ["--json"]):
        result = run(app, *arguments)
        assert (result.exit_code, result.stdout) == (1, "")
        assert result.stderr.startswith("Error: the SQLite database 'chat.sqlite3' has tables of version threads_0007")
        assert "threads_0001" in result.stderr


def test_without_alembic_the_command_says_what_to_install(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.startswith("flask_chat_memory.migrations.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "alembic.command", None)
    app = make_app(tmp_path)
    memory = ChatMemory(app)
    result = run(app)
    assert result.exit_code == 1
    assert "which is not installed: install flask-chat-memory[migrations]" in result.stderr
    # First use does without.
    with app.app_context():
        assert isinstance(memory.plugin, SQLAlchemyPlugin)
        assert not memory.plugin.has_thread(OWNER, "thread-1")
