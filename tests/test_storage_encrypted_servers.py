"""The contract of a storage, encrypted over the servers."""

from __future__ import annotations

import collections.abc as cabc

import pytest

from flask_chat_memory.testing.contracts.storage import MakeStorage

from .redis_servers import Client
from .redis_servers import Cluster
from .redis_servers import remove_keys
from .test_storage_contract import TestMariaDBStorage as OverMariaDB
from .test_storage_contract import TestPostgreSQLStorage as OverPostgreSQL
from .test_storage_encrypted import encrypted
from .test_storage_encrypted import TestOverSQLAlchemy as OverSQLAlchemy
from .test_storage_redis import TestRedisCluster as OverRedisCluster
from .test_storage_redis import TestRedisURL as OverRedisURL


class TestEncryptedPostgreSQLStorage(OverSQLAlchemy, OverPostgreSQL):
    pass


class TestEncryptedMariaDBStorage(OverSQLAlchemy, OverMariaDB):
    pass


class TestEncryptedRedisStorage(OverRedisURL):
    @pytest.fixture
    def make_storage(self, cleaner: Client, redis_url: str, key_prefix: str) -> cabc.Iterator[MakeStorage]:
        yield lambda: encrypted({"type": "redis", "url": redis_url, "key_prefix": key_prefix})
        remove_keys(cleaner, key_prefix)


class TestEncryptedClusterStorage(OverRedisCluster):
    @pytest.fixture
    def make_storage(self, cleaner: Client, redis_cluster: Cluster, key_prefix: str) -> cabc.Iterator[MakeStorage]:
        yield lambda: encrypted({"type": "redis", "url": redis_cluster.url, "cluster": True, "key_prefix": key_prefix})
        remove_keys(cleaner, key_prefix)
