"""The contract of a storage, encrypted over the servers."""

from __future__ import annotations

import collections.abc as cabc
import typing as t

import pytest

from flask_chat_memory import Storage
from flask_chat_memory.storage.encrypted import EncryptedStorage
from flask_chat_memory.testing.contracts.storage import MakeStorage

from .encryption import NEW
from .redis_servers import Client
from .redis_servers import Cluster
from .redis_servers import remove_keys
from .test_storage_contract import TestMariaDBStorage as OverMariaDB
from .test_storage_contract import TestPostgreSQLStorage as OverPostgreSQL
from .test_storage_redis import TestRedisCluster as OverRedisCluster
from .test_storage_redis import TestRedisURL as OverRedisURL


class Encrypted:
    @pytest.fixture
    def make_storage(self, url: str) -> cabc.Iterator[MakeStorage]:
        opened: list[Storage] = []

        def make() -> Storage:
            opened.append(encrypted(type="sqlalchemy", url=url))
            return opened[-1]

        yield make
        for storage in opened:
            storage.close()


class TestEncryptedPostgreSQLStorage(Encrypted, OverPostgreSQL):
    pass


class TestEncryptedMariaDBStorage(Encrypted, OverMariaDB):
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
