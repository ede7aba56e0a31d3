"""Storages of documents on several stores, for what is built on documents."""

from __future__ import annotations

import collections.abc as cabc
import pathlib
import typing as t

import pytest

from flask_chat_memory.storage.base import Storage
from flask_chat_memory.storage.file import FileStorage
from flask_chat_memory.storage.in_memory import InMemoryStorage
from flask_chat_memory.storage.redis import RedisStorage
from flask_chat_memory.storage.sqlalchemy import SQLAlchemyStorage
from tests.redis_servers import remove_keys

MakeStorage = cabc.Callable[[], Storage]


@pytest.fixture(params=["in_memory", "file", "sqlalchemy", "redis"])
def make_storage(request: pytest.FixtureRequest, tmp_path: pathlib.Path) -> cabc.Iterator[MakeStorage]:
    """Gives what opens the same store each time; in memory, the same storage."""
    opened: list[Storage] = []
    shared = InMemoryStorage()
    client: t.Any = None
    prefix = ""
    if request.param == "redis":
        redis = pytest.importorskip("redis")
        client = redis.Redis.from_url(request.getfixturevalue("redis_url"))
        prefix = request.getfixturevalue("key_prefix")

    def make() -> Storage:
        if request.param == "in_memory":
            return shared
        if request.param == "file":
            opened.append(FileStorage({"folder": str(tmp_path / "documents")}))
        elif request.param == "sqlalchemy":
            opened.append(SQLAlchemyStorage({"url": f"sqlite:///{tmp_path}/documents.sqlite3"}))
        else:
            opened.append(RedisStorage({"client": client, "key_prefix": prefix}))
        return opened[-1]

    yield make
    for storage in opened:
        storage.close()
    if client is not None:
        remove_keys(client, prefix)
        client.close()


@pytest.fixture
def store(make_storage: MakeStorage) -> Storage:
    return make_storage()
