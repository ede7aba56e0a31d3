"""The contract of plugins over encrypted ones."""

from __future__ import annotations

import collections.abc as cabc
import contextlib
import pathlib
import sqlite3
import typing as t

import pytest

from flask_chat_memory import ChatMemoryPlugin
from flask_chat_memory import Scope
from flask_chat_memory.plugins.encrypted import EncryptedPlugin
from flask_chat_memory.plugins.sql.tables import thread_key
from flask_chat_memory.testing import contracts
from flask_chat_memory.testing.contracts.failures import BreakStore
from flask_chat_memory.testing.contracts.failures import Damage
from flask_chat_memory.testing.contracts.parts import MakePlugin
from tests.every_contract import EveryContract
from tests.five_methods import FiveMethodsPlugin

KEYS = ["TWF5IGEga2V5IG9mIHRoZSB0ZXN0cyBiZSBzZWVuPyE=", "QW4gb2xkZXIga2V5IG9mIHRoZSB0ZXN0cywgb2YgMzI="]


def encrypted(plugin: str | type[ChatMemoryPlugin], options: dict[str, t.Any], **common: t.Any) -> EncryptedPlugin:
    return EncryptedPlugin({"plugin": plugin, "keys": KEYS, "options": options, **common})


class TestOverInMemory(
    contracts.PluginContract,
    contracts.ExpiryContract,
    contracts.MaxMessagesContract,
    contracts.LastingNumbersContract,
    contracts.MaxThreadsContract,
    contracts.CurrentThreadContract,
    contracts.LiveTurnsContract,
    contracts.MovesThreadsContract,
    contracts.ListsThreadsContract,
    contracts.DescribesThreadsContract,
    contracts.PurgesThreadsContract,
    contracts.ThreadsContract,
    contracts.ForkContract,
):
    @pytest.fixture
    def make_plugin(self) -> MakePlugin:
        return lambda **options: encrypted("in_memory", {}, **options)


class TestOverSQLite(
    EveryContract, contracts.ListsThreadsContract, contracts.DescribesThreadsContract, contracts.PurgesThreadsContract
):
    @pytest.fixture
    def run_sql(self, tmp_path: pathlib.Path) -> cabc.Callable[..., None]:
        def run(statement: str, *parameters: object) -> None:
            with contextlib.closing(sqlite3.connect(tmp_path / "chat.sqlite3")) as connection, connection:
                connection.execute(statement, parameters)

        return run

    @pytest.fixture
    def damage(self, run_sql: cabc.Callable[..., None]) -> Damage:
        newest = "SELECT max(sequence) FROM chat_memory_message WHERE thread_key = ?"
        changed = "replace(replace(body, 'A', 'B'), 'x', 'y')"
        update = f"UPDATE chat_memory_message SET body = {changed} WHERE thread_key = ? AND sequence = ({newest})"

        def damage(_plugin: ChatMemoryPlugin, scope: Scope, thread_id: str) -> None:
            run_sql(update, thread_key(scope, thread_id), thread_key(scope, thread_id))

        return damage

    @pytest.fixture
    def break_store(self, run_sql: cabc.Callable[..., None]) -> BreakStore:
        return lambda _plugin: run_sql("DROP TABLE chat_memory_thread")

    @pytest.fixture
    def make_plugin(self, tmp_path: pathlib.Path) -> MakePlugin:
        url = f"sqlite:///{tmp_path}/chat.sqlite3"
        return lambda **options: encrypted("sqlalchemy", {"url": url}, **options)


class TestOverFiveMethods(
    contracts.PluginContract,
    contracts.ExpiryContract,
    contracts.MaxMessagesContract,
    contracts.ThreadsContract,
    contracts.ForkContract,
    contracts.CorruptionContract,
):
    @pytest.fixture
    def make_plugin(self) -> MakePlugin:
        return lambda **options: encrypted(FiveMethodsPlugin, {}, **options)

    @pytest.fixture
    def damage(self) -> Damage:
        def damage(plugin: ChatMemoryPlugin, scope: Scope, thread_id: str) -> None:
            assert isinstance(plugin, EncryptedPlugin)
            kept = t.cast(FiveMethodsPlugin, plugin._wrapped)
            kept.records[scope, thread_id][1][-1]["message"]["content"] = "in clear"

        return damage
