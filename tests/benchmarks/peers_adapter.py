"""The plugins as systems of a benchmark that compares libraries for chat histories; given to it by ``--extra``."""

from __future__ import annotations

import collections.abc as cabc
import secrets
import typing as t

from peers_bench import Adapter
from peers_bench import PG

from flask_chat_memory.message import ChatMessage
from flask_chat_memory.plugins.base import ChatMemoryPlugin
from flask_chat_memory.plugins.file import FilePlugin
from flask_chat_memory.plugins.records import Appended
from flask_chat_memory.plugins.records import Scope
from flask_chat_memory.plugins.redis import RedisPlugin
from flask_chat_memory.plugins.sqlalchemy import SQLAlchemyPlugin


class PluginAdapter(Adapter):
    """Every thread has an owner of its own, who is called as the thread is."""

    imports = "import flask_chat_memory"
    commits = 1
    plugin: ChatMemoryPlugin

    def native(self, role: str, text: str) -> ChatMessage:
        return ChatMessage(role, text)

    def text(self, message: ChatMessage) -> str:
        return message.text

    def seed(self, thread: str, messages: cabc.Sequence[ChatMessage]) -> None:
        self.plugin.save_messages(Scope(thread), thread, messages)

    def last(self, thread: str, count: int) -> list[ChatMessage]:
        return self.plugin.load_messages(Scope(thread), thread, limit=count)

    def all(self, thread: str) -> list[ChatMessage]:
        return self.plugin.load_messages(Scope(thread), thread)

    def append(self, thread: str, messages: cabc.Sequence[ChatMessage]) -> Appended | None:
        return self.plugin.append_messages(Scope(thread), thread, messages, key=secrets.token_urlsafe(16))

    def delete(self, thread: str) -> bool:
        return self.plugin.delete_thread(Scope(thread), thread)


class SqliteAdapter(PluginAdapter):
    name, kind, baseline = "fcm-sqlite", "sqlite", "raw-sqlite-wal-full"
    note = "one transaction: thread, messages, key against repeats"

    def connect(self) -> None:
        self.plugin = SQLAlchemyPlugin({"url": f"sqlite:///{self.path}"})

    def durability(self) -> str:
        with t.cast(t.Any, self.plugin)._database._engine.connect() as connection:
            journal = connection.exec_driver_sql("PRAGMA journal_mode").scalar()
            sync = connection.exec_driver_sql("PRAGMA synchronous").scalar()
        return f"journal_mode={journal} synchronous={'FULL' if sync == 2 else sync}"


class PostgresqlAdapter(PluginAdapter):
    name, kind, baseline = "fcm-pg", "pg", "raw-psycopg"
    note = "one statement: thread, messages, key against repeats"

    def connect(self) -> None:
        self.plugin = SQLAlchemyPlugin({"url": f"postgresql://{PG}/{self.pgdb}"})

    def durability(self) -> str:
        return "server default"


class RedisAdapter(PluginAdapter):
    name, kind, baseline = "fcm-redis", "redis", "raw-redis"
    note = "one script: list, ids and turns, index, key against repeats"

    def connect(self) -> None:
        self.plugin = RedisPlugin({"url": self.rurl})

    def durability(self) -> str:
        return "server setting"


class FileAdapter(PluginAdapter):
    name, kind, baseline = "fcm-file", "file", "raw-sqlite-wal-full"
    note = "appends lines under a lock; 1 fsync per append"

    def connect(self) -> None:
        self.plugin = FilePlugin({"folder": str(self.dir)})

    def durability(self) -> str:
        return "fsync"
