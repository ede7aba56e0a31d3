"""The stores of which there are golden copies: how they are opened, packed and unpacked."""

from __future__ import annotations

import abc
import dataclasses
import gzip
import json
import pathlib
import shutil
import typing as t

import redis

from flask_chat_memory.plugins.base import ChatMemoryPlugin
from flask_chat_memory.plugins.documents import DocumentsPlugin
from flask_chat_memory.plugins.encrypted import EncryptedPlugin
from flask_chat_memory.plugins.file import FilePlugin
from flask_chat_memory.plugins.redis import RedisPlugin
from flask_chat_memory.plugins.sqlalchemy import SQLAlchemyPlugin
from flask_chat_memory.storage.base import Storage
from flask_chat_memory.storage.encrypted import EncryptedStorage
from flask_chat_memory.storage.file import FileStorage
from flask_chat_memory.storage.redis import RedisStorage
from flask_chat_memory.storage.sqlalchemy import SQLAlchemyStorage
from tests.golden.content import CLOCK
from tests.golden.content import OPTIONS

KEY = "Z29sZGVuIGtleSBmb3IgdGVzdHMsIDMyIGJ5dGVzISE="
PREFIX = "golden:"
Where = dict[str, t.Any]


@dataclasses.dataclass
class Opened:
    """A plugin, a storage beside it, and the plugin that keeps threads in that.

    :param kept: the storage, or that in which it keeps what it hides.
    """

    plugin: ChatMemoryPlugin
    storage: Storage
    kept: Storage
    documents: ChatMemoryPlugin

    def close(self) -> None:
        self.plugin.close()
        self.kept.close()


class Store(abc.ABC):
    """A store in a working folder.

    :param encrypted: everything in it is.
    """

    plugin: t.ClassVar[type[ChatMemoryPlugin]]
    storage: t.ClassVar[t.Any]

    def __init__(self, folder: pathlib.Path, encrypted: bool) -> None:
        self.folder = folder
        self.encrypted = encrypted

    @property
    @abc.abstractmethod
    def where(self) -> Where:
        """The options that say where it is."""

    @abc.abstractmethod
    def pack(self, golden: pathlib.Path) -> None:
        """Write a golden copy."""

    @abc.abstractmethod
    def unpack(self, golden: pathlib.Path) -> None:
        """Put a golden copy in the place of the store, which is empty."""

    def open(self) -> Opened:
        storage = kept = self.storage(self.where, clock=CLOCK)
        if self.encrypted:
            storage = EncryptedStorage({"storage": storage, "keys": [KEY]})
            options = {"plugin": self.plugin, "options": self.where, "keys": [KEY], **OPTIONS}
            plugin: ChatMemoryPlugin = EncryptedPlugin(options, clock=CLOCK)
        else:
            plugin = self.plugin({**self.where, **OPTIONS}, clock=CLOCK)
        return Opened(plugin, storage, kept, DocumentsPlugin({"storage": storage, **OPTIONS}, clock=CLOCK))


class SQLiteStore(Store):
    """A SQLite file."""

    plugin = SQLAlchemyPlugin
    storage = SQLAlchemyStorage

    @property
    def where(self) -> Where:
        return {"url": f"sqlite:///{self.folder}/chat.db"}

    def pack(self, golden: pathlib.Path) -> None:
        assert [path.name for path in self.folder.iterdir()] == ["chat.db"]
        golden.with_suffix(".db.gz").write_bytes(gzip.compress((self.folder / "chat.db").read_bytes(), mtime=0))

    def unpack(self, golden: pathlib.Path) -> None:
        (self.folder / "chat.db").write_bytes(gzip.decompress(golden.with_suffix(".db.gz").read_bytes()))


class FileStore(Store):
    """A folder."""

    plugin = FilePlugin
    storage = FileStorage

    @property
    def where(self) -> Where:
        return {"folder": str(self.folder / "chat")}

    def pack(self, golden: pathlib.Path) -> None:
        shutil.copytree(self.folder / "chat", golden, ignore=shutil.ignore_patterns("locks"))

    def unpack(self, golden: pathlib.Path) -> None:
        shutil.copytree(golden, self.folder / "chat")


class RedisStore(Store):
    """Keys with a prefix on a server.

    :param url: of the server.
    """

    plugin = RedisPlugin
    storage = RedisStorage

    def __init__(self, folder: pathlib.Path, encrypted: bool, url: str = "", prefix: str = PREFIX) -> None:
        super().__init__(folder, encrypted)
        self.url = url
        self.prefix = prefix

    @property
    def where(self) -> Where:
        return {"url": self.url, "key_prefix": self.prefix}

    def pack(self, golden: pathlib.Path) -> None:
        with redis.Redis.from_url(self.url) as client:
            names = sorted(t.cast("list[bytes]", client.keys(f"{self.prefix}*")))
            held = {text(name.removeprefix(self.prefix.encode())): _read(client, name) for name in names}
        golden.with_suffix(".json").write_text(json.dumps(held, indent=1) + "\n")

    def unpack(self, golden: pathlib.Path) -> None:
        with redis.Redis.from_url(self.url) as client:
            for name, (kind, values) in json.loads(golden.with_suffix(".json").read_text()).items():
                _write(client, self.prefix.encode() + octets(name), kind, values)


STORES: dict[str, type[Store]] = {"sqlite": SQLiteStore, "files": FileStore, "redis": RedisStore}


def text(value: bytes) -> str:
    """Return bytes as text, each as the character of its number."""
    return value.decode("latin-1")


def octets(value: str) -> bytes:
    return value.encode("latin-1")


def _read(client: t.Any, name: bytes) -> tuple[str, t.Any]:
    kind = client.type(name).decode()
    if kind == "string":
        return kind, text(client.get(name))
    if kind == "list":
        return kind, [text(value) for value in client.lrange(name, 0, -1)]
    if kind == "hash":
        return kind, {text(field): text(value) for field, value in sorted(client.hgetall(name).items())}
    return kind, {text(member): score for member, score in client.zrange(name, 0, -1, withscores=True)}


def _write(client: t.Any, name: bytes, kind: str, values: t.Any) -> None:
    if kind == "string":
        client.set(name, octets(values))
    elif kind == "list":
        client.rpush(name, *map(octets, values))
    elif kind == "hash":
        client.hset(name, mapping={octets(field): octets(value) for field, value in values.items()})
    else:
        client.zadd(name, {octets(member): score for member, score in values.items()})
