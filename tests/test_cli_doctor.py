"""What the doctor finds, and that looking changes nothing."""

from __future__ import annotations

import json
import os
import pathlib
import sqlite3
import typing as t

import pytest

from flask_chat_memory import ChatMemory
from flask_chat_memory import Scope
from flask_chat_memory.cli.checks import stores
from flask_chat_memory.plugins.reports import StoreReport
from flask_chat_memory.plugins.sqlalchemy import SQLAlchemyPlugin
from flask_chat_memory.storage.in_memory import InMemoryStorage

from .apps import make_app
from .operated_sites import Operated
from .operated_sites import operated as operated
from .operated_sites import PLUGINS

LINES = {
    "sqlite": "can be reached, SQLite ",
    "postgresql": "can be reached, PostgreSQL ",
    "mariadb": "can be reached, MariaDB ",
    "redis": "the Redis server can be reached, Redis ",
    "cluster": "the Redis Cluster can be reached, Redis ",
    "file": "the folder 'chat-memory' can be reached",
    "encrypted": "can be reached, SQLite ",
}


def examine(folder: pathlib.Path, **config: t.Any) -> tuple[int, list[dict[str, str]]]:
    """Return the exit code and what is found that is not all right."""
    app = make_app(folder, **config)
    memory = ChatMemory(app)
    memory.provider(lambda turn: turn.text)
    result = app.test_cli_runner().invoke(args=["chat-memory", "doctor", "--json"])
    assert "top-secret" not in result.output
    found = json.loads(result.stdout)["findings"]
    assert all(finding["cure"] for finding in found if finding["level"] != "ok")
    return result.exit_code, [finding for finding in found if finding["level"] != "ok"]


