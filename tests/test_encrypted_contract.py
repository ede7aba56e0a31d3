"""The contracts of plugins over encrypted ones."""

from __future__ import annotations

import collections.abc as cabc
import pathlib
import typing as t

import flask
import pytest

from flask_chat_memory import ChatMemoryPlugin
from flask_chat_memory import Scope
from flask_chat_memory.documents import Documents
from flask_chat_memory.plugins.encrypted import EncryptedPlugin
from flask_chat_memory.resolve import resolve
from flask_chat_memory.testing.contracts.failures import Damage
from flask_chat_memory.testing.contracts.parts import MakePlugin

from . import test_documents_plugin
from . import test_flask_session_contract
from . import test_plugin_contract
from . import test_redis_contract
from . import test_sqlalchemy_contract_servers
from .encryption import encrypted
from .encryption import NEW
from .encryption import wrapped
from .five_methods import FiveMethodsPlugin
from .redis_clients import RedisClusterURL
from .redis_clients import RedisURL
from .sql_servers import Place


class TestOverInMemory(test_plugin_contract.TestInMemory):
    @pytest.fixture
    def make_plugin(self) -> MakePlugin:
        return lambda **options: encrypted("in_memory", {}, **options)


class TestOverSQLite(test_plugin_contract.TestSQLAlchemy):
    @pytest.fixture
    def make_plugin(self, tmp_path: pathlib.Path) -> MakePlugin:
        url = f"sqlite:///{tmp_path}/chat.sqlite3"
        return lambda **options: encrypted("sqlalchemy", {"url": url}, **options)


class TestOverFile(test_plugin_contract.TestFile):
    @pytest.fixture
    def make_plugin(self, tmp_path: pathlib.Path) -> MakePlugin:
        return lambda **options: encrypted("file", {"folder": str(tmp_path)}, **options)


class OverRedis(test_redis_contract.OverRedis):
    @pytest.fixture
    def make_plugin(self, where: dict[str, t.Any]) -> MakePlugin:
        return lambda **options: encrypted("redis", where, **options)


class TestOverRedis(RedisURL, OverRedis):
    pass


class TestOverRedisCluster(RedisClusterURL, OverRedis):
    pass


class OverAServer:
    @pytest.fixture
    def make_plugin(self, place: Place) -> cabc.Iterator[MakePlugin]:
        opened: list[ChatMemoryPlugin] = []

        def make(**options: t.Any) -> ChatMemoryPlugin:
            opened.append(encrypted("sqlalchemy", {"url": place.url}, **options))
            return opened[-1]

        yield make
        for plugin in opened:
            plugin.close()


class TestOverPostgreSQL(OverAServer, test_sqlalchemy_contract_servers.OnPostgreSQL):
    pass


class TestOverMariaDB(OverAServer, test_sqlalchemy_contract_servers.OnMariaDB):
    pass


class Encrypted:
    def open(self, app: flask.Flask, id: str, own: dict[str, t.Any], common: dict[str, t.Any]) -> ChatMemoryPlugin:
        options = EncryptedPlugin.Options.make({"plugin": id, "keys": [NEW], "options": own, **common}, "options")
        return EncryptedPlugin(resolve(app, options, Documents({}, {})))


class TestOverRedisSessions(Encrypted, test_flask_session_contract.TestRedisSessions):
    pass


class TestOverSQLAlchemySessions(Encrypted, test_flask_session_contract.TestSQLAlchemySessions):
    pass


class TestOverFileSessions(Encrypted, test_flask_session_contract.TestFileSessions):
    pass


class TestOverDocuments(test_documents_plugin.TestOverTheSitesOwn):
    @pytest.fixture
    def make_plugin(self, storage: test_documents_plugin.BreakableStorage) -> MakePlugin:
        return lambda **options: encrypted("documents", {"storage": storage}, **options)


class TestOverFiveMethods(test_plugin_contract.TestFiveMethods):
    @pytest.fixture
    def make_plugin(self) -> MakePlugin:
        return lambda **options: encrypted(FiveMethodsPlugin, {}, **options)

    @pytest.fixture
    def damage(self) -> Damage:
        def damage(plugin: ChatMemoryPlugin, scope: Scope, thread_id: str) -> None:
            kept = t.cast(FiveMethodsPlugin, wrapped(t.cast(EncryptedPlugin, plugin)))
            kept.records[scope, thread_id][1][-1]["message"]["content"] = "in clear"

        return damage
