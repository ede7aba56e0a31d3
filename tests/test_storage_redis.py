"""The shipped contract of storages over one Redis, with both kinds of clients, and over a Redis Cluster."""

from __future__ import annotations

import collections.abc as cabc
import contextlib
import hashlib
import typing as t

import pytest
import redis
from redis.cluster import RedisCluster

from flask_chat_memory.plugins.redis_.names import escaped
from flask_chat_memory.storage.base import Storage
from flask_chat_memory.storage.redis import RedisStorage
from flask_chat_memory.testing.contracts.storage import MakeStorage
from flask_chat_memory.testing.contracts.stores import BreakStorage
from flask_chat_memory.testing.contracts.stores import DamageDocument

from .broken_stores import take_over_redis
from .redis_servers import Client
from .redis_servers import Cluster
from .redis_servers import remove_keys
from .test_storage_contract import EveryStorageContract


class RedisContracts(EveryStorageContract):
    @pytest.fixture
    def damage_document(self, cleaner: Client, key_prefix: str) -> DamageDocument:
        def damage(_storage: Storage, key: str) -> None:
            digest = hashlib.sha1(key.encode(), usedforsecurity=False).hexdigest()
            [name] = cleaner.scan_iter(f"{escaped(key_prefix)}*:{digest}", count=1000)
            cleaner.set(name, "1.0 {{")

        return damage

    @pytest.fixture
    def break_storage(self, cleaner: Client, key_prefix: str) -> BreakStorage:
        return lambda _storage: take_over_redis(cleaner, key_prefix)


@contextlib.contextmanager
def making(cleaner: Client, /, **where: t.Any) -> cabc.Iterator[MakeStorage]:
    """Give what opens the same keys each time; they are removed in the end."""
    opened: list[Storage] = []

    def make() -> Storage:
        opened.append(RedisStorage(where))
        return opened[-1]

    try:
        yield make
    finally:
        for storage in opened:
            storage.close()
        remove_keys(cleaner, where["key_prefix"])


class TestRedisURL(RedisContracts):
    @pytest.fixture
    def cleaner(self, redis_url: str) -> cabc.Iterator[Client]:
        with redis.Redis.from_url(redis_url) as client:
            yield client

    @pytest.fixture
    def make_storage(self, cleaner: Client, redis_url: str, key_prefix: str) -> cabc.Iterator[MakeStorage]:
        with making(cleaner, url=redis_url, key_prefix=key_prefix) as make:
            yield make


class TestRedisClientThatDecodes(RedisContracts):
    @pytest.fixture
    def cleaner(self, redis_url: str) -> cabc.Iterator[Client]:
        with redis.Redis.from_url(redis_url, decode_responses=True) as client:
            yield client

    @pytest.fixture
    def make_storage(self, cleaner: Client, key_prefix: str) -> cabc.Iterator[MakeStorage]:
        with making(cleaner, client=cleaner, key_prefix=key_prefix) as make:
            yield make


class TestRedisCluster(RedisContracts):
    @pytest.fixture
    def cleaner(self, redis_cluster: Cluster) -> cabc.Iterator[Client]:
        with RedisCluster.from_url(redis_cluster.url) as client:
            yield client

    @pytest.fixture
    def make_storage(self, cleaner: Client, redis_cluster: Cluster, key_prefix: str) -> cabc.Iterator[MakeStorage]:
        with making(cleaner, url=redis_cluster.url, cluster=True, key_prefix=key_prefix) as make:
            yield make


def test_a_listing_is_read_in_pages(redis_url: str, key_prefix: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("flask_chat_memory.storage.redis.PAGE", 3)
    with redis.Redis.from_url(redis_url) as client, making(client, client=client, key_prefix=key_prefix) as make:
        storage = make()
        keys = [f"a/{n:02}" for n in range(10)]
        for key in keys:
            storage.save(key, {})
        assert storage.list() == keys
        assert storage.list("a/0*") == keys
        assert storage.clean_up(2e9 + 1e9) == 10


def test_a_document_that_the_server_dropped_is_no_longer_listed(redis_url: str, key_prefix: str) -> None:
    with redis.Redis.from_url(redis_url) as client, making(client, client=client, key_prefix=key_prefix) as make:
        storage = make()
        storage.save("a/1", {})
        storage.save("a/2", {})
        digest = hashlib.sha1(b"a/1", usedforsecurity=False).hexdigest()
        client.delete(*client.scan_iter(f"{escaped(key_prefix)}*:{digest}", count=1000))
        assert storage.list() == ["a/2"]


def test_patterns_never_meet_the_keys_of_others(redis_url: str, key_prefix: str) -> None:
    with redis.Redis.from_url(redis_url) as client, making(client, client=client, key_prefix=f"{key_prefix}*") as make:
        with making(client, client=client, key_prefix=f"{key_prefix}x") as make_other:
            make_other().save("a", {"of": "others"})
            assert make().list("*") == []
            assert make().clean_up(3e9) == 0
            assert make_other().list() == ["a"]
