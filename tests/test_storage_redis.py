"""The shipped contract of storages over one Redis, with both kinds of clients, and over a Redis Cluster."""

from __future__ import annotations

import collections.abc as cabc
import contextlib
import hashlib
import typing as t

import pytest

from flask_chat_memory.plugins.redis_.names import escaped
from flask_chat_memory.storage.base import Storage
from flask_chat_memory.storage.redis import RedisStorage
from flask_chat_memory.testing.contracts.storage import MakeStorage
from flask_chat_memory.testing.contracts.stores import BreakStorage
from flask_chat_memory.testing.contracts.stores import DamageDocument

from .broken_stores import take_over_redis
from .redis_clients import RedisClientThatDecodes
from .redis_clients import RedisClusterURL
from .redis_clients import RedisURL
from .redis_servers import Client
from .test_storage_contract import EveryStorageContract


class RedisContracts(EveryStorageContract):
    @pytest.fixture
    def make_storage(self, where: dict[str, t.Any]) -> cabc.Iterator[MakeStorage]:
        with contextlib.ExitStack() as opened:
            yield lambda: opened.enter_context(contextlib.closing(RedisStorage(where)))

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


class TestRedisURL(RedisURL, RedisContracts):
    pass


@pytest.mark.scenario("S195")
class TestRedisClientThatDecodes(RedisClientThatDecodes, RedisContracts):
    pass


class TestRedisCluster(RedisClusterURL, RedisContracts):
    pass


class TestKeys(RedisClientThatDecodes):
    def test_a_listing_is_read_in_pages(self, where: dict[str, t.Any], monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("flask_chat_memory.storage.redis.PAGE", 3)
        storage = RedisStorage(where)
        keys = [f"a/{n:02}" for n in range(10)]
        for key in keys:
            storage.save(key, {})
        assert storage.list() == keys
        assert storage.list("a/0*") == keys
        assert storage.clean_up(2e9 + 1e9) == 10

    def test_a_document_that_the_server_dropped_is_no_longer_listed(
        self, where: dict[str, t.Any], cleaner: Client, key_prefix: str
    ) -> None:
        storage = RedisStorage(where)
        storage.save("a/1", {})
        storage.save("a/2", {})
        digest = hashlib.sha1(b"a/1", usedforsecurity=False).hexdigest()
        cleaner.delete(*cleaner.scan_iter(f"{escaped(key_prefix)}*:{digest}", count=1000))
        assert storage.list() == ["a/2"]

    @pytest.mark.scenario("S035")
    def test_patterns_never_meet_the_keys_of_others(self, where: dict[str, t.Any], key_prefix: str) -> None:
        storage = RedisStorage({**where, "key_prefix": f"{key_prefix}*"})
        other = RedisStorage({**where, "key_prefix": f"{key_prefix}x"})
        other.save("a", {"of": "others"})
        assert storage.list("*") == []
        assert storage.clean_up(3e9) == 0
        assert other.list() == ["a"]
