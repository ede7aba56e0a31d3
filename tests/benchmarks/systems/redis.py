"""Redis: redis-py alone, on a bare list and on keys of the same shape; and the plugin."""

from __future__ import annotations

import collections.abc as cabc
import contextlib
import os
import secrets
import time
import typing as t

import msgspec
import redis

from flask_chat_memory.plugins.base import ChatMemoryPlugin
from flask_chat_memory.plugins.redis import RedisPlugin
from flask_chat_memory.plugins.redis_.names import index_name
from flask_chat_memory.plugins.redis_.names import thread_digest
from tests.benchmarks.store import Body
from tests.benchmarks.store import fill
from tests.benchmarks.store import OWNER
from tests.benchmarks.store import System
from tests.benchmarks.store import THREAD_ID
from tests.benchmarks.systems.plugin import Make
from tests.benchmarks.systems.plugin import PluginSystem
from tests.benchmarks.systems.plugin import RawSystem
from tests.benchmarks.systems.plugin import SCOPE
from tests.redis_servers import remove_keys
from tests.redis_servers import URL

_EXPIRY = 30 * 24 * 3600


class RawRedis(RawSystem):
    """RPUSH, LRANGE and UNLINK of one list a thread, and nothing else."""

    name = "raw redis-py"

    def __init__(self, client: redis.Redis, prefix: str, length: int) -> None:
        self._client = client
        self._prefix = f"{prefix}{self.name}:"
        fill(self, length)

    def add(self, owner: str, messages: cabc.Sequence[Body]) -> None:
        self._client.rpush(f"{self._prefix}{owner}", *map(msgspec.json.encode, messages))

    def load(self, limit: int | None) -> list[Body]:
        found = self._client.lrange(f"{self._prefix}{OWNER}", -limit if limit else 0, -1)
        return [msgspec.json.decode(body) for body in t.cast("list[bytes]", found)]

    def cut(self, length: int) -> None:
        self._client.ltrim(f"{self._prefix}{OWNER}", 0, length - 1)

    def delete(self, owner: str) -> None:
        self._client.unlink(f"{self._prefix}{owner}")


class ShapedRedis(RawRedis):
    """The same with what a store of conversations has besides: ids and turns, a head, an index, expiry of each key."""

    name = "raw, same shape"

    def add(self, owner: str, messages: cabc.Sequence[Body]) -> None:
        key, index, now = f"{self._prefix}{owner}", f"{self._prefix}index:{owner}", time.time()
        found = {f"m:{message['id']}": "" for message in messages} | {
            f"t:{message['turn']}": "" for message in messages
        }
        pipeline = self._client.pipeline(transaction=True)
        pipeline.rpush(key, *map(msgspec.json.encode, messages))
        pipeline.hset(f"{key}:found", mapping=t.cast(t.Any, found))
        pipeline.hset(f"{key}:about", mapping={"active": now})
        pipeline.zadd(index, {key: now})
        for name in (key, f"{key}:found", f"{key}:about", index):
            pipeline.expire(name, _EXPIRY)
        pipeline.execute()

    def delete(self, owner: str) -> None:
        key, index = f"{self._prefix}{owner}", f"{self._prefix}index:{owner}"
        pipeline = self._client.pipeline(transaction=True)
        pipeline.unlink(key, f"{key}:found", f"{key}:about")
        pipeline.zrem(index, key)
        pipeline.execute()

    def cut(self, length: int) -> None:
        key = f"{self._prefix}{OWNER}"
        cut = [msgspec.json.decode(body) for body in t.cast("list[bytes]", self._client.lrange(key, length, -1))]
        super().cut(length)
        if cut:
            self._client.hdel(f"{key}:found", *(f"{kind}:{body[name]}" for body in cut for kind, name in _FOUND))


_FOUND = (("m", "id"), ("t", "turn"))


class OurRedis(PluginSystem):
    def __init__(self, plugin: ChatMemoryPlugin, client: redis.Redis, prefix: str, length: int) -> None:
        super().__init__(plugin, length)
        self._client = t.cast(t.Any, client)
        self._key = f"{index_name(prefix, SCOPE)}:{thread_digest(THREAD_ID)}"
        [self._head] = self._client.lrange(f"{self._key}:messages", -1, -1)

    def cut(self, length: int) -> None:
        messages, found = f"{self._key}:messages", f"{self._key}:found"
        *cut, head = self._client.lrange(messages, length, -1)
        given, before = (msgspec.msgpack.decode(packed)[9] for packed in (head, self._head))
        orders = [f"o:{number}" for number in range(before + 1, given + 1)]
        keys = [f"k:{key.decode()}" for key in self._client.hmget(found, orders) if key] if orders else []
        bodies = [msgspec.json.decode(member[17:]) for member in cut]
        fields = [f"{kind}:{body[name]}" for body in bodies for kind, name in _FOUND]
        if cut:
            self._client.hdel(found, *orders, *keys, *fields)
        self._client.ltrim(messages, 0, length)
        self._client.lset(messages, -1, self._head)


@contextlib.contextmanager
def systems(length: int, make: Make = RedisPlugin) -> cabc.Iterator[list[System]]:
    """Give each keys of its own, on the server that the environment names."""
    url, prefix = os.environ[URL], f"chat-memory-benchmark-{secrets.token_hex(8)}:"
    with (
        redis.Redis.from_url(url) as client,
        contextlib.closing(make({"url": url, "key_prefix": prefix})) as plugin,
    ):
        try:
            ours = OurRedis(plugin, client, prefix, length)
            yield [RawRedis(client, prefix, length), ShapedRedis(client, prefix, length), ours]
        finally:
            remove_keys(client, prefix)
