"""The rules that every storage shares: which keys there are, what a pattern matches, how a document is JSON."""

from __future__ import annotations

import collections.abc as cabc
import contextlib
import datetime as dt
import fnmatch
import re
import typing as t

import msgspec

from ..errors import CorruptRecord
from ..errors import InvalidDocument
from ..errors import InvalidMessage
from ..values import clean
from ..values import plain

Document = dict[str, t.Any]

MAX_KEY = 512
"""Bytes of a key in UTF-8: an index of every database can hold it."""
TEXT = "text"
"""The name under which a document has the body of a text that people read."""
TIMES = ("updated_at", "timestamp")
"""The names under which a document may say when it was stored: ISO 8601, or UNIX time in seconds."""

_DEPTH = -2
"""So that a list in a document can hold any message, which may be nested as deep as values can be."""

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode


def check_key(key: object) -> str:
    """Return the key, if it can be one: text of slash-separated segments, at most 512 bytes in UTF-8.

    :raises ValueError: for an empty segment, for ``.`` and ``..``, and for what some store cannot hold.
    """
    if not isinstance(key, str) or clean(key) != key or not 0 < len(key.encode()) <= MAX_KEY:
        raise ValueError(f"a key is text of 1 to {MAX_KEY} bytes in UTF-8 without NUL")
    if not {"", ".", ".."}.isdisjoint(key.split("/")):
        raise ValueError("the segments of a key, between its slashes, are neither empty nor '.' nor '..'")
    return key


def check_pattern(pattern: object) -> str:
    """Return the pattern, if it is one.

    :raises ValueError: if it is no text.
    """
    if not isinstance(pattern, str):
        raise ValueError(f"a pattern is text, not {type(pattern).__name__}")
    return pattern


def matching(keys: cabc.Iterable[str], pattern: str) -> list[str]:
    """Return the keys that a pattern matches, sorted.

    ``*`` stands for any text, slashes included, ``?`` for one character, everything else for itself.
    """
    # The standard library's patterns know sets of characters besides, which ours do not.
    matches = re.compile(fnmatch.translate(check_pattern(pattern).replace("[", "[[]"))).match
    return sorted(key for key in keys if matches(key))


def literal_start(pattern: str) -> str:
    """Return the text with which everything begins that the pattern matches."""
    return re.split(r"[*?]", check_pattern(pattern), maxsplit=1)[0]


def end_of_range(start: str) -> str | None:
    """Return what comes after every text that begins with ``start``, by code points; None if nothing does."""
    start = start.rstrip("\U0010ffff")
    if not start:
        return None
    after = ord(start[-1]) + 1
    return start[:-1] + ("\ue000" if after == 0xD800 else chr(after))


def plain_document(document: object) -> Document:
    """Return a deep copy of a document in which values are as every store gives them back.

    :raises InvalidDocument: for a value that no store can hold, with its path.
    """
    if not isinstance(document, cabc.Mapping):
        raise InvalidDocument("document", f"is of type {type(document).__name__}, not a dict")
    try:
        return t.cast(Document, plain(document, "document", _DEPTH))
    except InvalidMessage as error:
        raise InvalidDocument(error.path, error.reason) from None


def encode(document: object) -> bytes:
    """Return a document as JSON in UTF-8.

    :raises InvalidDocument: for a value that no store can hold, with its path.
    """
    return _encode(plain_document(document))


def decode(data: bytes | str, key: str) -> Document:
    """Return the document of a JSON text.

    :param key: names the document in the error.
    :raises CorruptRecord: if the text is no JSON, or no document.
    """
    try:
        return plain_document(_decode(data))
    except (ValueError, RecursionError) as error:
        raise corrupt(key) from error


def corrupt(key: str) -> CorruptRecord:
    """Return the error that a document cannot be read."""
    return CorruptRecord(f"the stored document {key!r} cannot be read")


def stored_time(document: cabc.Mapping[str, t.Any]) -> float | None:
    """Return when a document says that it was stored, as UNIX time in seconds; None if it does not say."""
    for name in TIMES:
        value = document.get(name)
        with contextlib.suppress(ValueError, OverflowError):
            if isinstance(value, (int, float)) and not isinstance(value, bool):
                return float(value)
            if isinstance(value, str):
                time = dt.datetime.fromisoformat(value)
                return (time if time.tzinfo else time.replace(tzinfo=dt.UTC)).timestamp()
    return None


def holds_text(value: t.Any, text: str) -> bool:
    """Tell whether a value has a text in it, as part of a str at any depth.

    :param text: in the form that ``str.casefold`` gives.
    """
    if isinstance(value, str):
        return text in value.casefold()
    if isinstance(value, dict):
        return any(holds_text(item, text) for item in value.values())
    return isinstance(value, list) and any(holds_text(item, text) for item in value)
