"""The shipped contract over PostgreSQL and MariaDB."""

from __future__ import annotations

import collections.abc as cabc

import pytest

from flask_chat_memory import ChatMemoryPlugin
from flask_chat_memory import Scope
from flask_chat_memory.plugins.sql.tables import thread_key
from flask_chat_memory.testing import contracts
from flask_chat_memory.testing.contracts.failures import BreakStore
from flask_chat_memory.testing.contracts.failures import Damage
from flask_chat_memory.testing.contracts.parts import MakePlugin

from .every_contract import EveryContract
from .sql_servers import Place
from .sql_servers import Places


class OnAServer(EveryContract):
    @pytest.fixture
    def make_plugin(self, place: Place) -> MakePlugin:
        return place.make_plugin

    @pytest.fixture
    def damage(self, place: Place) -> Damage:
        def damage(_plugin: ChatMemoryPlugin, scope: Scope, thread_id: str) -> None:
            key = thread_key(scope, thread_id)
            ((newest,),) = place.run("SELECT max(sequence) FROM chat_memory_message WHERE thread_key = :key", key=key)
            place.run(
                "UPDATE chat_memory_message SET body = '{{' WHERE thread_key = :key AND sequence = :newest",
                key=key,
                newest=newest,
            )

        return damage

    @pytest.fixture
    def break_store(self, place: Place) -> BreakStore:
        def break_store(_plugin: ChatMemoryPlugin) -> None:
            place.run("DROP TABLE chat_memory_thread")

        return break_store


class OnPostgreSQL(OnAServer):
    @pytest.fixture
    def place(self, sql_places: Places) -> cabc.Iterator[Place]:
        with sql_places.lend("postgresql") as place:
            yield place


class OnMariaDB(OnAServer):
    @pytest.fixture
    def place(self, sql_places: Places) -> cabc.Iterator[Place]:
        with sql_places.lend("mariadb") as place:
            yield place


class TestPostgreSQL(OnPostgreSQL, contracts.LoadContract):
    pass


class TestMariaDB(OnMariaDB, contracts.LoadContract):
    pass
