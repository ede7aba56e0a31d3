from __future__ import annotations

import collections.abc as cabc
import pathlib
import subprocess
import sys
import typing as t

import pytest

from flask_chat_memory import ChatMemoryPlugin
from flask_chat_memory.plugins.in_memory import InMemoryPlugin
from flask_chat_memory.plugins.sqlalchemy import SQLAlchemyPlugin
from flask_chat_memory.testing import contracts
from flask_chat_memory.testing.contracts.parts import MakePlugin
from tests.five_methods import FiveMethodsPlugin


class TestInMemory(
    contracts.PluginContract,
    contracts.ExpiryContract,
    contracts.MaxMessagesContract,
    contracts.LastingNumbersContract,
    contracts.MaxThreadsContract,
    contracts.CurrentThreadContract,
    contracts.LiveTurnsContract,
    contracts.MovesThreadsContract,
    contracts.ThreadsContract,
    contracts.ForkContract,
):
    @pytest.fixture
    def make_plugin(self) -> MakePlugin:
        return lambda **options: InMemoryPlugin(options)


class TestSQLAlchemy(
    contracts.PluginContract,
    contracts.PersistenceContract,
    contracts.ExpiryContract,
    contracts.MaxMessagesContract,
    contracts.LastingNumbersContract,
    contracts.MaxThreadsContract,
    contracts.CurrentThreadContract,
    contracts.LiveTurnsContract,
    contracts.MovesThreadsContract,
    contracts.ThreadsContract,
    contracts.ForkContract,
    contracts.ProcessContract,
):
    @pytest.fixture
    def make_plugin(self, tmp_path: pathlib.Path) -> cabc.Iterator[MakePlugin]:
        opened: list[ChatMemoryPlugin] = []

        def make(**options: t.Any) -> ChatMemoryPlugin:
            opened.append(SQLAlchemyPlugin({"url": f"sqlite:///{tmp_path}/chat.sqlite3", **options}))
            return opened[-1]

        yield make
        for plugin in opened:
            plugin.close()


class TestFiveMethods(
    contracts.PluginContract,
    contracts.ExpiryContract,
    contracts.MaxMessagesContract,
    contracts.ThreadsContract,
    contracts.ForkContract,
):
    @pytest.fixture
    def make_plugin(self) -> MakePlugin:
        return lambda **options: FiveMethodsPlugin(options)


@pytest.mark.parametrize("method", ["has_thread", "load_messages", "save_messages", "delete_thread"])
def test_a_plugin_that_lacks_a_method_cannot_be_made(method: str) -> None:
    lacking = type(
        "Lacking", (ChatMemoryPlugin,), {**vars(FiveMethodsPlugin), method: getattr(ChatMemoryPlugin, method)}
    )
    with pytest.raises(TypeError, match=method):
        lacking()


@pytest.mark.parametrize("suite", [TestInMemory, TestSQLAlchemy, TestFiveMethods])
def test_no_contract_hides_a_test_of_another(suite: type) -> None:
    names = [name for base in suite.__mro__ for name in vars(base) if name.startswith("test_")]
    assert sorted(names) == sorted(set(names))


def test_only_the_contracts_need_pytest() -> None:
    code = "import sys, flask_chat_memory.testing; sys.exit('pytest' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
