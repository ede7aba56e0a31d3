"""What the operations write and read, row by row."""

from __future__ import annotations

import collections.abc as cabc
import typing as t

import msgspec

from ...errors import CorruptRecord
from ...message import ChatMessage
from ..counting import COUNTED
from ..counting import counts_of
from ..counting import day_of
from ..folding import searched_text
from ..hiding import Hidden
from ..lines import Lines
from ..options import PluginOptions
from ..records import LiveTurn
from ..records import Scope
from ..rules import consumed
from .tables import id_key
from .tables import usage_key
from .transaction import Row

Page = tuple[list[ChatMessage], Hidden]
"""Messages of all lines of a thread, and what is hidden of it."""

_NEVER = -(2.0**62)
"""A time before all others; infinity is no number in every database."""
EVERYTHING = 2**62
"""More than anything has; every database can compare it."""


def times(options: PluginOptions, now: float) -> dict[str, t.Any]:
    """Return the parameters ``now`` and ``cutoff`` of :class:`Conditions`."""
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
        "folded": searched_text(message),
    }


def usage_rows(scope: Scope, answer: cabc.Sequence[ChatMessage], now: float) -> list[dict[str, t.Any]]:
    """Return the parameters of :attr:`Statements.add_usage` for an answer, always in the same order of rows."""
    day = day_of(now)
    return [usage_row(scope, day, model, counts) for model, counts in sorted(counts_of(answer).items())]


def usage_row(scope: Scope, day: str, model: str, counts: cabc.Iterable[int]) -> dict[str, t.Any]:
    """Return the parameters of :attr:`Statements.add_usage` for what is added to a line of a ledger."""
    return {
        "usage_key": usage_key(scope, day, model),
        "owner": scope.owner,
        "chatbot": scope.chatbot,
        "day": day,
        "model": model,
        **{f"more_{name}": count for name, count in zip(COUNTED, counts, strict=True)},
    }


def messages_of(rows: cabc.Iterable[Row], key: str) -> list[ChatMessage]:
    """Make messages of rows of sequence and body.

    :param key: of the thread, for errors.
    :raises CorruptRecord: if one cannot be read.
    """
    try:
        return ChatMessage.from_rows(rows)
    except CorruptRecord as error:
        raise CorruptRecord(f"{error}; its thread_key is {key!r}") from error


def page_of(rows: list[Row], key: str) -> Page:
    """Make messages, in the order of their rows, of rows of sequence and what :meth:`Conditions._body` gives."""
    hidden: Hidden = ()
    if rows and rows[0][1][:1] == "[":
        hidden = hidden_of(rows[0][1].partition("\n")[0], key)
        rows = [(sequence, body.partition("\n")[2]) for sequence, body in rows]
    return messages_of(consumed(rows), key), hidden


def lines_of(text: str | None, key: str) -> Lines:
    """Return what :func:`columns_of_lines` has made.

    :param key: of the thread, for errors.
    :raises CorruptRecord: if it cannot be read.
    """
    try:
        return Lines.from_json(text)
    except msgspec.MsgspecError as error:
        raise _corrupt_lines(key) from error


def hidden_of(text: str | None, key: str) -> Hidden:
    """Return what is hidden of a thread; see :func:`lines_of`."""
    if text is None:
        return ()
    try:
        return msgspec.json.decode(text, type=tuple[tuple[int, int], ...])
    except msgspec.MsgspecError as error:
        raise _corrupt_lines(key) from error


def _corrupt_lines(key: str) -> CorruptRecord:
    return CorruptRecord(f"the stored lines of a thread cannot be read; its thread_key is {key!r}")


def columns_of_lines(lines: Lines) -> dict[str, str | None]:
    """Return what the row of a thread tells of its lines, as parameters of :attr:`Statements.set_lines`."""
    hidden = lines.hidden
    return {
        "new_lines": lines.to_json(),
        "new_hidden_ranges": msgspec.json.encode(hidden).decode() if hidden else None,
    }


class Append(t.NamedTuple):
    """A batch for a thread.

    :param begins: the live record that starts with it.
    :param ends: the turn whose live record is removed, also if the question is gone.
    :param title: of the thread, if it is made for the batch.
    :param replaces: the sequence of the question in whose place the batch is asked.
    :param kept: sequences of messages that stay then.
    """

    scope: Scope
    thread_id: str
    messages: cabc.Sequence[ChatMessage]
    key: str | None = None
    reply_to: str | None = None
    only_into: str | None = None
    begins: LiveTurn | None = None
    ends: str | None = None
    title: str | None = None
    replaces: int | None = None
    kept: cabc.Collection[int] = ()


class ThreadRow(t.NamedTuple):
    """A row of :attr:`Statements.look`."""

    key: str
    thread_id: str
    sequence: int
    messages: int
    lines: str | None
    alive: bool
    current: bool | None
    known: int | None
    question: int | None
