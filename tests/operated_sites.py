"""Sites on every plugin, as an operator looks after them."""

from __future__ import annotations

import collections.abc as cabc
import contextlib
import json
import os
import pathlib
import sys
import time
import typing as t

import click.testing
import flask
import pytest
import redis
from redis.cluster import RedisCluster

from flask_chat_memory import ChatMemory
from flask_chat_memory import ChatMemoryPlugin
from flask_chat_memory import ChatMessage
from flask_chat_memory import Scope
from flask_chat_memory.storage.in_memory import InMemoryStorage

from .apps import make_app
from .operated_app import CONFIG
from .redis_servers import remove_keys

DAY = 86_400.0
KEYS = ["ZXhhbXBsZSBvZiB0aGUgZG9jcywgbm90IGEga2V5ISE="]
PLUGINS = [
    "in_memory", "sqlite", "postgresql", "mariadb", "redis", "cluster", "file", "documents", "flask_session",
    "encrypted",
]  # fmt: skip
THREADS = {("user:1", "old"): 40, ("user:1", "new"): 0, ("user:2", "other"): 20}
"""Owner and id of each thread -> days since its last activity."""


COMMAND = [sys.executable, "-m", "flask", "--app", "tests.operated_app", "chat-memory"]
"""Begins a command in a process of its own."""


class Operated:
    """A site with three threads."""

    def __init__(self, app: flask.Flask, memory: ChatMemory) -> None:
        self.app = app
        self.memory = memory
        with app.app_context():
            plugin = memory.plugin
            assert plugin is not None
            self.plugin: ChatMemoryPlugin = plugin

    def fill(self) -> None:
        now = time.time()
        for (owner, thread_id), days in THREADS.items():
            at = now - days * DAY
            self.plugin.clock = lambda at=at: at  # type: ignore[misc]
            messages = [
                ChatMessage("user", f"question of {owner}", id="q", turn="t", created_at=stamp(at)),
                ChatMessage(
                    "assistant", "answer", status="complete", usage={"total": 7}, turn="t", created_at=stamp(at)
                ),
            ]
            self.plugin.append_messages(Scope(owner), thread_id, messages)
        self.plugin.clock = time.time

    def run(self, *args: str) -> click.testing.Result:
        return self.app.test_cli_runner().invoke(args=["chat-memory", *args])

    def told(self, *args: str) -> t.Any:
        """Return what a command prints as JSON."""
        result = self.run(*args, "--json")
        assert result.exit_code == 0, result.output
        return json.loads(result.stdout)

    def environment(self) -> dict[str, str]:
        """Return the environment of a process in which the ``flask`` command finds the same site."""
        names = ("CHAT_MEMORY_PLUGIN", "CHAT_MEMORY_OPTIONS")
        config = {**{name: self.app.config[name] for name in names}, "instance_path": self.app.instance_path}
        return {**os.environ, CONFIG: json.dumps(config)}

    def left(self) -> set[tuple[str, str]]:
        return {(owner, id) for owner, id in THREADS if self.plugin.has_thread(Scope(owner), id)}


def stamp(seconds: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


@pytest.fixture
def operated(request: pytest.FixtureRequest, tmp_path: pathlib.Path) -> cabc.Iterator[Operated]:
    """A site on the plugin that the parameter names; its threads never expire."""
    with contextlib.ExitStack() as stack:
        plugin, options = _options(request, stack)
        config: dict[str, t.Any] = {"CHAT_MEMORY_STORAGE": InMemoryStorage()} if request.param == "documents" else {}
        sessions = "files" if request.param == "flask_session" else "cookie"
        app = make_app(tmp_path, sessions=sessions, CHAT_MEMORY_PLUGIN=plugin, CHAT_MEMORY_OPTIONS=options, **config)
        site = Operated(app, ChatMemory(app))
        stack.callback(site.plugin.close)
        site.fill()
        yield site


def _options(request: pytest.FixtureRequest, stack: contextlib.ExitStack) -> tuple[str, dict[str, t.Any]]:
    """Return the id of the plugin and its options."""
    options: dict[str, t.Any] = {"expiry": None, "threads": "many"}
    name = request.param
    if name in ("postgresql", "mariadb"):
        place = stack.enter_context(request.getfixturevalue("sql_places").lend(name))
        return "sqlalchemy", {**options, "url": place.url}
    if name in ("redis", "cluster"):
        prefix = request.getfixturevalue("key_prefix")
        is_cluster = name == "cluster"
        url = request.getfixturevalue("redis_cluster").url if is_cluster else request.getfixturevalue("redis_url")
        client = RedisCluster.from_url(url) if is_cluster else redis.Redis.from_url(url)
        stack.enter_context(client)
        stack.callback(remove_keys, client, prefix)
        return "redis", {**options, "url": url, "key_prefix": prefix, "cluster": is_cluster}
    if name == "encrypted":
        return "encrypted", {**options, "plugin": "sqlalchemy", "keys": KEYS}
    return {"sqlite": "sqlalchemy", "flask_session": "flask_session_pool"}.get(name, name), options
