"""The small files beside a body."""

from __future__ import annotations

import datetime as dt
import os
import typing as t

import msgspec

from ...disk import files as disk
from ...errors import CorruptRecord
from ..base import Scope
from .lines import State
from .names import ThreadFiles

T = t.TypeVar("T")


class Totals(msgspec.Struct, frozen=True):
    """What a head tells of the messages."""

    total_tokens: int = 0
    model: str | None = None


class Head(msgspec.Struct, frozen=True):
    """Whose thread it is; what later batches change is told by the last line of the body.

    :param updated_at: when the thread was last written as a whole, as ``metadata`` was then.
    """

    thread_id: str
    owner: str
    chatbot: str
    created_at: str
    updated_at: str
    metadata: Totals = Totals()

    @classmethod
    def of(cls, scope: Scope, thread_id: str, state: State, created_at: str | None = None) -> Head:
        now = dt.datetime.fromtimestamp(state.at, dt.UTC).isoformat().replace("+00:00", "Z")
        totals = Totals(state.tokens, state.model)
        return cls(thread_id, scope.owner, scope.chatbot, created_at or now, now, totals)


class Current(msgspec.Struct, frozen=True):
    """The id of a scope's current thread."""

    thread_id: str


class Leases(msgspec.Struct, frozen=True):
    """Turn -> UNIX time until which it counts as running."""

    leases: dict[str, float]


def read_head(files: ThreadFiles) -> Head:
    """Return the head of a thread that has a body.

    :raises CorruptRecord: if it is missing or cannot be read.
    """
    head = _read(f"{files.head}", Head, f"the head of {files.shown}")
    if head is None:
        raise CorruptRecord(f"the head of {files.shown} is missing")
    return head


def read_current(path: str) -> str | None:
    current = _read(path, Current, f"conversations/{os.path.basename(os.path.dirname(path))}/current.json")
    return None if current is None else current.thread_id


def read_leases(files: ThreadFiles) -> dict[str, float]:
    """Return the leases that were renewed; none where they cannot be read.

    They are not made to last a loss of power, which no turn survives.
    """
    try:
        found = _read(files.lease, Leases, "")
    except CorruptRecord:
        return {}
    return {} if found is None else found.leases


def write(path: str, record: msgspec.Struct, lasting: bool = True) -> None:
    text = msgspec.json.format(msgspec.json.encode(record), indent=2)
    disk.replace_file(path, text + b"\n", lasting)


def _read(path: str, kind: type[T], where: str) -> T | None:
    data = disk.read_file(path)
    if data is None:
        return None
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise CorruptRecord(f"{where} cannot be read") from error
