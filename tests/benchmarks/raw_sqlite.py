"""The driver alone: the same tables, the fewest statements that store the same messages."""

from __future__ import annotations

import collections.abc as cabc
import pathlib
import sqlite3
import time

import msgspec

from tests.benchmarks.store import Body
from tests.benchmarks.store import cut
from tests.benchmarks.store import SCOPE
from tests.benchmarks.store import THREAD_ID
from tests.benchmarks.store import THREAD_KEY

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
    INSERT INTO chat_memory_message (thread_key, sequence, message_id, turn, role, body) VALUES (?, ?, ?, ?, ?, ?)
"""
_NEWEST = "SELECT body FROM chat_memory_message WHERE thread_key = ? ORDER BY sequence DESC LIMIT ?"
_ALL = "SELECT body FROM chat_memory_message WHERE thread_key = ? ORDER BY sequence"


class RawSqlite:
    """One connection for ever; the driver keeps the prepared statements."""

    name = "raw sqlite3"

    def __init__(self, path: pathlib.Path) -> None:
        self._path = path
        self._connection = sqlite3.connect(path, isolation_level=None)
        self._connection.execute("PRAGMA journal_mode=WAL")
        self._connection.execute("PRAGMA synchronous=FULL")

    def message(self, body: Body) -> Body:
        return body

    def append(self, messages: cabc.Sequence[Body], key: str) -> None:
        now, added = time.time(), len(messages)
        run = self._connection.execute
        run("BEGIN IMMEDIATE")
        try:
            touched = run(
                _TOUCH, (THREAD_KEY, SCOPE.owner, SCOPE.chatbot, THREAD_ID, now, now, added, added)
            ).fetchone()
            first = touched[0] - added + 1
            self._connection.executemany(
                _INSERT,
                [
                    (
                        THREAD_KEY,
                        first + place,
                        message["id"],
                        message["turn"],
                        message["role"],
                        msgspec.json.encode(message).decode(),
                    )
                    for place, message in enumerate(messages)
                ],
            )
            run("COMMIT")
        except BaseException:
            run("ROLLBACK")
            raise

    def load(self, limit: int | None) -> list[Body]:
        if limit is None:
            rows = self._connection.execute(_ALL, (THREAD_KEY,)).fetchall()
        else:
            rows = self._connection.execute(_NEWEST, (THREAD_KEY, limit)).fetchall()
            rows.reverse()
        return [msgspec.json.decode(body) for (body,) in rows]

    def turn(self, question: Body, answer: Body, limit: int) -> None:
        self.load(limit)
        self.append([question], "")
        self.append([answer], "")

    def cut(self, length: int) -> None:
        cut(self._path, length)

    def close(self) -> None:
        self._connection.close()
