"""The keys of a message: the known ones with their types, and those of the site; checked, and read from a store."""

from __future__ import annotations

import collections.abc as cabc
import json
import typing as t

import msgspec
from msgspec import UNSET
from msgspec import UnsetType

from .errors import CorruptRecord
from .errors import InvalidMessage
from .values import clean
from .values import plain
from .values import plain_key

Role = t.Literal["system", "user", "assistant", "tool", "developer"]
Part = dict[str, t.Any]
Content = str | list[Part] | None


# The collector of cycles need not look at what is plain.
class Known(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    """The known keys, those that are not set as UNSET. It is shared by messages: nobody changes it."""

    role: Role
    content: Content | UnsetType = UNSET
    tool_calls: list[dict[str, t.Any]] | None | UnsetType = UNSET
    tool_call_id: str | None | UnsetType = UNSET
    name: str | None | UnsetType = UNSET
    metadata: dict[str, t.Any] | None | UnsetType = UNSET
    usage: dict[str, t.Any] | None | UnsetType = UNSET
    model: str | None | UnsetType = UNSET
    status: str | None | UnsetType = UNSET
    turn: str | None | UnsetType = UNSET
    id: str | None | UnsetType = UNSET
    created_at: str | None | UnsetType = UNSET


class Line(msgspec.Struct, gc=False):
    """A message in a line of its own, with its place in the thread."""

    sequence: int
    message: Known | UnsetType = UNSET


Fields = tuple[Known, dict[str, t.Any] | None]
"""The known keys, and the others if there are any."""

KEYS = frozenset(Known.__struct_fields__)
encode = msgspec.json.Encoder().encode
decode_known = msgspec.json.Decoder(Known).decode
_decode_lines = msgspec.json.Decoder(Line).decode_lines
_decode = msgspec.json.Decoder(dict[str, t.Any]).decode


def checked(given: cabc.Mapping[str, t.Any]) -> Fields:
    """Apply the value rule and the rules of the known keys.

    :raises InvalidMessage: naming the value at fault.
    """
    known: dict[str, t.Any] = {}
    others: dict[str, t.Any] = {}
    for key, value in given.items():
        fields = known
        if type(key) is not str or key not in KEYS:
            key = plain_key(key, "message")
            fields = known if key in KEYS else others
            if key in fields:
                raise InvalidMessage(key, "two keys become equal when they are made storable")
        fields[key] = clean(value) if type(value) is str else plain(value, key)
    return _converted(known, others)


def _converted(known: dict[str, t.Any], others: dict[str, t.Any]) -> Fields:
    try:
        fields = msgspec.convert(known, Known)
    except msgspec.ValidationError as error:
        reason, _, path = str(error).partition(" - at `$.")
        raise InvalidMessage(path.rstrip("`") or "message", reason) from None
    if fields.role == "tool" and not fields.tool_call_id:
        raise InvalidMessage("tool_call_id", "a tool message names the call that it answers")
    return fields, others or None


def holds_nul(text: bytes | str) -> bool:
    """Tell whether JSON text may hold an escaped NUL."""
    # To look for any escape first is cheaper than to look for this one, and so is a number than bytes.
    if isinstance(text, str):
        return "\\" in text and "\\u0000" in text
    return 0x5C in text and b"\\u0000" in text


def load(text: bytes | str, sequence: int | None) -> Fields:
    """Read the stored JSON text of a message, of whatever keys.

    :raises CorruptRecord: if it is no JSON, or no message.
    """
    try:
        try:
            fields = _decode(text)
        except ValueError:
            # Lone surrogates that another program wrote are read by the standard library alone.
            return checked(json.loads(text))
        if holds_nul(text):
            return checked(fields)
        others = {key: value for key, value in fields.items() if key not in KEYS}
        for key in others:
            del fields[key]
        return _converted(fields, others)
    except (ValueError, AttributeError, RecursionError) as error:
        raise CorruptRecord(f"the stored message {sequence} cannot be read") from error


def load_lines(data: bytes) -> list[Line]:
    """Read stored lines, one JSON object each, of known keys.

    :raises CorruptRecord: if one is something else, or holds what :func:`load` reads in another way.
    """
    try:
        lines = _decode_lines(data)
    except (ValueError, RecursionError) as error:
        raise CorruptRecord("the stored lines cannot be read") from error
    if holds_nul(data) or len(lines) != data.count(b"\n"):
        raise CorruptRecord("the stored lines cannot be read in one go")
    return lines
