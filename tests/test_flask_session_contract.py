"""The shipped contract over the stores of Flask-Session, each found through an app."""

from __future__ import annotations

import collections.abc as cabc
import contextlib
import pathlib
import shutil
import sqlite3
import typing as t

import flask
import pytest

from flask_chat_memory import ChatMemoryPlugin
from flask_chat_memory import Scope
from flask_chat_memory.plugins.file_.names import Names
from flask_chat_memory.plugins.redis_.names import index_name
from flask_chat_memory.plugins.redis_.names import thread_digest
from flask_chat_memory.plugins.registry import PluginRegistry
from flask_chat_memory.plugins.sql.tables import thread_key
from flask_chat_memory.resolve import resolve
from flask_chat_memory.testing.contracts.failures import BreakStore
from flask_chat_memory.testing.contracts.failures import Damage
from flask_chat_memory.testing.contracts.parts import MakePlugin

from .every_contract import EveryContract
from .session_stores import opened
from .session_stores import SessionStore


class OverSessions(EveryContract):
    kind: str

    def open(self, app: flask.Flask, id: str, own: dict[str, t.Any], common: dict[str, t.Any]) -> ChatMemoryPlugin:
        """Make the plugin as an app does, with options of its own and those of all plugins."""
        plugin = PluginRegistry().find(id)
        return plugin(resolve(app, plugin.Options.make({**own, **common}, "options")))

    @pytest.fixture
    def store(self, request: pytest.FixtureRequest) -> cabc.Iterator[SessionStore]:
        with opened(self.kind, request) as store:
            yield store

    @pytest.fixture
    def make_plugin(self, store: SessionStore) -> cabc.Iterator[MakePlugin]:
        made: list[ChatMemoryPlugin] = []

        def make_app() -> flask.Flask:
            app = flask.Flask("site")
            app.config.update(store.config())
            store.start(app)
            return app

        # Flask-Session cannot make its table in several processes at once.
        make_app()

        def make(**options: t.Any) -> ChatMemoryPlugin:
            app = make_app()
            id = "flask_session"
            if options.get("threads") == "many":
                id = "flask_session_pool"
                options.setdefault("max_threads", 100)
            made.append(self.open(app, id, {"name": store.name}, options))
            return made[-1]

        yield make
        for plugin in made:
            plugin.close()


class TestRedisSessions(OverSessions):
    kind = "redis"

    @pytest.fixture
    def damage(self, store: SessionStore) -> Damage:
        def damage(_plugin: ChatMemoryPlugin, scope: Scope, thread_id: str) -> None:
            assert store.client is not None
            key = f"{index_name(f'{store.name}:', scope)}:{thread_digest(thread_id)}:messages"
            store.client.zremrangebyscore(key, 2, 2)
            store.client.zadd(key, {"2 {{": 2})

        return damage

    @pytest.fixture
    def break_store(self, store: SessionStore) -> BreakStore:
        def break_store(_plugin: ChatMemoryPlugin) -> None:
            assert store.client is not None
            for key in list(store.client.scan_iter(f"{store.name}:*")):
                store.client.delete(key)
                store.client.rpush(key, "of another program")

        return break_store


class TestSQLAlchemySessions(OverSessions):
    kind = "sqlalchemy"

    @pytest.fixture
    def damage(self, store: SessionStore) -> Damage:
        messages = f"{store.name}_message"
        newest = f"SELECT max(sequence) FROM {messages} WHERE thread_key = ?"
        update = f"UPDATE {messages} SET body = '{{{{' WHERE thread_key = ? AND sequence = ({newest})"

        def damage(_plugin: ChatMemoryPlugin, scope: Scope, thread_id: str) -> None:
            run_sql(store, update, thread_key(scope, thread_id), thread_key(scope, thread_id))

        return damage

    @pytest.fixture
    def break_store(self, store: SessionStore) -> BreakStore:
        return lambda _plugin: run_sql(store, f"DROP TABLE {store.name}_thread")


def run_sql(store: SessionStore, statement: str, *parameters: object) -> None:
    with contextlib.closing(sqlite3.connect(store.database)) as connection, connection:
        connection.execute(statement, parameters)


class TestFileSessions(OverSessions):
    kind = "files"

    @pytest.fixture
    def folder(self, store: SessionStore) -> pathlib.Path:
        return store.folder / f"sessions-{store.name}"

    @pytest.fixture
    def damage(self, folder: pathlib.Path) -> Damage:
        names = Names(str(folder))

        def damage(_plugin: ChatMemoryPlugin, scope: Scope, thread_id: str) -> None:
            body = pathlib.Path(names.thread(scope, thread_id).body)
            body.write_bytes(b"\n".join([*body.read_bytes().splitlines()[:-1], b"{{", b""]))

        return damage

    @pytest.fixture
    def break_store(self, folder: pathlib.Path) -> BreakStore:
        def break_store(_plugin: ChatMemoryPlugin) -> None:
            shutil.rmtree(folder / "conversations")
            (folder / "conversations").write_text("in the way")

        return break_store
