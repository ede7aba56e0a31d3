"""The small files beside a body."""

from __future__ import annotations

import collections.abc as cabc
import datetime as dt
import os
import typing as t

import msgspec

from ...disk import files as disk
from ...errors import CorruptRecord
from ...errors import MissingOwner
from ..records import Scope
from ..records import Thread
from .formats import check_format
from .formats import FORMAT
from .formats import UNREADABLE
from .formats import unreadable
from .lines import Live
from .lines import State
from .names import ThreadFiles

T = t.TypeVar("T", "Head", "Current", "Leases")
Time = t.Annotated[dt.datetime, msgspec.Meta(tz=True)]


class Totals(msgspec.Struct, frozen=True):
    """What a head tells of the messages."""

    total_tokens: int = 0
    model: str | None = None


class Head(msgspec.Struct, frozen=True, omit_defaults=True):
    """Whose thread it is, and how it is described; what batches change is told by the last line of the body.

    :param updated_at: when the thread was last written as a whole, as ``metadata`` was then.
    """

    thread_id: str
    owner: str
    chatbot: str
    created_at: Time
    updated_at: Time
    metadata: Totals = Totals()
    title: str | None = None
    pinned: bool = False
    archived: bool = False
    configuration: str | None = None
    format: int = FORMAT

    @classmethod
    def of(cls, scope: Scope, thread_id: str, state: State, title: str | None = None) -> Head:
        now = dt.datetime.fromtimestamp(state.at, dt.UTC)
        return cls(thread_id, scope.owner, scope.chatbot, now, now, Totals(state.tokens, state.model), title)

    def updated(self, scope: Scope, state: State) -> Head:
        """Return the head after the thread was written as a whole, or moved."""
        now = dt.datetime.fromtimestamp(state.at, dt.UTC)
        totals = Totals(state.tokens, state.model)
        return self.replace(owner=scope.owner, chatbot=scope.chatbot, updated_at=now, metadata=totals)

    def replace(self, **changes: t.Any) -> Head:
        return msgspec.structs.replace(self, **changes)

    @property
    def scope(self) -> Scope:
        """Whose thread it is.

        :raises CorruptRecord: if it can be nobody's.
        """
        try:
            return Scope(self.owner, self.chatbot)
        except (MissingOwner, ValueError) as error:
            raise CorruptRecord("a head names no owner or no chatbot") from error

    def record(self, state: State) -> Thread:
        return Thread(
            id=self.thread_id,
            created_at=self.created_at.timestamp(),
            last_activity=state.at,
            messages=state.count,
            tokens=state.tokens,
            title=self.title,
            pinned=self.pinned,
            archived=self.archived,
            configuration=self.configuration,
        )


class Current(msgspec.Struct, frozen=True, omit_defaults=True):
    """The id of a scope's current thread."""

    thread_id: str
    format: int = FORMAT


class Sign(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a running turn, or who wants it to stop, has told since it began.

    :param lease: UNIX time until which it counts as running.
    :param text: the answer so far.
    """

    lease: float
    text: str = ""
    stop_wanted: bool = False


class Leases(msgspec.Struct, frozen=True, omit_defaults=True):
    """The last signs of the running turns of a thread, by their ids."""

    turns: dict[str, Sign]
    format: int = FORMAT

    @classmethod
    def of(cls, live: cabc.Iterable[Live]) -> Leases:
        return cls({turn.turn: Sign(turn.lease, turn.text, turn.stop_wanted) for turn in live})


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


def read_leases(files: ThreadFiles) -> dict[str, Sign]:
    """Return the last signs of the running turns; none where they cannot be read.

    They are not made to last a loss of power, which no turn survives.
    """
    try:
        found = _read(files.lease, Leases, "")
    except CorruptRecord:
        return {}
    return {} if found is None else found.turns


def write(path: str, record: msgspec.Struct, lasting: bool = True) -> None:
    text = msgspec.json.format(msgspec.json.encode(record), indent=2)
    disk.replace_file(path, text + b"\n", lasting)


def _read(path: str, kind: type[T], where: str) -> T | None:
    data = disk.read_file(path)
    if data is None:
        return None
    try:
        record = msgspec.json.decode(data, type=kind)
    except UNREADABLE as error:
        raise unreadable(data, where) from error
    check_format(record.format, where)
    return record
