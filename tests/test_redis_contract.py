"""The shipped contract over one Redis, with both kinds of clients, and over a Redis Cluster."""

from __future__ import annotations

import collections.abc as cabc
import contextlib
import typing as t

import pytest

from flask_chat_memory import ChatMemoryPlugin
from flask_chat_memory.plugins.redis import RedisPlugin
from flask_chat_memory.testing import contracts
from flask_chat_memory.testing.contracts.failures import BreakStore
from flask_chat_memory.testing.contracts.failures import Damage
from flask_chat_memory.testing.contracts.parts import MakePlugin

from .broken_stores import damage_redis
from .broken_stores import take_over_redis
from .every_contract import EveryContract
from .redis_clients import RedisClientThatDecodes
from .redis_clients import RedisClusterURL
from .redis_clients import RedisURL
from .redis_servers import Client


class OverRedis(EveryContract):
    @pytest.fixture
    def make_plugin(self, where: dict[str, t.Any]) -> cabc.Iterator[MakePlugin]:
        with contextlib.ExitStack() as opened:

            def make(**options: t.Any) -> ChatMemoryPlugin:
                return opened.enter_context(contextlib.closing(RedisPlugin({**where, **options})))

            yield make

    @pytest.fixture
    def damage(self, cleaner: Client, key_prefix: str) -> Damage:
        return lambda _plugin, scope, thread_id: damage_redis(cleaner, key_prefix, scope, thread_id)

    @pytest.fixture
    def break_store(self, cleaner: Client, key_prefix: str) -> BreakStore:
        return lambda _plugin: take_over_redis(cleaner, key_prefix)


class TestRedisURL(RedisURL, OverRedis, contracts.LoadContract):
    pass


@pytest.mark.scenario("S195")
class TestRedisClientThatDecodes(RedisClientThatDecodes, OverRedis):
    pass


class TestRedisCluster(RedisClusterURL, OverRedis, contracts.LoadContract):
    pass
