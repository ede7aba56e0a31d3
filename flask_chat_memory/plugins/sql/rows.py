"""What the operations write and read, row by row."""

from __future__ import annotations

import collections.abc as cabc
import typing as t

from ...errors import CorruptRecord
from ...message import ChatMessage
from ..counting import COUNTED
from ..counting import counts_of
from ..counting import day_of
from ..options import PluginOptions
from ..records import LiveTurn
from ..records import Scope
from .tables import id_key
from .tables import usage_key
from .transaction import Row

_NEVER = -(2.0**62)
"""A time before all others; infinity is no number in every database."""
EVERYTHING = 2**62
"""More than anything has; every database can compare it."""


def times(options: PluginOptions, now: float) -> dict[str, t.Any]:
    """Return the parameters ``now`` and ``cutoff`` of :class:`Statements`."""
    return {"now": now, "cutoff": _NEVER if options.expiry is None else now - options.expiry}


def bounded(number: int | None) -> int:
    """Keep a number within what a database can compare; None is no bound."""
    return EVERYTHING if number is None else max(-EVERYTHING, min(number, EVERYTHING))


def columns_of(message: ChatMessage) -> dict[str, t.Any]:
    """Return what the row of a message tells of it."""
    return {
        "message_id": None if message.id is None else id_key(message.id),
        "turn": None if message.turn is None else id_key(message.turn),
        "role": message.role,
        "body": message.to_json().decode(),
    }


def usage_rows(scope: Scope, answer: cabc.Sequence[ChatMessage], now: float) -> list[dict[str, t.Any]]:
    """Return the parameters of :attr:`Statements.add_usage` for an answer, always in the same order of rows."""
    day = day_of(now)
    return [
        {
            "usage_key": usage_key(scope, day, model),
            "owner": scope.owner,
            "chatbot": scope.chatbot,
            "day": day,
            "model": model,
            **{f"more_{name}": count for name, count in zip(COUNTED, counts, strict=True)},
        }
        for model, counts in sorted(counts_of(answer).items())
    ]


def messages_of(rows: cabc.Iterable[Row], key: str) -> list[ChatMessage]:
    """Make messages of rows of sequence and body.

    :param key: of the thread, for errors.
    :raises CorruptRecord: if one cannot be read.
    """
    try:
        return ChatMessage.from_rows(rows)
    except CorruptRecord as error:
        raise CorruptRecord(f"{error}; its thread_key is {key!r}") from error


class Append(t.NamedTuple):
    """A batch for a thread.

    :param begins: the live record that starts with it.
    :param ends: the turn whose live record is removed, also if the question is gone.
    """

    scope: Scope
    thread_id: str
    messages: cabc.Sequence[ChatMessage]
    key: str | None = None
    reply_to: str | None = None
    only_into: str | None = None
    begins: LiveTurn | None = None
    ends: str | None = None


class ThreadRow(t.NamedTuple):
    """A row of :attr:`Statements.look`."""

    key: str
    thread_id: str
    sequence: int
    messages: int
    alive: bool
    current: bool | None
    known: int | None
    question: int | None
