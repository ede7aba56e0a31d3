"""The shipped contract over one Redis, with both kinds of clients, and over a Redis Cluster."""

from __future__ import annotations

import collections.abc as cabc
import contextlib
import typing as t

import pytest
import redis
from redis.cluster import RedisCluster

from flask_chat_memory import ChatMemoryPlugin
from flask_chat_memory import Scope
from flask_chat_memory.plugins.redis import RedisPlugin
from flask_chat_memory.plugins.redis_.names import index_name
from flask_chat_memory.plugins.redis_.names import thread_digest
from flask_chat_memory.testing import contracts
from flask_chat_memory.testing.contracts.failures import BreakStore
from flask_chat_memory.testing.contracts.failures import Damage
from flask_chat_memory.testing.contracts.parts import MakePlugin

from .every_contract import EveryContract
from .redis_servers import Client
from .redis_servers import Cluster
from .redis_servers import escaped
from .redis_servers import remove_keys


class AllContracts(
    EveryContract, contracts.ListsThreadsContract, contracts.DescribesThreadsContract, contracts.PurgesThreadsContract
):
    @pytest.fixture
    def damage(self, cleaner: Client, key_prefix: str) -> Damage:
        def damage(_plugin: ChatMemoryPlugin, scope: Scope, thread_id: str) -> None:
            key = f"{index_name(key_prefix, scope)}:{thread_digest(thread_id)}:messages"
            cleaner.lset(key, 1, f"{2:016d} {{{{")

        return damage

    @pytest.fixture
    def break_store(self, cleaner: Client, key_prefix: str) -> BreakStore:
        def break_store(_plugin: ChatMemoryPlugin) -> None:
            for key in list(cleaner.scan_iter(f"{escaped(key_prefix)}*", count=1000)):
                cleaner.delete(key)
                cleaner.set(key, "of another program")

        return break_store


@contextlib.contextmanager
def making(cleaner: Client, /, **where: t.Any) -> cabc.Iterator[MakePlugin]:
    """Give what opens the same keys each time; they are removed in the end."""
    opened: list[ChatMemoryPlugin] = []

    def make(**options: t.Any) -> ChatMemoryPlugin:
        opened.append(RedisPlugin({**where, **options}))
        return opened[-1]

    yield make
    for plugin in opened:
        plugin.close()
    remove_keys(cleaner, where["key_prefix"])


class TestRedisURL(AllContracts):
    @pytest.fixture
    def cleaner(self, redis_url: str) -> cabc.Iterator[Client]:
        with redis.Redis.from_url(redis_url) as client:
            yield client

    @pytest.fixture
    def make_plugin(self, cleaner: Client, redis_url: str, key_prefix: str) -> cabc.Iterator[MakePlugin]:
        with making(cleaner, url=redis_url, key_prefix=key_prefix) as make:
            yield make


class TestRedisClientThatDecodes(AllContracts):
    @pytest.fixture
    def cleaner(self, redis_url: str) -> cabc.Iterator[Client]:
        with redis.Redis.from_url(redis_url, decode_responses=True) as client:
            yield client

    @pytest.fixture
    def make_plugin(self, cleaner: Client, key_prefix: str) -> cabc.Iterator[MakePlugin]:
        with making(cleaner, client=cleaner, key_prefix=key_prefix) as make:
            yield make


class TestRedisCluster(AllContracts):
    @pytest.fixture
    def cleaner(self, redis_cluster: Cluster) -> cabc.Iterator[Client]:
        with RedisCluster.from_url(redis_cluster.url) as client:
            yield client

    @pytest.fixture
    def make_plugin(self, cleaner: Client, redis_cluster: Cluster, key_prefix: str) -> cabc.Iterator[MakePlugin]:
        with making(cleaner, url=redis_cluster.url, cluster=True, key_prefix=key_prefix) as make:
            yield make
