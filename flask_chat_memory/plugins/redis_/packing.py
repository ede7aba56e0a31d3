"""Messages, and what belongs to a thread, as the scripts take them and as they give them back."""

from __future__ import annotations

import collections.abc as cabc

import msgspec

from ...errors import CorruptRecord
from ...errors import NewerFormat
from ...message import ChatMessage
from ..lines import Lines
from ..records import LiveTurn
from ..records import Mark
from ..rules import consumed

_SEQUENCE = 16
"""Digits before the JSON of a message."""

Live = dict[str, tuple[float, float, tuple[str, str], str, bool]]
"""Lease, sequence of the question, ids, text so far and whether its stop is wanted, by turn."""


class Head(msgspec.Struct, array_like=True):
    """What stands behind the messages of a thread; the same as in ``thread.lua``."""

    active: float
    lease: float
    id: str
    sequence: int
    tokens: int
    nonce: str
    batch: int
    born: str
    question: int
    keys_given: int
    deadline: int
    live: msgspec.Raw
    lines: str | None = None
    format: int | None = None


_decode_head = msgspec.msgpack.Decoder(Head).decode
# Lua does not tell an empty table from an empty array.
_decode_live = msgspec.msgpack.Decoder(Live | list[None]).decode

_decode_mark = msgspec.json.Decoder(Mark).decode

MAX_SEQUENCE = 2**53
"""The numbers of Lua are doubles, which are exact up to here."""

Packed = tuple[bool, str | None, str | None, int | None]
"""Whether it is a question, id, turn, sequence."""


def bounded(number: int | None) -> int | None:
    """Keep a number within what the scripts can compare."""
    return None if number is None else max(-MAX_SEQUENCE, min(number, MAX_SEQUENCE))


def pack(messages: cabc.Iterable[ChatMessage]) -> tuple[list[Packed], list[bytes]]:
    """Return what the scripts need to know of each message, and the JSON of each.

    :raises ValueError: for a sequence beyond ``MAX_SEQUENCE``.
    """
    packed, bodies = [], []
    for message in messages:
        if message.sequence is not None and message.sequence > MAX_SEQUENCE:
            raise ValueError(f"a sequence is at most {MAX_SEQUENCE}")
        packed.append((message.role == "user", message.id, message.turn, message.sequence))
        bodies.append(message.to_json())
    return packed, bodies


def unpack(elements: list[bytes], name: str) -> list[ChatMessage]:
    """Make messages of elements of a thread's list, and empty it.

    :param name: of the thread, as its keys begin, for errors.
    :raises CorruptRecord: if one is no message.
    """
    if not elements:
        return []
    try:
        numbers = _numbers(elements)
        bodies = (element[_SEQUENCE + 1 :] for element in consumed(elements))
        return ChatMessage.from_rows(zip(numbers, bodies, strict=True))
    except (CorruptRecord, ValueError) as error:
        what = error if isinstance(error, CorruptRecord) else "a stored message has no sequence"
        raise CorruptRecord(f"Redis at {name!r}: {what}") from error


def _numbers(elements: cabc.Sequence[bytes]) -> cabc.Sequence[int]:
    first, last = (int(elements[place][:_SEQUENCE]) for place in (0, -1))
    if last - first == len(elements) - 1:
        # They ascend, so there is no gap.
        return range(first, last + 1)
    return [int(element[:_SEQUENCE]) for element in elements]


def unpack_head(element: bytes, name: str) -> Head:
    """Return what stands behind the messages of a thread.

    :param name: of the thread, as its keys begin, for errors.
    :raises CorruptRecord: if it is something else.
    """
    try:
        head = _decode_head(element)
    except msgspec.DecodeError as error:
        raise CorruptRecord(f"Redis at {name!r}: a stored thread has no head") from error
    if head.format is not None:
        raise NewerFormat(f"Redis at {name!r}: a stored thread", head.format)
    return head


def unpack_live(packed: bytes, name: str) -> Live:
    """Return the live records of a thread.

    :param name: of the thread, as its keys begin, for errors.
    :raises CorruptRecord: if they cannot be read.
    """
    try:
        found = _decode_live(packed)
    except msgspec.DecodeError as error:
        raise CorruptRecord(f"Redis at {name!r}: the live records of a thread cannot be read") from error
    return found if isinstance(found, dict) else {}


def live_turns_of(live: Live) -> list[LiveTurn]:
    """Return live records in the order of their questions."""
    records = sorted(live.items(), key=lambda item: item[1][1])
    return [LiveTurn(turn, *ids, float(lease), text, stop) for turn, (lease, _, ids, text, stop) in records]


def unpack_lines(lines: str | bytes | None, name: str) -> Lines:
    """Return the lines of a thread.

    :param name: of the thread, as its keys begin, for errors.
    :raises CorruptRecord: if they cannot be read.
    """
    try:
        return Lines.from_json(lines)
    except msgspec.MsgspecError as error:
        raise CorruptRecord(f"Redis at {name!r}: the lines of a thread cannot be read") from error


def pack_mark(mark: Mark) -> str:
    """Return the JSON of a mark."""
    return msgspec.json.encode(mark).decode()


def unpack_marks(fields: cabc.Iterable[bytes], name: str) -> dict[str, Mark]:
    """Return the marks of a thread by the ids of their messages.

    :param fields: ids, each with the JSON of its mark behind it.
    :param name: of the thread, as its keys begin, for errors.
    :raises CorruptRecord: if they cannot be read.
    """
    try:
        return {id.decode(): _decode_mark(mark) for id, mark in pairs(fields)}
    except (msgspec.MsgspecError, ValueError) as error:
        raise CorruptRecord(f"Redis at {name!r}: a mark of a thread cannot be read") from error


def pairs(flat: cabc.Iterable[bytes]) -> cabc.Iterator[tuple[bytes, bytes]]:
    """Give the fields of a hash with their values."""
    return zip(*[iter(flat)] * 2, strict=True)
