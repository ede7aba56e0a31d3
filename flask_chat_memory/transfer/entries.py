"""What an export consists of: lines of JSON, each one entry.

First the header, last the end, which counts what came between. A thread begins with ``thread``, goes on with its marks
and its messages, and is there once ``thread_end`` has come and counts and digest are right. If the thread has changed
while it was written, it begins again.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import typing as t

import msgspec

from ..errors import ImportRefused
from ..message import ChatMessage
from ..plugins.counting import COUNTED
from ..plugins.lines import Lines
from ..plugins.records import LiveTurn
from ..plugins.records import Mark
from ..plugins.records import Scope
from ..plugins.records import Thread
from ..plugins.records import UsageDay
from ..plugins.records import WholeThread
from ..storage.rules import Document

FORMAT = "flask-chat-memory"
VERSION = 1
"""Is raised when an older reader would misunderstand a line; a name that it does not know is passed over."""


class _Entry(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", omit_defaults=True):
    pass


class Header(_Entry, frozen=True, kw_only=True, tag="export"):
    """The first line.

    :param owner: if it holds what is one owner's.
    :param chatbot: if it holds the conversations of one chatbot alone.
    """

    format: str
    version: int
    exported_at: str
    owner: str | None = None
    chatbot: str | None = None


class ThreadEntry(_Entry, frozen=True, kw_only=True, tag="thread"):
    """A thread, with times as UNIX seconds."""

    owner: str
    chatbot: str
    id: str
    created_at: float
    last_activity: float
    messages: int
    sequence: int
    lines: Lines
    tokens: int = 0
    title: str | None = None
    pinned: bool = False
    archived: bool = False
    configuration: str | None = None
    current: bool = False
    keys: dict[str, int] = {}
    live: tuple[LiveTurn, ...] = ()

    @classmethod
    def of(cls, scope: Scope, whole: WholeThread) -> ThreadEntry:
        thread = whole.thread
        return cls(
            owner=scope.owner,
            chatbot=scope.chatbot,
            id=thread.id,
            created_at=float(thread.created_at),
            last_activity=float(thread.last_activity),
            messages=thread.messages,
            sequence=whole.sequence,
            tokens=thread.tokens,
            title=thread.title,
            pinned=thread.pinned,
            archived=thread.archived,
            configuration=thread.configuration,
            current=whole.current,
            keys=whole.keys,
            lines=whole.lines,
            live=whole.live,
        )

    def whole(self, marks: dict[str, Mark]) -> WholeThread:
        """Return what a plugin restores."""
        thread = Thread(
            id=self.id,
            created_at=self.created_at,
            last_activity=self.last_activity,
            messages=self.messages,
            tokens=self.tokens,
            title=self.title,
            pinned=self.pinned,
            archived=self.archived,
            configuration=self.configuration,
        )
        return WholeThread(
            thread=thread,
            sequence=self.sequence,
            keys=self.keys,
            lines=self.lines,
            marks=marks,
            current=self.current,
            live=self.live,
        )


class MarkEntry(_Entry, frozen=True, kw_only=True, tag="mark"):
    """What a person thinks of a message of the thread above."""

    message_id: str
    rating: t.Literal[-1, 1] | None = None
    comment: str | None = None


class MessageEntry(_Entry, frozen=True, kw_only=True, tag="message"):
    """A message of the thread above, of whichever line."""

    sequence: int
    message: msgspec.Raw

    @classmethod
    def of(cls, message: ChatMessage) -> MessageEntry:
        return cls(sequence=t.cast(int, message.sequence), message=msgspec.Raw(message.to_json()))


class ThreadEnd(_Entry, frozen=True, kw_only=True, tag="thread_end"):
    """Closes a thread.

    :param digest: of its lines before this one: BLAKE2b of 16 bytes, hexadecimal.
    """

    messages: int
    digest: str


class DocumentEntry(_Entry, frozen=True, kw_only=True, tag="document"):
    """A document of a storage, under its key there."""

    domain: str
    key: str
    document: Document


class UsageEntry(_Entry, frozen=True, kw_only=True, tag="usage"):
    """A line of the ledger of usage."""

    owner: str
    chatbot: str
    day: dt.date
    model: str | None = None
    turns: int
    input: int
    output: int
    cached: int
    reasoning: int
    total: int

    @classmethod
    def of(cls, scope: Scope, day: UsageDay) -> UsageEntry:
        numbers = {name: getattr(day, name) for name in COUNTED}
        return cls(owner=scope.owner, chatbot=scope.chatbot, day=day.day, model=day.model, **numbers)

    def usage_day(self) -> UsageDay:
        numbers = {name: getattr(self, name) for name in COUNTED}
        return UsageDay(chatbot=self.chatbot, day=self.day, model=self.model, **numbers)


class End(_Entry, frozen=True, kw_only=True, tag="end"):
    """The last line: what the export holds, and what could not be read of the store and is not in it."""

    threads: int
    messages: int
    documents: int
    usage: int
    unreadable: int = 0


Entry = Header | ThreadEntry | MarkEntry | MessageEntry | ThreadEnd | DocumentEntry | UsageEntry | End

_encode = msgspec.json.Encoder().encode
_decoder = msgspec.json.Decoder(Entry)


def line_of(entry: Entry) -> bytes:
    """Return the line of an entry, with its line break."""
    return _encode(entry) + b"\n"


def decode(line: bytes, number: int) -> Entry:
    """Return the entry of a line.

    :param number: of the line, for errors.
    :raises ImportRefused: if it is none.
    """
    try:
        return _decoder.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, ValueError) as error:
        raise ImportRefused(f"line {number} is no line of an export") from error


class Digest:
    """What tells the contents of threads apart: the digest of the lines of one."""

    def __init__(self) -> None:
        self._hash = hashlib.blake2b(digest_size=16)

    def add(self, line: bytes) -> None:
        self._hash.update(line)

    def __str__(self) -> str:
        return self._hash.hexdigest()
