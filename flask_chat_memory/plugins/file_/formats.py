"""The mark by which a later release says that what it has written is to be read in another way.

What this release writes has none, which is format 1.
"""

from __future__ import annotations

import contextlib

import msgspec

from ...errors import CorruptRecord
from ...errors import NewerFormat

FORMAT = 1
UNREADABLE = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


class MarkedState(msgspec.Struct, frozen=True):
    """What is read of the state of a body of any format."""

    format: int = FORMAT


class Marked(msgspec.Struct, frozen=True):
    """What is read of a record, or a line of a body, of any format."""

    format: int = FORMAT
    state: MarkedState = MarkedState()


def check_format(found: int, what: str) -> None:
    """Refuse a later format.

    :raises NewerFormat: naming both.
    """
    if found > FORMAT:
        raise NewerFormat(what, found, FORMAT)


def unreadable(data: bytes, what: str, where: str = "") -> CorruptRecord:
    """Return the error for data that cannot be decoded: in a later format anything may be otherwise but the mark.

    :param what: names the record, ``where`` the place in it.
    """
    with contextlib.suppress(*UNREADABLE):
        found = msgspec.json.decode(data, type=Marked)
        newest = max(found.format, found.state.format)
        if newest > FORMAT:
            return NewerFormat(what, newest, FORMAT)
    return CorruptRecord(f"{what}{where} cannot be read")
