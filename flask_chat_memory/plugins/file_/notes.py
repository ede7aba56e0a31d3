"""What is told of the messages of a thread besides them: its lines, and the marks.

All of it stands in one line of the body, and the state says where. So it is changed in one step with a batch, and goes
where the body goes.
"""

from __future__ import annotations

import collections.abc as cabc
import typing as t

import msgspec

from ...errors import CorruptRecord
from ..lines import Lines
from ..lines import ONE_LINE
from ..records import Mark
from .formats import UNREADABLE
from .lines import Line
from .lines import State
from .names import ThreadFiles


class Marked(msgspec.Struct, frozen=True, omit_defaults=True):
    """A mark, and the sequence of its message."""

    sequence: int
    rating: t.Literal[-1, 1] | None = None
    comment: str | None = None

    @classmethod
    def of(cls, sequence: int, mark: Mark) -> Marked:
        return cls(sequence, mark.rating, mark.comment)

    def record(self) -> Mark:
        return Mark(self.rating, self.comment)


class Notes(msgspec.Struct, frozen=True, omit_defaults=True):
    """The lines, and the marks by the ids of their messages."""

    lines: Lines = ONE_LINE
    marks: dict[str, Marked] = {}

    def replace(self, **changes: t.Any) -> Notes:
        return msgspec.structs.replace(self, **changes)

    def kept(self, shows: cabc.Callable[[int], bool]) -> Notes:
        """Return the notes without the marks of messages that retention has removed."""
        return self.replace(marks={id: mark for id, mark in self.marks.items() if shows(mark.sequence)})

    def records(self) -> dict[str, Mark]:
        return {id: mark.record() for id, mark in self.marks.items()}


def read_notes(line: Line, files: ThreadFiles) -> Notes:
    """Return what a line of the body tells.

    :raises CorruptRecord: if it tells no notes.
    """
    try:
        return _decode(line.notes)
    except UNREADABLE as error:
        raise CorruptRecord(f"the notes of {files.shown} cannot be read") from error


def with_notes(lines: cabc.Sequence[Line], state: State, notes: Notes, start: int) -> tuple[cabc.Sequence[Line], State]:
    """Let the notes stand behind the lines of a batch.

    :param start: where the first of the lines will stand.
    """
    if notes == Notes():
        return lines, state.replace(notes_at=None)
    line = Line(sequence=state.last, notes=msgspec.Raw(_encode(notes)))
    at = start + sum(len(line.encoded()) for line in lines)
    return [*lines, line], state.replace(notes_at=at, noted=state.noted + len(line.encoded()))


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Notes).decode
