"""The contract of a storage over PostgreSQL and MariaDB, in clear and encrypted, and encrypted over Redis."""

from __future__ import annotations

import collections.abc as cabc
import typing as t

import pytest

from flask_chat_memory import Storage
from flask_chat_memory.storage.encrypted import EncryptedStorage
from flask_chat_memory.storage.sqlalchemy import SQLAlchemyStorage
from flask_chat_memory.testing.contracts.storage import MakeStorage
from flask_chat_memory.testing.contracts.stores import BreakStorage
from flask_chat_memory.testing.contracts.stores import DamageDocument

from .encryption import NEW
from .redis_servers import Client
from .redis_servers import Cluster
from .redis_servers import remove_keys
from .sql_servers import database_of_our_own
from .sql_servers import Place
from .sql_servers import schema_of_our_own
from .test_storage_contract import EveryStorageContract
from .test_storage_redis import TestRedisCluster as OverRedisCluster
from .test_storage_redis import TestRedisURL as OverRedisURL


class OnAServer(EveryStorageContract):
    def open(self, url: str) -> Storage:
        return SQLAlchemyStorage({"url": url})

    @pytest.fixture
    def make_storage(self, place: Place) -> cabc.Iterator[MakeStorage]:
        opened: list[Storage] = []

        def make() -> Storage:
            opened.append(self.open(place.url))
            return opened[-1]

        yield make
        for storage in opened:
            storage.close()

    @pytest.fixture
    def damage_document(self, place: Place) -> DamageDocument:
        def damage(_storage: Storage, key: str) -> None:
            place.run("UPDATE chat_memory_document SET body = '{{' WHERE name = :key", key=key)

        return damage

    @pytest.fixture
    def break_storage(self, place: Place) -> BreakStorage:
        def break_storage(_storage: Storage) -> None:
            place.run("DROP TABLE chat_memory_document")

        return break_storage


class TestPostgreSQLStorage(OnAServer):
    @pytest.fixture
    def place(self) -> cabc.Iterator[Place]:
        with schema_of_our_own() as place:
            yield place


class TestMariaDBStorage(OnAServer):
    @pytest.fixture
    def place(self) -> cabc.Iterator[Place]:
        with database_of_our_own() as place:
            yield place


class Encrypted:
    def open(self, url: str) -> Storage:
        return encrypted(type="sqlalchemy", url=url)


class TestEncryptedPostgreSQLStorage(Encrypted, TestPostgreSQLStorage):
    pass


class TestEncryptedMariaDBStorage(Encrypted, TestMariaDBStorage):
    pass


class TestEncryptedRedisStorage(OverRedisURL):
    @pytest.fixture
    def make_storage(self, cleaner: Client, redis_url: str, key_prefix: str) -> cabc.Iterator[MakeStorage]:
        yield lambda: encrypted(type="redis", url=redis_url, key_prefix=key_prefix)
        remove_keys(cleaner, key_prefix)


class TestEncryptedClusterStorage(OverRedisCluster):
    @pytest.fixture
    def make_storage(self, cleaner: Client, redis_cluster: Cluster, key_prefix: str) -> cabc.Iterator[MakeStorage]:
        yield lambda: encrypted(type="redis", url=redis_cluster.url, cluster=True, key_prefix=key_prefix)
        remove_keys(cleaner, key_prefix)


def encrypted(**storage: t.Any) -> EncryptedStorage:
    return EncryptedStorage({"storage": storage, "keys": [NEW]})
