"""What every store of the benchmark holds: one thread of a given length among 200 others, and nothing else."""

from __future__ import annotations

import collections.abc as cabc
import functools
import random
import secrets
import typing as t

Body = dict[str, t.Any]

OWNER = "user:1"
"""Whose thread is measured. Every owner has one thread."""
THREAD_ID = secrets.token_urlsafe(16)
OTHER_THREADS = 200
OTHER_LENGTH = 50
CHARACTERS = 300
ALPHABET = "abcdefghijklmnopqrstuvwxyz"


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
        """Bring the thread back to a length, without writing it anew."""

    def add(self, owner: str, messages: cabc.Sequence[t.Any]) -> None:
        """Store the thread of another owner, all at once."""

    def delete(self, owner: str) -> object:
        """Delete the thread of another owner."""


def fill(system: System, length: int) -> None:
    """Store the thread and the others."""
    for number in range(OTHER_THREADS):
        system.add(f"user:{number + 2}", [system.message(body) for body in bodies(OTHER_LENGTH)])
    system.add(OWNER, [system.message(body) for body in bodies(length)])


def bodies(count: int) -> list[Body]:
    """Return messages in their dict form; ``count`` is even."""
    return [body for _ in range(count // 2) for body in exchange()]


def exchange(alphabet: str = ALPHABET) -> list[Body]:
    """Return a question and its answer in their dict form, as a turn stores them."""
    turn = secrets.token_urlsafe(16)
    return [
        {
            "role": role,
            "content": random.choice(_texts(alphabet)),
            "id": secrets.token_urlsafe(16),
            "turn": turn,
            "created_at": "2026-01-01T12:00:00.123456Z",
        }
        for role in ("user", "assistant")
    ]


@functools.cache
def _texts(alphabet: str) -> list[str]:
    words = ["".join(random.choices(alphabet, k=random.randint(2, 9))) for _ in range(500)]
    return [" ".join(random.choices(words, k=CHARACTERS // 3))[:CHARACTERS] for _ in range(1000)]
