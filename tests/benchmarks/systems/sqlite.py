"""SQLite: the driver alone on the same tables, with the fewest statements that do the same; and the plugin."""

from __future__ import annotations

import collections.abc as cabc
import contextlib
import pathlib
import shutil
import sqlite3
import tempfile
import time

import msgspec

from flask_chat_memory.plugins.base import ChatMemoryPlugin
from flask_chat_memory.plugins.folding import fold
from flask_chat_memory.plugins.records import Scope
from flask_chat_memory.plugins.sql.tables import thread_key
from flask_chat_memory.plugins.sqlalchemy import SQLAlchemyPlugin
from tests.benchmarks.store import Body
from tests.benchmarks.store import OWNER
from tests.benchmarks.store import System
from tests.benchmarks.store import THREAD_ID
from tests.benchmarks.systems.plugin import Make
from tests.benchmarks.systems.plugin import PluginSystem
from tests.benchmarks.systems.plugin import RawSystem

# One statement for a new thread and for an old one.
_TOUCH = """
    INSERT INTO chat_memory_thread
        (thread_key, owner, chatbot, thread_id, created_at, last_activity, sequence, messages, tokens)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, 0)
    ON CONFLICT (thread_key) DO UPDATE SET
        sequence = sequence + excluded.sequence,
        messages = messages + excluded.messages,
        last_activity = excluded.last_activity
    RETURNING sequence
"""
_INSERT = """
    INSERT INTO chat_memory_message (thread_key, sequence, message_id, turn, role, body, folded)
    VALUES (?, ?, ?, ?, ?, ?, ?)
"""
_NEWEST = "SELECT body FROM chat_memory_message WHERE thread_key = ? ORDER BY sequence DESC LIMIT ?"
_ALL = "SELECT body FROM chat_memory_message WHERE thread_key = ? ORDER BY sequence"
_DELETE = [f"DELETE FROM chat_memory_{table} WHERE thread_key = ?" for table in ("message", "thread")]
_KEY = thread_key(Scope(OWNER), THREAD_ID)


class RawSqlite(RawSystem):
    """One connection for ever; the driver keeps the prepared statements."""

    name = "raw sqlite3"

    def __init__(self, path: pathlib.Path) -> None:
        self._path = path
        self._connection = sqlite3.connect(path, isolation_level=None)
        self._connection.execute("PRAGMA journal_mode=WAL")
        self._connection.execute("PRAGMA synchronous=FULL")

    def add(self, owner: str, messages: cabc.Sequence[Body]) -> None:
        scope, now, added = Scope(owner), time.time(), len(messages)
        key = thread_key(scope, THREAD_ID)
        run = self._connection.execute
        with self._transaction():
            [last] = run(_TOUCH, (key, owner, scope.chatbot, THREAD_ID, now, now, added, added)).fetchone()
            self._connection.executemany(
                _INSERT,
                [
                    (
                        key,
                        sequence,
                        message["id"],
                        message["turn"],
                        message["role"],
                        msgspec.json.encode(message).decode(),
                        fold(message["content"]),
                    )
                    for sequence, message in enumerate(messages, last - added + 1)
                ],
            )

    def load(self, limit: int | None) -> list[Body]:
        if limit is None:
            rows = self._connection.execute(_ALL, (_KEY,)).fetchall()
        else:
            rows = self._connection.execute(_NEWEST, (_KEY, limit)).fetchall()
            rows.reverse()
        return [msgspec.json.decode(body) for (body,) in rows]

    def cut(self, length: int) -> None:
        cut(self._path, length)

    def delete(self, owner: str) -> None:
        with self._transaction():
            for statement in _DELETE:
                self._connection.execute(statement, (thread_key(Scope(owner), THREAD_ID),))

    @contextlib.contextmanager
    def _transaction(self) -> cabc.Iterator[None]:
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._connection.execute("COMMIT")
        except BaseException:
            self._connection.execute("ROLLBACK")
            raise

    def close(self) -> None:
        self._connection.close()


class OurSqlite(PluginSystem):
    def __init__(self, plugin: ChatMemoryPlugin, path: pathlib.Path, length: int) -> None:
        super().__init__(plugin, length)
        self._path = path

    def cut(self, length: int) -> None:
        cut(self._path, length)


def cut(path: pathlib.Path, length: int) -> None:
    """Remove what was appended to the thread."""
    with contextlib.closing(sqlite3.connect(path, isolation_level=None, timeout=60)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("DELETE FROM chat_memory_message WHERE thread_key = ? AND sequence > ?", (_KEY, length))
        connection.execute("DELETE FROM chat_memory_append_key WHERE thread_key = ?", (_KEY,))
        connection.execute(
            "UPDATE chat_memory_thread SET sequence = ?, messages = ? WHERE thread_key = ?", (length, length, _KEY)
        )
        connection.execute("COMMIT")


@contextlib.contextmanager
def systems(length: int, make: Make = SQLAlchemyPlugin) -> cabc.Iterator[list[System]]:
    """Give each a copy of the same file."""
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        paths = [pathlib.Path(folder, name) for name in ("ours.sqlite3", "raw.sqlite3")]
        plugin = stack.enter_context(contextlib.closing(make({"url": f"sqlite:///{paths[0]}"})))
        ours = OurSqlite(plugin, paths[0], length)
        with contextlib.closing(sqlite3.connect(paths[0])) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        shutil.copy(*paths)
        raw = stack.enter_context(contextlib.closing(RawSqlite(paths[1])))
        yield [raw, ours]
