"""Messages as the scripts take them, and as they give them back."""

from __future__ import annotations

import collections.abc as cabc

import msgspec

from ...errors import CorruptRecord
from ...message import ChatMessage
from ..records import LiveTurn

_decode_live = msgspec.msgpack.Decoder(dict[str, tuple[float, float, tuple[str, str]]]).decode

MAX_SEQUENCE = 2**53
"""Scores of sorted sets are doubles, which are exact up to here."""

Packed = tuple[bool, str | None, str | None, int | None]
"""Whether it is a question, id, turn, sequence."""


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


def unpack(members: cabc.Iterable[bytes]) -> list[ChatMessage]:
    """Make messages of the members of a thread's sorted set.

    :raises CorruptRecord: if one is no message.
    """
    rows = []
    for member in members:
        sequence, _, body = member.partition(b" ")
        if not sequence.isdigit():
            raise CorruptRecord("a stored message cannot be read: it has no sequence")
        rows.append((int(sequence), body))
    return ChatMessage.from_rows(rows)


def unpack_end(member: bytes) -> tuple[float, float]:
    """Return last activity and latest lease, from what stands behind the messages of a thread.

    :raises CorruptRecord: if it is something else.
    """
    try:
        active, lease = member.removeprefix(b"#").split(b" ")
        return float(active), float(lease)
    except ValueError as error:
        raise CorruptRecord("a stored thread cannot be read: it has no end") from error


def unpack_live(packed: bytes) -> list[LiveTurn]:
    """Return the live records of a thread in the order of their questions.

    :raises CorruptRecord: if they cannot be read.
    """
    if not packed:
        return []
    try:
        records = sorted(_decode_live(packed).items(), key=lambda item: item[1][1])
        return [LiveTurn(turn, *ids, float(lease)) for turn, (lease, _, ids) in records]
    except msgspec.DecodeError as error:
        raise CorruptRecord("the stored live records of a thread cannot be read") from error