def files(folder: pathlib.Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


@pytest.mark.parametrize("operated", PLUGINS, indirect=True)
def test_every_store_is_reached(operated: Operated, request: pytest.FixtureRequest) -> None:
    result = operated.run("doctor")
    assert result.exit_code == 0, result.output
    name = request.node.callspec.params["operated"]
    assert LINES.get(name, "store: conversations of default: ") in result.stdout
    if name in ("postgresql", "mariadb", "redis", "cluster"):
        assert "clock: conversations of default: the clock of the store is 0." in result.stdout
    assert "note     provider: chatbot 'default' has no provider" in result.stdout
    assert "do: register one with @memory.provider('default')" in result.stdout


@pytest.mark.parametrize("plugin", ["sqlalchemy", "file"])
def test_nothing_is_made(tmp_path: pathlib.Path, plugin: str) -> None:
    code, found = examine(tmp_path, CHAT_MEMORY_PLUGIN=plugin)
    assert code == 0
    assert {finding["check"] for finding in found} == {"hosts"}
    assert files(tmp_path) == set()


def test_no_secret_key_is_a_problem(tmp_path: pathlib.Path) -> None:
    code, found = examine(tmp_path, SECRET_KEY=None, CHAT_MEMORY_PLUGIN="in_memory")
    assert code == 1
    assert ("secret key", "problem") in [(finding["check"], finding["level"]) for finding in found]


@pytest.mark.parametrize(
    "options",
    [
        {"url": "postgresql://postgres:top-secret@127.0.0.1:1/test"},
        {"url": "mysql+pymysql://root:top-secret@127.0.0.1:1/test"},
        {"url": "redis://:top-secret@127.0.0.1:1/0"},
    ],
    ids=["postgresql", "mariadb", "redis"],
)
def test_a_server_that_is_down_is_a_problem_and_its_password_stays_secret(
    tmp_path: pathlib.Path, options: dict[str, str]
) -> None:
    plugin = "redis" if options["url"].startswith("redis") else "sqlalchemy"
    code, found = examine(tmp_path, CHAT_MEMORY_PLUGIN=plugin, CHAT_MEMORY_OPTIONS=options)
    assert code == 1
    assert [finding["level"] for finding in found if finding["check"] == "store"] == ["problem", "problem"]


def test_a_database_that_others_may_read_is_a_problem(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "chat.sqlite3"
    plugin = SQLAlchemyPlugin({"url": f"sqlite:///{path}"})
    plugin.list_threads(Scope("user:1"))
    plugin.close()
    os.chmod(path, 0o644)
    code, found = examine(tmp_path, CHAT_MEMORY_OPTIONS={"url": f"sqlite:///{path}"})
    assert code == 1
    assert {finding["cure"] for finding in found if finding["level"] == "problem"} == {f"chmod go-rwx {path}"}


def test_a_table_that_is_missing_is_a_problem(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "chat.sqlite3"
    plugin = SQLAlchemyPlugin({"url": f"sqlite:///{path}"})
    plugin.list_threads(Scope("user:1"))
    plugin.close()
    with sqlite3.connect(path) as connection:
        connection.execute("DROP TABLE chat_memory_mark")
    connection.close()
    code, found = examine(tmp_path, CHAT_MEMORY_OPTIONS={"url": f"sqlite:///{path}"})
    assert code == 1
    assert "lacks chat_memory_mark" in str(found)


def test_a_place_where_nothing_can_be_made_is_a_problem(tmp_path: pathlib.Path) -> None:
    (tmp_path / "file").touch()
    url = f"sqlite:///{tmp_path}/file/chat.sqlite3"
    code, found = examine(tmp_path, CHAT_MEMORY_OPTIONS={"url": url})
    assert code == 1
    assert "cannot be" in str(found)


@pytest.mark.parametrize(("workers", "level"), [("1", "note"), ("4", "problem")])
def test_one_process_cannot_serve_several_workers(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, workers: str, level: str
) -> None:
    monkeypatch.setenv("WEB_CONCURRENCY", workers)
    code, found = examine(tmp_path, CHAT_MEMORY_PLUGIN="in_memory", CHAT_MEMORY_STORAGE=InMemoryStorage())
    assert [(finding["check"], finding["level"]) for finding in found] == [("workers", level)]
    assert code == (level == "problem")


class Late(InMemoryStorage):
    def examine_store(self) -> StoreReport:
        return StoreReport(place="a store", ahead=-(stores.TOLERANCE + 1))


def test_a_clock_that_is_wrong_is_a_problem(tmp_path: pathlib.Path) -> None:
    code, found = examine(tmp_path, CHAT_MEMORY_PLUGIN=None, CHAT_MEMORY_STORAGE=Late())
    assert code == 1
    assert [finding["text"].partition(": ")[2] for finding in found] == [
        "the clock of the store is 3.0 seconds behind that of this host"
    ]


def test_a_database_of_the_site_that_is_not_set_up_is_a_problem(tmp_path: pathlib.Path) -> None:
    class Db:
        @property
        def engine(self) -> t.NoReturn:
            raise RuntimeError

    app = make_app(tmp_path, CHAT_MEMORY_OPTIONS={"engine": Db()})
    ChatMemory(app)
    result = app.test_cli_runner().invoke(args=["chat-memory", "doctor"])
    assert result.exit_code == 1
    assert "call its init_app(app)" in result.stdout


def test_tables_of_another_version_are_a_problem(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "chat.sqlite3"
    plugin = SQLAlchemyPlugin({"url": f"sqlite:///{path}"})
    plugin.list_threads(Scope("user:1"))
    wanted = plugin._database.schema.tables.version
    plugin.close()
    for version, cure in (("0000", "upgrade"), ("9999", "run the release that has upgraded them")):
        with sqlite3.connect(path) as connection:
            connection.execute("UPDATE chat_memory_version SET version_num = ?", [wanted[: -len(version)] + version])
        connection.close()
        code, found = examine(tmp_path, CHAT_MEMORY_OPTIONS={"url": f"sqlite:///{path}"})
        assert code == 1
        assert any(cure in finding["cure"] for finding in found if finding["level"] == "problem")
