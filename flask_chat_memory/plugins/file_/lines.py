"""The lines of a body, one message each, and the state that the last line of a batch carries."""

from __future__ import annotations

import collections.abc as cabc
import typing as t

import msgspec

from ...errors import CorruptRecord
from ...message import ChatMessage
from ..counting import tokens_each
from ..records import LiveTurn
from .formats import FORMAT
from .formats import UNREADABLE
from .formats import unreadable
from .names import ThreadFiles

NOTHING = msgspec.Raw(b"")


class Live(msgspec.Struct, frozen=True, omit_defaults=True):
    """A turn that is being answered.

    :param sequence: of its question; 0 if that is gone.
    :param text: the answer so far; as ``stop_wanted``, it is only in the file of the leases.
    """

    turn: str
    question_id: str
    answer_id: str
    lease: float
    sequence: int
    text: str = ""
    stop_wanted: bool = False

    def record(self) -> LiveTurn:
        return LiveTurn(self.turn, self.question_id, self.answer_id, self.lease, self.text, self.stop_wanted)


class State(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is known of a thread after a batch, so that nobody need read the thread to know it.

    :param at: last activity, UNIX time in seconds.
    :param last: the highest sequence that the thread ever gave.
    :param count: messages that can be seen.
    :param first: no message with a smaller sequence can be seen, nor one of ``hidden``.
    :param offset: where the line of ``first`` begins.
    :param skipped: messages before ``offset``.
    :param keyed: batches with a key.
    :param unkeyed: messages since the newest key.
    :param overlap: the newest message that came after another turn had come between it and its question.
    :param notes_at: where the line begins that tells the notes, if there are any.
    :param noted: bytes of notes since the body was last written as a whole.
    :param format: of the body.
    """

    at: float
    last: int = 0
    count: int = 0
    tokens: int = 0
    model: str | None = None
    first: int = 0
    offset: int = 0
    skipped: int = 0
    keyed: int = 0
    unkeyed: int = 0
    hidden: tuple[int, ...] = ()
    overlap: int = 0
    live: tuple[Live, ...] = ()
    notes_at: t.Annotated[int, msgspec.Meta(ge=0)] | None = None
    noted: int = 0
    format: int = FORMAT

    def replace(self, **changes: t.Any) -> State:
        return msgspec.structs.replace(self, **changes)

    def shows(self, sequence: int) -> bool:
        return sequence >= self.first and sequence not in self.hidden


class Line(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A line of a body.

    :param key: of the batch, on its first line. Stands first, so that it can be found without decoding.
    :param batch: where a key is only repeated, the sequence of its batch.
    :param state: on the last line of a batch: without it the batch is not there.
    :param notes: what is told of the messages of the thread besides them.
    :param message: missing where anything else is told. Stands last, for who reads the file.
    """

    key: str | None = None
    batch: int = 0
    sequence: int
    state: State | None = None
    notes: msgspec.Raw = NOTHING
    message: msgspec.Raw = NOTHING

    def encoded(self) -> bytes:
        return _encode(self) + b"\n"


class Entry(t.NamedTuple):
    """A message about to be written."""

    text: bytes
    role: str
    turn: str | None
    tokens: int
    model: str | None

    @classmethod
    def all_of(cls, messages: cabc.Sequence[ChatMessage]) -> list[Entry]:
        """Return the entries of a batch."""
        return [
            cls(message.to_json(), message.role, message.turn, tokens, message.model)
            for message, tokens in zip(messages, tokens_each(messages), strict=True)
        ]


class Summary(msgspec.Struct, frozen=True, gc=False):
    """What the rules need to know of a stored message."""

    role: str
    turn: str | None = None
    id: str | None = None


KEYED = b'\n{"key":'


def marked(key: str) -> bytes:
    """Return how the first line of a batch with this key begins, with the end of the line before it.

    A line break cannot stand within a line, so nothing in a message looks like it.
    """
    return KEYED + _encode(key) + b","


def identified(id: str) -> bytes:
    """Return what the text of a message with this id contains; that of others may contain it, too."""
    return b'"id":' + _encode(id)


def read_line(line: bytes, files: ThreadFiles, offset: int) -> Line:
    """Decode a line.

    :param offset: where it begins in the body.
    :raises CorruptRecord: if it is none.
    """
    try:
        return _decode_line(line)
    except UNREADABLE as error:
        raise unreadable(line, files.shown, f" at byte {offset}") from error


def summary(line: Line, files: ThreadFiles) -> Summary:
    try:
        return _decode_summary(line.message)
    except UNREADABLE as error:
        raise CorruptRecord(f"message {line.sequence} of {files.shown} cannot be read") from error


def read_messages(data: bytes, hidden: cabc.Collection[int], files: ThreadFiles, offset: int) -> list[ChatMessage]:
    """Return the messages of whole lines, but those with a sequence in ``hidden``.

    :param offset: where the lines begin in the body.
    """
    try:
        messages = ChatMessage.from_lines(data)
    except CorruptRecord:
        return _read_one_by_one(data, hidden, files, offset)
    return [message for message in messages if message.sequence not in hidden] if hidden else messages


def _read_one_by_one(data: bytes, hidden: cabc.Collection[int], files: ThreadFiles, offset: int) -> list[ChatMessage]:
    """Read lines of which one has keys of the site, or is corrupt."""
    rows = []
    for text in data.split(b"\n")[:-1]:
        line = read_line(text, files, offset)
        if line.message and line.sequence not in hidden:
            rows.append((line.sequence, bytes(line.message)))
        offset += len(text) + 1
    try:
        return ChatMessage.from_rows(rows)
    except CorruptRecord as error:
        raise CorruptRecord(f"{files.shown}: {error}") from error


def totals(entries: cabc.Iterable[Entry], tokens: int = 0, model: str | None = None) -> dict[str, t.Any]:
    """Return tokens and model after the messages."""
    for entry in entries:
        tokens += entry.tokens
        model = entry.model or model
    return {"tokens": tokens, "model": model}


def newest_overlap(
    places: cabc.Iterable[tuple[int, Entry]], turn: str | None = None, last: int = 0, overlap: int = 0
) -> int:
    """Return the newest message that came after another turn had come between it and its question.

    :param places: messages with their sequences.
    :param turn: of the message before them, whose sequence is ``last``; ``overlap`` is the result for what ends there.
    """
    for sequence, entry in places:
        goes_on = entry.turn == turn
        if entry.turn is not None and (overlap == last if goes_on else entry.role != "user"):
            overlap = sequence
        turn, last = entry.turn, sequence
    return overlap


_encode = msgspec.json.Encoder().encode
_decode_line = msgspec.json.Decoder(Line).decode
_decode_summary = msgspec.json.Decoder(Summary).decode
