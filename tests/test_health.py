"""Whether the stores answer: told without making anything."""

from __future__ import annotations

import pathlib
import threading
import typing as t

import flask
import pytest
import redis
import sqlalchemy as sa

from flask_chat_memory import ChatMemory
from flask_chat_memory import StorageError
from flask_chat_memory.plugins.in_memory import InMemoryPlugin
from flask_chat_memory.storage.in_memory import InMemoryStorage

from .apps import make_site
from .apps import PATIENCE
from .redis_servers import Cluster
from .redis_servers import free_port
from .sql_servers import PLACES

KEYS = ["ZXhhbXBsZSBvZiB0aGUgZG9jcywgbm90IGEga2V5ISE="]
LOCAL: dict[str, dict[str, t.Any]] = {
    "in_memory": {},
    "sqlalchemy": {},
    "file": {},
    "documents": {"storage": "file"},
    "encrypted": {"plugin": "sqlalchemy", "keys": KEYS},
}


def make_memory(folder: pathlib.Path, plugin: t.Any, options: t.Any = None, **config: t.Any) -> ChatMemory:
    app = flask.Flask("site", instance_path=str(folder))
    app.config.update(CHAT_MEMORY_PLUGIN=plugin, CHAT_MEMORY_OPTIONS=options or {}, **config)
    return ChatMemory(app)


def health(memory: ChatMemory, seconds: float = PATIENCE) -> dict[str, t.Any]:
    [app] = memory._states
    with app.app_context():
        return memory.health(seconds)


@pytest.mark.parametrize("plugin", LOCAL)
def test_nothing_is_made(tmp_path: pathlib.Path, plugin: str) -> None:
    memory = make_memory(tmp_path, plugin, LOCAL[plugin], CHAT_MEMORY_STORAGE="file")
    told = health(memory)
    assert told["ok"], told
    assert told["stores"][0] | {"milliseconds": 0} == {
        "id": plugin,
        "serves": ["default"],
        "ok": True,
        "milliseconds": 0,
        "error": None,
    }
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("server", PLACES)
def test_a_server_of_sql_answers_and_gets_no_tables(tmp_path: pathlib.Path, server: str) -> None:
    with PLACES[server]() as place:
        told = health(make_memory(tmp_path, "sqlalchemy", {"url": place.url}))
        assert told["ok"], told
        assert [store["id"] for store in told["stores"]] == ["sqlalchemy", "sqlalchemy"]
        assert sa.inspect(place.engine).get_table_names() == []


def test_a_server_of_redis_answers_and_gets_no_key(tmp_path: pathlib.Path, redis_url: str, key_prefix: str) -> None:
    memory = make_memory(tmp_path, "redis", {"url": redis_url, "key_prefix": key_prefix})
    assert health(memory)["ok"]
    with redis.Redis.from_url(redis_url) as client:
        assert list(client.scan_iter(f"{key_prefix}*")) == []


def test_a_cluster_of_redis_answers(tmp_path: pathlib.Path, redis_cluster: Cluster) -> None:
    assert health(make_memory(tmp_path, "redis", {"url": redis_cluster.url, "cluster": True}))["ok"]


def test_a_server_that_is_down_is_told_of(tmp_path: pathlib.Path) -> None:
    port = free_port()
    chatbots = {
        "a": {"plugin": "redis", "options": {"url": f"redis://127.0.0.1:{port}"}},
        "b": {"plugin": "sqlalchemy", "options": {"url": f"postgresql://127.0.0.1:{port}/x"}},
        "c": {"plugin": "sqlalchemy", "options": {"url": f"mysql+pymysql://127.0.0.1:{port}/x"}},
        "d": {"plugin": "in_memory"},
    }
    told = health(make_memory(tmp_path, None, CHAT_MEMORY_CHATBOTS=chatbots))
    assert not told["ok"]
    assert [(store["serves"], store["ok"], store["error"]) for store in told["stores"]] == [
        (["a"], False, "StorageError"),
        (["b"], False, "StorageError"),
        (["c"], False, "StorageError"),
        (["d"], True, None),
    ]


class Hanging(InMemoryPlugin):
    release = threading.Event()
    asked = 0

    def ping(self) -> None:
        Hanging.asked += 1
        self.release.wait(PATIENCE)


def test_a_store_that_hangs_is_told_of_in_time_and_asked_once(tmp_path: pathlib.Path) -> None:
    memory = make_memory(tmp_path, Hanging)
    for _ in range(3):
        told = health(memory, 0.01)
        assert (told["stores"][0]["ok"], told["stores"][0]["error"]) == (False, "TimeoutError")
    assert Hanging.asked == 1
    Hanging.release.set()
    [thread] = [thread for thread in threading.enumerate() if thread.name == "chat-memory-health"]
    thread.join(PATIENCE)
    assert health(memory)["ok"]
    assert Hanging.asked == 2


class Broken(InMemoryStorage):
    def ping(self) -> None:
        raise RuntimeError("the password is swordfish")


def test_a_storage_that_fails_is_told_of_by_the_class_of_its_error(tmp_path: pathlib.Path) -> None:
    told = health(make_memory(tmp_path, None, CHAT_MEMORY_STORAGE=Broken(), CHAT_MEMORY_STORAGES={"site": "file"}))
    broken, file = told["stores"]
    assert (broken["ok"], broken["error"], file["ok"]) == (False, "RuntimeError", True)
    assert file["serves"] == ["site"]
    assert "swordfish" not in str(told)


def test_chatbots_with_one_plugin_are_one_store(tmp_path: pathlib.Path) -> None:
    told = health(make_memory(tmp_path, "sqlalchemy", CHAT_MEMORY_CHATBOTS={"a": {}, "b": {}}))
    assert [store["serves"] for store in told["stores"]][0] == ["a", "b"]
    assert len(told["stores"]) == 2


def test_history_in_the_browser_needs_no_store(tmp_path: pathlib.Path) -> None:
    assert health(make_memory(tmp_path, None)) == {"ok": True, "stores": []}


def test_settings_that_cannot_be_loaded_are_told_of(tmp_path: pathlib.Path) -> None:
    def load(chatbot: str) -> t.NoReturn:
        raise StorageError("the settings are away")

    app = flask.Flask("site", instance_path=str(tmp_path))
    app.config["CHAT_MEMORY_PLUGIN"] = None
    assert not health(ChatMemory(app, settings_loader=load))["ok"]


def test_a_health_route_gives_no_cookie(tmp_path: pathlib.Path) -> None:
    site = make_site(tmp_path)

    @site.app.get("/health")
    def show() -> tuple[dict[str, t.Any], int]:
        told = site.memory.health()
        return told, 200 if told["ok"] else 503

    response = site.app.test_client().get("/health")
    assert (response.status_code, response.get_json()["ok"]) == (200, True)
    assert "Set-Cookie" not in response.headers
    assert not site.database.exists()
