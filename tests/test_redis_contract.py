"""The shipped contract over one Redis, with both kinds of clients, and over a Redis Cluster."""

from __future__ import annotations

import collections.abc as cabc
import contextlib
import typing as t

import pytest
import redis
from redis.cluster import RedisCluster

from flask_chat_memory import ChatMemoryPlugin
from flask_chat_memory.plugins.redis import RedisPlugin
from flask_chat_memory.testing import contracts
from flask_chat_memory.testing.contracts.failures import BreakStore
from flask_chat_memory.testing.contracts.failures import Damage
from flask_chat_memory.testing.contracts.parts import MakePlugin

from .broken_stores import damage_redis
from .broken_stores import take_over_redis
from .every_contract import EveryContract
from .redis_servers import Client
from .redis_servers import Cluster
from .redis_servers import remove_keys


class AllContracts(EveryContract):
    @pytest.fixture
    def damage(self, cleaner: Client, key_prefix: str) -> Damage:
        return lambda _plugin, scope, thread_id: damage_redis(cleaner, key_prefix, scope, thread_id)

    @pytest.fixture
    def break_store(self, cleaner: Client, key_prefix: str) -> BreakStore:
        return lambda _plugin: take_over_redis(cleaner, key_prefix)


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


class TestRedisURL(AllContracts, contracts.LoadContract):
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


class TestRedisCluster(AllContracts, contracts.LoadContract):
    @pytest.fixture
    def cleaner(self, redis_cluster: Cluster) -> cabc.Iterator[Client]:
        with RedisCluster.from_url(redis_cluster.url) as client:
            yield client

    @pytest.fixture
    def make_plugin(self, cleaner: Client, redis_cluster: Cluster, key_prefix: str) -> cabc.Iterator[MakePlugin]:
        with making(cleaner, url=redis_cluster.url, cluster=True, key_prefix=key_prefix) as make:
            yield make
