"""The rules that every plugin shares, as functions of plain values."""

from __future__ import annotations

import bisect
import collections.abc as cabc
import itertools
import secrets
import typing as t

from ..message import ChatMessage
from ..usage import tokens_in
from ..values import clean
from .records import Mark
from .records import Position
from .records import Thread

KEYS_KEPT = 100
"""Append keys that a thread remembers when older turns are removed: two a turn, for the newest 50 turns."""
MAX_KEY = 128
MAX_THREAD_ID = MAX_KEY - len("adopt:")
"""Short enough for the key under which a thread is adopted."""
MAX_TITLE = 200
MAX_CONFIGURATION = 255
MAX_COMMENT = 2000


T = t.TypeVar("T")


class Sealed(str):
    """Text that a wrapper has made of a shorter one, whose length it has checked; a store keeps it as it is."""


def new_id() -> str:
    """Return a new id for a thread, a turn or a message: 128 random bits as text, which a URL can hold."""
    return secrets.token_urlsafe(16)


def consumed(items: list[T]) -> cabc.Iterator[T]:
    """Give the items in their order, and let go of each: memory that is free again early is used again."""
    items.reverse()
    return map(list.pop, itertools.repeat(items, len(items)))


def is_thread_id(value: object) -> bool:
    """Whether a value can be a thread id: text of 1 to 122 characters that every store can hold."""
    return isinstance(value, str) and 0 < len(value) <= MAX_THREAD_ID and clean(value) == value


def check_append(thread_id: object, key: str | None) -> None:
    """Refuse an id or a key that cannot be stored.

    :raises ValueError: naming what is wrong.
    """
    if not is_thread_id(thread_id):
        raise ValueError(f"a thread id has 1 to {MAX_THREAD_ID} characters and no NUL")
    if key is not None and not (0 < len(key) <= MAX_KEY and clean(key) == key):
        raise ValueError(f"an append key has 1 to {MAX_KEY} characters and no NUL")


def newest_keys(keys: cabc.Iterable[tuple[str, int]]) -> dict[str, int]:
    """Return as many append keys as every thread remembers, with the sequences of their batches, the oldest first."""
    return dict(sorted(keys, key=lambda pair: (pair[1], pair[0]))[-KEYS_KEPT:])


def check_range(limit: int | None, before: int | None, after: int | None) -> None:
    """Refuse what is no range of messages.

    :raises ValueError: for a limit that is negative or no int, and for ``before`` together with ``after``.
    """
    for name, value in (("limit", limit), ("before", before), ("after", after)):
        if value is not None and type(value) is not int:
            raise ValueError(f"{name} must be an int, not {type(value).__name__}")
    if limit is not None and limit < 0:
        raise ValueError("limit must not be negative")
    if before is not None and after is not None:
        raise ValueError("before and after exclude each other")


def select(
    messages: cabc.Sequence[ChatMessage],
    limit: int | None = None,
    before: int | None = None,
    after: int | None = None,
) -> list[ChatMessage]:
    """Return what :meth:`ChatMemoryPlugin.load_messages` returns, from all messages of the thread in their order."""
    check_range(limit, before, after)
    start = 0 if after is None else bisect.bisect_right(messages, after, key=sequence_of)
    end = len(messages) if before is None else bisect.bisect_left(messages, before, key=sequence_of)
    if limit is not None and after is not None:
        end = min(end, start + limit)
    elif limit is not None:
        start = max(start, end - limit)
    return list(messages[start:end])


def sequence_of(message: ChatMessage) -> int:
    """Return the sequence of a message that a store has numbered."""
    return t.cast(int, message.sequence)


def tokens_of(message: ChatMessage) -> int:
    """Return what a message adds to the tokens of its thread."""
    return 0 if message.usage is None else tokens_in(message.usage)


def number(messages: cabc.Iterable[ChatMessage], last: int = 0) -> list[ChatMessage]:
    """Number the messages of a whole thread.

    Ascending sequences are kept, the other messages are numbered on.

    :param last: the highest sequence that the thread ever gave.
    """
    numbered = []
    previous = 0
    for message in messages:
        sequence = message.sequence
        if sequence is None or sequence <= previous:
            sequence = max(previous, last) + 1
        numbered.append(message.numbered(sequence, message.append_key))
        previous = sequence
    return numbered


def trim(
    messages: list[ChatMessage], limit: int | None, running: cabc.Collection[str] = frozenset()
) -> list[ChatMessage]:
    """Remove whole turns from the start of a thread that holds more than ``limit`` messages.

    The cut is at the first question at or after the limit. The newest turn stays, and so does every turn whose id
    is in ``running``; both may exceed the limit.
    """
    if limit is None or len(messages) <= limit:
        return messages
    questions = [position for position, message in enumerate(messages) if message.role == "user"]
    if not questions:
        return messages
    cut = next((position for position in questions if position >= len(messages) - limit), questions[-1])
    cut = min([cut, *(position for position in questions if messages[position].turn in running)])
    removed = {message.turn for message in messages[:cut]} - {None}
    return [message for message in messages[cut:] if message.turn not in removed]


def check_changes(changes: cabc.Mapping[str, t.Any]) -> dict[str, t.Any]:
    """Return the changes of a thread as they are stored; text of nothing but spaces is None.

    :raises ValueError: for text that is too long.
    """
    checked: dict[str, t.Any] = {}
    for name, value in changes.items():
        if name in ("pinned", "archived"):
            checked[name] = bool(value)
        elif name in ("title", "configuration"):
            longest = MAX_TITLE if name == "title" else MAX_CONFIGURATION
            checked[name] = clean(value).strip() or None if value is not None else None
            if len(checked[name] or "") > longest and not isinstance(value, Sealed):
                raise ValueError(f"a {name} has at most {longest} characters")
        else:
            raise TypeError(f"a thread has no {name!r} that could be changed")
    return checked


def check_mark(mark: Mark) -> Mark:
    """Return a mark as it is stored; a comment of nothing but spaces is None.

    :raises ValueError: for another rating than 1, -1 or None, and for a comment that is too long.
    """
    if mark.rating not in (None, 1, -1) or type(mark.rating) is bool:
        raise ValueError("a rating is 1, -1 or None")
    comment = None if mark.comment is None else clean(mark.comment).strip() or None
    if len(comment or "") > MAX_COMMENT and not isinstance(mark.comment, Sealed):
        raise ValueError(f"a comment has at most {MAX_COMMENT} characters")
    return Mark(mark.rating, comment)


def select_threads(
    threads: cabc.Iterable[Thread],
    limit: int | None = None,
    before: Position | None = None,
    pinned: bool | None = None,
    archived: bool | None = None,
) -> list[Thread]:
    """Return what :meth:`ListsThreads.list_threads` returns, from all threads of the scope."""
    check_range(limit, None, None)
    found = [
        thread
        for thread in threads
        if (before is None or thread.position < before)
        and pinned in (None, thread.pinned)
        and archived in (None, thread.archived)
    ]
    found.sort(key=lambda thread: thread.position, reverse=True)
    return found[:limit]
