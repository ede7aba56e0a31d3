"""The value rule: what a message may hold, made plain once, so that every store gives back an equal value."""

from __future__ import annotations

import base64
import collections.abc as cabc
import datetime as dt
import decimal
import enum
import math
import re
import typing as t
import uuid

import msgspec

from .errors import InvalidMessage

MAX_DEPTH = 100
MAX_BITS = 14_000
REPLACEMENT = "\ufffd"
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def clean(text: str) -> str:
    """Replace NUL and lone surrogates, which some stores refuse, by U+FFFD."""
    if "\0" not in text:
        if text.isascii():
            return text
        try:
            text.encode()
        except UnicodeEncodeError:
            pass
        else:
            return text
    return _UNSTORABLE.sub(REPLACEMENT, text)


def plain(value: t.Any, path: str, depth: int = 1) -> t.Any:
    """Return a deep copy of a value that consists of None, bool, int, float, str, list and dict alone.

    :param path: names the value in errors.
    :raises InvalidMessage: for NaN and infinity, dict keys that are no str or become equal, nesting over 100
        levels, and every type without a rule.
    """
    kind = type(value)
    if kind is str:
        return clean(value)
    if value is None or kind is bool:
        return value
    if kind is int:
        return _whole(value, path)
    if kind is dict or kind is list:
        return _container(value, path, depth)
    return _converted(value, path, depth)


def _whole(value: int, path: str) -> int:
    if value.bit_length() > MAX_BITS:
        raise InvalidMessage(path, f"is a number of over {MAX_BITS} bits")
    return value


def _container(value: dict[t.Any, t.Any] | list[t.Any], path: str, depth: int) -> t.Any:
    if depth > MAX_DEPTH:
        raise InvalidMessage(path, f"is nested over {MAX_DEPTH} levels deep")
    if isinstance(value, list):
        return [plain(item, f"{path}[{position}]", depth + 1) for position, item in enumerate(value)]
    result: dict[str, t.Any] = {}
    for key, item in value.items():
        name = plain_key(key, path)
        if name in result:
            raise InvalidMessage(f"{path}.{name}", "two keys become equal when they are made storable")
        result[name] = plain(item, f"{path}.{name}", depth + 1)
    return result


def plain_key(key: t.Any, path: str) -> str:
    """Return a dict key in its storable form."""
    if not isinstance(key, str) or isinstance(key, enum.Enum):
        raise InvalidMessage(path, f"has a key of type {type(key).__name__}; keys are str")
    return clean(str.__str__(key))


def _converted(value: t.Any, path: str, depth: int) -> t.Any:
    if isinstance(value, enum.Enum):
        raise InvalidMessage(path, f"is an enumeration ({type(value).__name__}); pass its value")
    if isinstance(value, float):
        if not math.isfinite(value):
            raise InvalidMessage(path, "is NaN or infinite")
        return float(value)
    if isinstance(value, str):
        return clean(str.__str__(value))
    if isinstance(value, int):
        return _whole(int(value), path)
    if isinstance(value, (dt.datetime, dt.date)):
        return value.isoformat()
    if isinstance(value, (uuid.UUID, decimal.Decimal)):
        return str(value)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return base64.b64encode(bytes(value)).decode("ascii")
    if isinstance(value, (list, tuple)):
        return _container(list(value), path, depth)
    if isinstance(value, (set, frozenset)):
        return _sorted(_container(list(value), path, depth))
    if isinstance(value, cabc.Mapping):
        return _container(dict(value), path, depth)
    raise InvalidMessage(path, f"is of type {type(value).__name__}, which has no JSON form here")


def _sorted(items: list[t.Any]) -> list[t.Any]:
    try:
        return sorted(items)
    except TypeError:
        return sorted(items, key=msgspec.json.encode)
