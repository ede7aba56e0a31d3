"""Storages of documents on several stores, for what is built on documents."""

from __future__ import annotations

import collections.abc as cabc
import contextlib
import pathlib
import typing as t

import pytest

from flask_chat_memory.storage.base import Storage
from flask_chat_memory.storage.encrypted import EncryptedStorage
from flask_chat_memory.storage.file import FileStorage
from flask_chat_memory.storage.in_memory import InMemoryStorage
from flask_chat_memory.storage.redis import RedisStorage
from flask_chat_memory.storage.sqlalchemy import SQLAlchemyStorage
from tests.encryption import NEW
from tests.redis_servers import remove_keys

MakeStorage = cabc.Callable[[], Storage]


@pytest.fixture(params=["in_memory", "file", "sqlalchemy", "redis", "postgresql", "mariadb", "encrypted"])
def make_storage(request: pytest.FixtureRequest, tmp_path: pathlib.Path) -> cabc.Iterator[MakeStorage]:
    """Gives what opens the same store each time; in memory, the same storage."""
    opened: list[Storage] = []
    shared = InMemoryStorage()
    client: t.Any = None
    prefix = ""
    url = f"sqlite:///{tmp_path}/documents.sqlite3"
    lent = contextlib.ExitStack()
    if request.param in ("postgresql", "mariadb"):
        url = lent.enter_context(request.getfixturevalue("sql_places").lend(request.param)).url
    if request.param == "redis":
        redis = pytest.importorskip("redis")
        client = redis.Redis.from_url(request.getfixturevalue("redis_url"))
        prefix = request.getfixturevalue("key_prefix")

    def make() -> Storage:
        if request.param == "in_memory":
            return shared
        if request.param == "file":
            opened.append(FileStorage({"folder": str(tmp_path / "documents")}))
        elif request.param == "redis":
            opened.append(RedisStorage({"client": client, "key_prefix": prefix}))
        elif request.param == "encrypted":
            opened.append(EncryptedStorage({"storage": {"type": "sqlalchemy", "url": url}, "keys": [NEW]}))
        else:
            opened.append(SQLAlchemyStorage({"url": url}))
        return opened[-1]

    yield make
    for storage in opened:
        storage.close()
    lent.close()
    if client is not None:
        remove_keys(client, prefix)
        client.close()


@pytest.fixture
def store(make_storage: MakeStorage) -> Storage:
    return make_storage()
