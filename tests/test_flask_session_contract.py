"""The shipped contract over the stores of Flask-Session, each found through an app."""

from __future__ import annotations

import collections.abc as cabc
import pathlib
import typing as t

import flask
import pytest

from flask_chat_memory import ChatMemoryPlugin
from flask_chat_memory.documents import Documents
from flask_chat_memory.plugins.registry import PluginRegistry
from flask_chat_memory.resolve import resolve
from flask_chat_memory.testing.contracts.failures import BreakStore
from flask_chat_memory.testing.contracts.failures import Damage
from flask_chat_memory.testing.contracts.parts import MakePlugin

from .broken_stores import damage_file
from .broken_stores import damage_redis
from .broken_stores import damage_sqlite
from .broken_stores import put_in_the_way
from .broken_stores import run_sqlite
from .broken_stores import take_over_redis
from .every_contract import EveryContract
from .redis_servers import Client
from .session_stores import opened
from .session_stores import SessionStore


class OverSessions(EveryContract):
    kind: str

    def open(self, app: flask.Flask, id: str, own: dict[str, t.Any], common: dict[str, t.Any]) -> ChatMemoryPlugin:
        """Make the plugin as an app does, with options of its own and those of all plugins."""
        plugin = PluginRegistry().find(id)
        return plugin(resolve(app, plugin.Options.make({**own, **common}, "options"), Documents({}, {})))

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
        return lambda _plugin, scope, thread_id: damage_redis(client_of(store), f"{store.name}:", scope, thread_id)

    @pytest.fixture
    def break_store(self, store: SessionStore) -> BreakStore:
        return lambda _plugin: take_over_redis(client_of(store), f"{store.name}:")


def client_of(store: SessionStore) -> Client:
    assert store.client is not None
    return store.client


class TestSQLAlchemySessions(OverSessions):
    kind = "sqlalchemy"

    @pytest.fixture
    def damage(self, store: SessionStore) -> Damage:
        return lambda _plugin, scope, thread_id: damage_sqlite(store.database, f"{store.name}_", scope, thread_id)

    @pytest.fixture
    def break_store(self, store: SessionStore) -> BreakStore:
        return lambda _plugin: run_sqlite(store.database, f"DROP TABLE {store.name}_thread")


class TestFileSessions(OverSessions):
    kind = "files"

    @pytest.fixture
    def folder(self, store: SessionStore) -> pathlib.Path:
        return store.folder / f"sessions-{store.name}"

    @pytest.fixture
    def damage(self, folder: pathlib.Path) -> Damage:
        return lambda _plugin, scope, thread_id: damage_file(folder, scope, thread_id)

    @pytest.fixture
    def break_store(self, folder: pathlib.Path) -> BreakStore:
        return lambda _plugin: put_in_the_way(folder)
