"""What a contract is held against on Redis: one server, with both kinds of clients, and a cluster."""

from __future__ import annotations

import collections.abc as cabc
import contextlib
import typing as t

import pytest
import redis
from redis.cluster import RedisCluster

from .redis_servers import Client
from .redis_servers import Cluster
from .redis_servers import remove_keys


@contextlib.contextmanager
def cleaning(client: Client, prefix: str) -> cabc.Iterator[Client]:
    """Give a client, and remove the keys with the prefix in the end."""
    with client:
        yield client
        remove_keys(client, prefix)


class RedisURL:
    """``where`` are the options of a plugin or a storage; ``cleaner`` is another program's connection."""

    @pytest.fixture
    def cleaner(self, redis_url: str, key_prefix: str) -> cabc.Iterator[Client]:
        with cleaning(redis.Redis.from_url(redis_url), key_prefix) as client:
            yield client

    @pytest.fixture
    def where(self, cleaner: Client, redis_url: str, key_prefix: str) -> dict[str, t.Any]:
        return {"url": redis_url, "key_prefix": key_prefix}


class RedisClientThatDecodes:
    """The site's client, which is the cleaner as well."""

    @pytest.fixture
    def cleaner(self, redis_url: str, key_prefix: str) -> cabc.Iterator[Client]:
        with cleaning(redis.Redis.from_url(redis_url, decode_responses=True), key_prefix) as client:
            yield client

    @pytest.fixture
    def where(self, cleaner: Client, key_prefix: str) -> dict[str, t.Any]:
        return {"client": cleaner, "key_prefix": key_prefix}


class RedisClusterURL:
    @pytest.fixture
    def cleaner(self, redis_cluster: Cluster, key_prefix: str) -> cabc.Iterator[Client]:
        with cleaning(RedisCluster.from_url(redis_cluster.url), key_prefix) as client:
            yield client

    @pytest.fixture
    def where(self, cleaner: Client, redis_cluster: Cluster, key_prefix: str) -> dict[str, t.Any]:
        return {"url": redis_cluster.url, "cluster": True, "key_prefix": key_prefix}
