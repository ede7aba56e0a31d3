"""Reads a body from its end: the state first, then no more than what was asked for."""

from __future__ import annotations

import collections.abc as cabc
import functools
import itertools
import typing as t

from ...errors import CorruptRecord
from ...message import ChatMessage
from ...values import clean
from ..hiding import read_visible
from .blocks import Blocks
from .formats import check_format
from .lines import identified
from .lines import KEYED
from .lines import Line
from .lines import marked
from .lines import read_line
from .lines import read_messages
from .lines import State
from .lines import summary
from .names import ThreadFiles
from .notes import Notes
from .notes import read_notes

KEYS_KEPT = 100
"""Two keys a turn, for the newest 50 turns."""


class Place(t.NamedTuple):
    """A line of a body and where it begins."""

    offset: int
    line: Line


class Body:
    """An open body.

    What follows the last line with a state is what a crash has left of a batch; it counts as not there.

    :ivar end: where the next batch goes.
    :raises CorruptRecord: if it has no state that can be read.
    """

    def __init__(self, files: ThreadFiles, writing: bool = False) -> None:
        """Open the file; FileNotFoundError if there is none."""
        self.files = files
        self._blocks = Blocks(files.body, writing)
        try:
            self.state, self.end = self._committed()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        self._blocks.close()

    def append(self, data: bytes) -> None:
        """Write after the last batch, in the place of a torn one; whole or not at all."""
        self._blocks.write(data, self.end)

    def lasting(self, start: int) -> bytes:
        """Return the lines from a line start on that are not outdated by the state."""
        lines = ((text, read_line(text, self.files, offset)) for offset, text in self._blocks.forward(start, self.end))
        return b"".join(text + b"\n" for text, line in lines if line.message or line.key)

    @functools.cached_property
    def notes(self) -> Notes:
        """What is told of the messages besides them."""
        at = self.state.notes_at
        if at is None:
            return Notes()
        for offset, text in self._blocks.forward(at, self.end):
            return read_notes(read_line(text, self.files, offset), self.files).kept(self.state.shows)
        raise CorruptRecord(f"the notes of {self.files.shown} are missing")

    def messages(
        self, limit: int | None = None, before: int | None = None, after: int | None = None, hidden: bool = False
    ) -> list[ChatMessage]:
        """Return what :meth:`HidesMessages.load_messages` returns."""
        gaps = () if hidden else self.notes.lines.hidden
        if not gaps:
            return self._all(limit, before, after)
        return read_visible(lambda *place: (self._all(*place), gaps), limit, before, after)

    def shows(self, sequence: int) -> bool:
        """Tell whether there is a message of this sequence that is visible."""
        return [message.sequence for message in self.messages(1, before=sequence + 1)] == [sequence]

    def _all(self, limit: int | None, before: int | None, after: int | None) -> list[ChatMessage]:
        """Return messages of all lines."""
        start, end = self.state.offset, self.end
        if after is not None:
            start = self._find(after + 1, start, end)
        elif before is not None:
            end = self._find(before, start, end)
        if limit is None:
            return self._messages(start, end)
        if limit == 0:
            return []
        if after is not None:
            return self._oldest(start, limit)
        return self._newest(start, end, limit)

    def places(self, start: int) -> cabc.Iterator[Place]:
        """Give the lines with messages that can be seen, oldest first."""
        for offset, text in self._blocks.forward(start, self.end):
            line = read_line(text, self.files, offset)
            if line.message and self.state.shows(line.sequence):
                yield Place(offset, line)

    def key(self, key: str) -> int | None:
        """Return the sequence of the batch that has the key, which is among the newest of the thread."""
        start, tail = self._keyed_tail()
        found = tail.rfind(marked(key))
        return None if found < 0 else _batch_of(self._line_around(start, tail, found + 1))

    def keys(self, before: int | None = None) -> dict[str, int]:
        """Return the newest keys with the sequences of their batches, those of lines from ``before`` on left out."""
        start, tail = self._keyed_tail()
        found: list[tuple[str, int]] = []
        place, left = len(tail), KEYS_KEPT
        while left and (place := tail.rfind(KEYED, 0, place)) >= 0:
            left -= 1
            if before is None or start + place + 1 < before:
                line = self._line_around(start, tail, place + 1)
                found.append((t.cast(str, line.key), _batch_of(line)))
        return dict(reversed(found))

    def find(self, id: str) -> int | None:
        """Return the sequence of the newest message with the id, in any line; what is asked for is new, mostly."""
        id = clean(id)
        mark = identified(id)
        checked = self.end
        for start, tail in self._blocks.tails(self.state.offset, self.end):
            found = len(tail)
            while (found := tail.rfind(mark, 0, found)) >= 0:
                if start + found >= checked or tail.find(b"\n", 0, found) < 0:
                    continue
                line = self._line_around(start, tail, found)
                if self.state.shows(line.sequence) and summary(line, self.files).id == id:
                    return line.sequence
            # The first line of the tail may be cut: it is looked at again.
            checked = start + tail.find(b"\n") + 1
        return None

    def newest_turn(self) -> str | None:
        """Return the turn of the newest message."""
        for offset, text in self._blocks.backward(self.end, self.state.offset):
            line = read_line(text, self.files, offset)
            if line.message:
                return summary(line, self.files).turn
        return None

    def _committed(self) -> tuple[State, int]:
        whole = self._blocks.newline_before(self._blocks.size)
        for offset, text in self._blocks.backward(whole, 0):
            line = read_line(text, self.files, offset)
            if line.state is not None:
                check_format(line.state.format, self.files.shown)
                return line.state, offset + len(text) + 1
        raise CorruptRecord(f"{self.files.shown} is empty or holds no whole batch")

    def _keyed_tail(self) -> tuple[int, bytes]:
        """Return an end of the body in which all keys stand that are to be remembered."""
        for start, tail in self._blocks.tails(0, self.end):
            if tail.count(KEYED) >= min(self.state.keyed, KEYS_KEPT):
                return start, tail
        return -1, b"\n"

    def _line_around(self, start: int, tail: bytes, place: int) -> Line:
        begin = tail.rfind(b"\n", 0, place) + 1
        return read_line(tail[begin : tail.find(b"\n", place)], self.files, start + begin)

    def _find(self, sequence: int, start: int, end: int) -> int:
        """Return where the first line begins whose sequence is not smaller, by halving."""
        found = end
        while start < found:
            middle = (start + found) // 2
            offset, text = next(self._blocks.forward(max(start, self._blocks.newline_before(middle)), self.end))
            if read_line(text, self.files, offset).sequence < sequence:
                start = offset + len(text) + 1
            else:
                found = offset
        return found

    def _messages(self, start: int, end: int) -> list[ChatMessage]:
        return read_messages(self._blocks.read(start, end), self.state.hidden, self.files, start)

    def _newest(self, start: int, end: int, limit: int) -> list[ChatMessage]:
        messages: list[ChatMessage] = []
        # A line may have no message, or one that is hidden: then one line more is needed.
        while start < end and len(messages) < limit:
            begin = self._blocks.lines_before(start, end, limit - len(messages))
            messages[:0] = self._messages(begin, end)
            end = begin
        return messages

    def _oldest(self, start: int, limit: int) -> list[ChatMessage]:
        texts = (place.line.encoded() for place in itertools.islice(self.places(start), min(limit, self.state.count)))
        return read_messages(b"".join(texts), (), self.files, start)


def _batch_of(line: Line) -> int:
    return line.batch or line.sequence
