"""Reads the file of an export: threads whose messages stay in it, documents, usage."""

from __future__ import annotations

import collections.abc as cabc
import itertools
import json
import typing as t

from ..errors import ImportRefused
from ..errors import InvalidMessage
from ..errors import MissingOwner
from ..message import ChatMessage
from ..plugins.lines import Line
from ..plugins.records import is_owner
from ..plugins.records import Mark
from ..plugins.records import Scope
from ..plugins.records import WholeThread
from ..plugins.rules import check_mark
from ..plugins.rules import is_thread_id
from ..storage.keys import pattern_of
from ..storage.rules import check_key
from .entries import decode
from .entries import Digest
from .entries import DocumentEntry
from .entries import End
from .entries import Entry
from .entries import FORMAT
from .entries import Header
from .entries import MarkEntry
from .entries import MessageEntry
from .entries import ThreadEnd
from .entries import ThreadEntry
from .entries import UsageEntry
from .entries import VERSION
from .stores import DOMAINS


class File(t.Protocol):
    """A file of bytes in which one can go back."""

    def readline(self) -> bytes: ...
    def seek(self, offset: int, /) -> int: ...


class ThreadInFile:
    """A thread of an export."""

    def __init__(self, file: File, entry: ThreadEntry, scope: Scope, line: bytes) -> None:
        self._file = file
        self._entry = entry
        self.scope = scope
        self.digest = Digest()
        self.digest.add(line)
        self.marks: dict[str, Mark] = {}
        self.start = 0
        self.messages = 0
        self.last = 0

    @property
    def whole(self) -> WholeThread:
        return self._entry.whole(self.marks)

    def __iter__(self) -> cabc.Iterator[ChatMessage]:
        self._file.seek(self.start)
        for _ in range(self.messages):
            yield _message(t.cast(MessageEntry, decode(self._file.readline(), 0)), 0)


Piece = Header | ThreadInFile | DocumentEntry | UsageEntry | End


def read_export(file: File) -> cabc.Iterator[Piece]:
    """Yield the header of an export, then each of its threads, documents and lines of the ledger, and its end.

    A thread is to be used before the next piece is asked for.

    :raises ImportRefused: for what is no export, is of a newer version, or was cut off; the text names the line.
    """
    thread: ThreadInFile | None = None
    offset, entry = 0, None
    for number in itertools.count(1):
        file.seek(offset)
        line = file.readline()
        if not line.endswith(b"\n"):
            break
        offset += len(line)
        entry = decode(line, number)
        if number == 1:
            yield _checked_header(entry)
        elif isinstance(entry, ThreadEntry):
            thread = ThreadInFile(file, entry, _scope_of(entry, number), line)
            thread.start = offset
        elif isinstance(entry, (MarkEntry, MessageEntry, ThreadEnd)):
            if thread is None:
                raise ImportRefused(f"line {number} belongs to no thread")
            if isinstance(entry, ThreadEnd):
                _check_end(thread, entry, number)
                yield thread
                thread = None
            else:
                _add(thread, entry, number, line, offset)
        elif isinstance(entry, (DocumentEntry, UsageEntry)):
            _check_place(entry, number)
            yield entry
        elif isinstance(entry, End):
            yield entry
            return
    raise ImportRefused("it is cut off" if isinstance(entry, Entry) else "it is no export")


def _checked_header(entry: Entry) -> Header:
    if not isinstance(entry, Header) or entry.format != FORMAT:
        raise ImportRefused("it is no export: the first line is no header")
    if entry.version > VERSION:
        raise ImportRefused(
            f"it is of version {entry.version} of the format; this release reads versions up to {VERSION}"
        )
    if not (entry.owner is None or is_owner(entry.owner)):
        raise ImportRefused("the owner in line 1 is none")
    return entry


def _check_place(entry: DocumentEntry | UsageEntry, number: int) -> None:
    try:
        if isinstance(entry, UsageEntry):
            Scope(entry.owner, entry.chatbot)
        elif entry.domain not in DOMAINS or not entry.key.startswith(pattern_of(entry.domain)[:-1]):
            raise ValueError("the key is none of its domain")
        else:
            check_key(entry.key)
    except (MissingOwner, ValueError) as error:
        raise ImportRefused(f"line {number}: {error}") from error


def _scope_of(entry: ThreadEntry, number: int) -> Scope:
    try:
        scope = Scope(entry.owner, entry.chatbot)
    except (MissingOwner, ValueError) as error:
        raise ImportRefused(f"line {number}: {error}") from error
    if not is_thread_id(entry.id):
        raise ImportRefused(f"line {number}: id is no id of a thread")
    if not (_is_line(entry.lines.visible, open_end=True) and all(map(_is_line, entry.lines.others))):
        raise ImportRefused(f"line {number}: lines are no lines of a thread")
    return scope


def _is_line(line: Line, open_end: bool = False) -> bool:
    """Tell whether ranges stand in their order and do not touch; only the last one may be without an end."""
    end: int | None = -1
    for first, last in line:
        if end is None or not end + 1 < first or (last is not None and last < first):
            return False
        end = last
    return bool(line) and (end is None) is open_end


def _add(thread: ThreadInFile, entry: MarkEntry | MessageEntry, number: int, line: bytes, offset: int) -> None:
    if isinstance(entry, MarkEntry):
        if thread.messages:
            raise ImportRefused(f"line {number}: a mark stands behind messages")
        try:
            thread.marks[entry.message_id] = check_mark(Mark(entry.rating, entry.comment))
        except ValueError as error:
            raise ImportRefused(f"line {number}: {error}") from error
        thread.start = offset
    else:
        _message(entry, number)
        if entry.sequence <= thread.last:
            raise ImportRefused(f"line {number}: sequences do not ascend")
        thread.last = entry.sequence
        thread.messages += 1
    thread.digest.add(line)


def _check_end(thread: ThreadInFile, end: ThreadEnd, number: int) -> None:
    whole = thread.whole
    if not end.messages == thread.messages == whole.thread.messages or str(thread.digest) != end.digest:
        raise ImportRefused(f"line {number}: the thread above is not as it was exported")
    if thread.last > whole.sequence or any(place > whole.sequence for place in whole.keys.values()):
        raise ImportRefused(f"line {number}: a sequence of the thread above is too high")


def _message(entry: MessageEntry, number: int) -> ChatMessage:
    try:
        return ChatMessage.from_dict(json.loads(bytes(entry.message))).numbered(entry.sequence)
    except (InvalidMessage, ValueError, RecursionError) as error:
        raise ImportRefused(f"line {number}: it is no message that could be stored") from error
