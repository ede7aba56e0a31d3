"""What every store of the benchmark holds: one thread of a given length among 200 others, and nothing else."""

from __future__ import annotations

import collections.abc as cabc
import functools
import pathlib
import random
import secrets
import sqlite3
import typing as t

from flask_chat_memory.message import ChatMessage
from flask_chat_memory.plugins.records import Scope
from flask_chat_memory.plugins.sql.tables import thread_key
from flask_chat_memory.plugins.sqlalchemy import SQLAlchemyPlugin

Body = dict[str, t.Any]

SCOPE = Scope("user:1")
THREAD_ID = secrets.token_urlsafe(16)
THREAD_KEY = thread_key(SCOPE, THREAD_ID)
OTHER_THREADS = 200
OTHER_LENGTH = 50
CHARACTERS = 300
ALPHABET = "abcdefghijklmnopqrstuvwxyz"


def exchange(alphabet: str = ALPHABET) -> list[Body]:
    """Return a question and its answer in their dict form, as a turn stores them."""
    turn = secrets.token_urlsafe(16)
    return [
        {
            "role": role,
            "content": text(alphabet),
            "id": secrets.token_urlsafe(16),
            "turn": turn,
            "created_at": "2026-01-01T12:00:00.123456Z",
        }
        for role in ("user", "assistant")
    ]


def text(alphabet: str = ALPHABET) -> str:
    """Return words of random letters, ``CHARACTERS`` in all."""
    return " ".join(random.choices(_words(alphabet), k=CHARACTERS // 3))[:CHARACTERS]


@functools.cache
def _words(alphabet: str) -> list[str]:
    return ["".join(random.choices(alphabet, k=random.randint(2, 9))) for _ in range(500)]


def bodies(count: int) -> list[Body]:
    """Return messages in their dict form; ``count`` is even."""
    return [body for _ in range(count // 2) for body in exchange()]


def messages(count: int) -> list[ChatMessage]:
    return [ChatMessage.from_dict(body) for body in bodies(count)]


def seed(path: pathlib.Path, length: int) -> None:
    """Make a SQLite file with the plugin's tables, and all threads in it."""
    plugin = SQLAlchemyPlugin({"url": f"sqlite:///{path}"})
    for number in range(OTHER_THREADS):
        plugin.save_messages(Scope(f"user:{number + 2}"), secrets.token_urlsafe(16), messages(OTHER_LENGTH))
    plugin.save_messages(SCOPE, THREAD_ID, messages(length))
    plugin.close()


def cut(path: pathlib.Path, length: int) -> None:
    """Bring the thread back to its length after the appends of a visit."""
    connection = sqlite3.connect(path, isolation_level=None, timeout=60)
    connection.execute("BEGIN IMMEDIATE")
    connection.execute(
        "DELETE FROM chat_memory_message WHERE thread_key = ? AND sequence > ?",
        (THREAD_KEY, length),
    )
    connection.execute("DELETE FROM chat_memory_append_key WHERE thread_key = ?", (THREAD_KEY,))
    connection.execute(
        "UPDATE chat_memory_thread SET sequence = ?, messages = ? WHERE thread_key = ?",
        (length, length, THREAD_KEY),
    )
    connection.execute("COMMIT")
    connection.close()


class System(t.Protocol):
    """A way to keep threads: what is measured."""

    name: str

    def message(self, body: Body) -> t.Any:
        """Make the object that :meth:`append` takes."""

    def append(self, messages: cabc.Sequence[t.Any], key: str) -> object:
        """Store messages at the end of the thread, on the disk when it returns."""

    def load(self, limit: int | None) -> list[t.Any]:
        """Return the newest messages, or all, oldest first."""

    def turn(self, question: t.Any, answer: t.Any, limit: int) -> None:
        """Load the newest messages, store the question, then the answer: two commits."""

    def cut(self, length: int) -> None:
        """Bring the thread back to a length."""

    def close(self) -> None: ...
