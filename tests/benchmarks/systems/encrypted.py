"""A plugin, and the same wrapped by ``encrypted``, each in a place of its own."""

from __future__ import annotations

import collections.abc as cabc
import contextlib
import functools
import typing as t

from flask_chat_memory.plugins.base import ChatMemoryPlugin
from flask_chat_memory.plugins.encrypted import EncryptedPlugin
from flask_chat_memory.plugins.file import FilePlugin
from flask_chat_memory.plugins.redis import RedisPlugin
from flask_chat_memory.plugins.sqlalchemy import SQLAlchemyPlugin
from tests.benchmarks.store import System
from tests.benchmarks.systems import files
from tests.benchmarks.systems import postgresql
from tests.benchmarks.systems import redis
from tests.benchmarks.systems import sqlite
from tests.encryption import NEW

Systems = cabc.Callable[..., contextlib.AbstractContextManager[list[System]]]
"""Gives the systems of a backend, of which the last is the plugin that it is told to make."""


@contextlib.contextmanager
def both(plugin: type[ChatMemoryPlugin], systems: Systems, length: int) -> cabc.Iterator[list[System]]:
    def encrypted(options: dict[str, t.Any]) -> ChatMemoryPlugin:
        return EncryptedPlugin({"plugin": plugin, "keys": [NEW], "options": options})

    with systems(length) as plain, systems(length, encrypted) as hidden:
        yield [plain[-1], hidden[-1]]


on_sqlite = functools.partial(both, SQLAlchemyPlugin, sqlite.systems)
on_postgresql = functools.partial(both, SQLAlchemyPlugin, postgresql.systems)
on_redis = functools.partial(both, RedisPlugin, redis.systems)
on_files = functools.partial(both, FilePlugin, files.systems)
