from __future__ import annotations

import collections.abc as cabc
import pathlib
import subprocess
import sys
import typing as t

import pytest

from flask_chat_memory import ChatMemoryPlugin
from flask_chat_memory import Scope
from flask_chat_memory.plugins.file import FilePlugin
from flask_chat_memory.plugins.in_memory import InMemoryPlugin
from flask_chat_memory.plugins.sqlalchemy import SQLAlchemyPlugin
from flask_chat_memory.testing import contracts
from flask_chat_memory.testing.contracts.failures import BreakStore
from flask_chat_memory.testing.contracts.failures import Damage
from flask_chat_memory.testing.contracts.parts import MakePlugin
from tests.broken_stores import damage_file
from tests.broken_stores import damage_sqlite
from tests.broken_stores import put_in_the_way
from tests.broken_stores import run_sqlite
from tests.every_contract import EveryAbility
from tests.every_contract import EveryContract
from tests.five_methods import FiveMethodsPlugin


class TestInMemory(EveryAbility):
    @pytest.fixture
    def make_plugin(self) -> MakePlugin:
        return lambda **options: InMemoryPlugin(options)


class TestSQLAlchemy(EveryContract, contracts.LoadContract):
    @pytest.fixture
    def damage(self, tmp_path: pathlib.Path) -> Damage:
        path = tmp_path / "chat.sqlite3"
        return lambda _plugin, scope, thread_id: damage_sqlite(path, "chat_memory_", scope, thread_id)

    @pytest.fixture
    def break_store(self, tmp_path: pathlib.Path) -> BreakStore:
        return lambda _plugin: run_sqlite(tmp_path / "chat.sqlite3", "DROP TABLE chat_memory_thread")

    @pytest.fixture
    def make_plugin(self, tmp_path: pathlib.Path) -> cabc.Iterator[MakePlugin]:
        opened: list[ChatMemoryPlugin] = []

        def make(**options: t.Any) -> ChatMemoryPlugin:
            opened.append(SQLAlchemyPlugin({"url": f"sqlite:///{tmp_path}/chat.sqlite3", **options}))
            return opened[-1]

        yield make
        for plugin in opened:
            plugin.close()


class TestFile(EveryContract, contracts.LoadContract):
    @pytest.fixture
    def make_plugin(self, tmp_path: pathlib.Path) -> MakePlugin:
        return lambda **options: FilePlugin({"folder": str(tmp_path), **options})

    @pytest.fixture
    def damage(self, tmp_path: pathlib.Path) -> Damage:
        return lambda _plugin, scope, thread_id: damage_file(tmp_path, scope, thread_id)

    @pytest.fixture
    def break_store(self, tmp_path: pathlib.Path) -> BreakStore:
        return lambda _plugin: put_in_the_way(tmp_path)


class TestFiveMethods(
    contracts.PluginContract,
    contracts.ExpiryContract,
    contracts.MaxMessagesContract,
    contracts.ThreadsContract,
    contracts.ForkContract,
    contracts.CorruptionContract,
):
    @pytest.fixture
    def make_plugin(self) -> MakePlugin:
        return lambda **options: FiveMethodsPlugin(options)

    @pytest.fixture
    def damage(self) -> Damage:
        def damage(plugin: ChatMemoryPlugin, scope: Scope, thread_id: str) -> None:
            assert isinstance(plugin, FiveMethodsPlugin)
            plugin.records[scope, thread_id][1][-1]["message"] = {"role": "nobody"}

        return damage


@pytest.mark.parametrize("method", ["has_thread", "load_messages", "save_messages", "delete_thread"])
def test_a_plugin_that_lacks_a_method_cannot_be_made(method: str) -> None:
    lacking = type(
        "Lacking", (ChatMemoryPlugin,), {**vars(FiveMethodsPlugin), method: getattr(ChatMemoryPlugin, method)}
    )
    with pytest.raises(TypeError, match=method):
        lacking()


@pytest.mark.parametrize("suite", [TestInMemory, TestSQLAlchemy, TestFile, TestFiveMethods])
def test_no_contract_hides_a_test_of_another(suite: type) -> None:
    names = [name for base in suite.__mro__ for name in vars(base) if name.startswith("test_")]
    assert sorted(names) == sorted(set(names))


def test_only_the_contracts_need_pytest() -> None:
    code = "import sys, flask_chat_memory.testing; sys.exit('pytest' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
