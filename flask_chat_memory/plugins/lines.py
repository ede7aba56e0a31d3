"""The lines of a thread: an edited question begins a new one, and the older ones can be gone back to."""

from __future__ import annotations

import bisect
import collections.abc as cabc
import typing as t

import msgspec

MOST = 2000
"""Ranges of all lines that can be gone back to; beyond that, the line that was left longest ago no longer can."""

Range = tuple[int, int | None]
"""The first and the last sequence; None where whatever comes belongs to it."""
Line = tuple[Range, ...]
"""Ranges in their order, none of which touches the next."""


class Lines(msgspec.Struct, frozen=True):
    """The lines of a thread, each the sequences of its messages.

    :param visible: what is seen; its last range has no end.
    :param others: what can be gone back to, the one that was left last at the end.
    """

    visible: Line = ((1, None),)
    others: tuple[Line, ...] = ()

    @classmethod
    def from_json(cls, text: str | bytes | None) -> Lines:
        """Return the lines that ``to_json`` has written; None is the one line that every thread begins with.

        :raises msgspec.MsgspecError: for anything else.
        """
        return cls() if text is None else msgspec.json.decode(text, type=cls)

    def to_json(self) -> str | None:
        return None if self == Lines() else msgspec.json.encode(self).decode()

    @property
    def hidden(self) -> tuple[tuple[int, int], ...]:
        """The first and last sequences of the messages that are not seen, in their order."""
        gaps = []
        start = 1
        for first, last in self.visible:
            if first > start:
                gaps.append((start, first - 1))
            start = (last or first) + 1
        return tuple(gaps)

    def sees(self, sequence: int) -> bool:
        return _holds(self.visible, sequence)

    def versions(self, answers: cabc.Container[int] = ()) -> dict[int, tuple[int, ...]]:
        """Return where other lines part from the visible one.

        The keys are sequences of visible questions that were asked in several versions; the values those of all
        versions, the visible one among them, in their order. A message that both lines hold is none.

        :param answers: sequences of messages that are no questions. Those that both lines hold are passed over, for
            they may have come late, between the versions of another question.
        """
        found: dict[int, set[int]] = {}
        for line in self.others:
            here, there = _parting(self.visible, line, answers)
            if here is None or there is None or _holds(line, here) or self.sees(there):
                # One line lacks what the other goes on with.
                continue
            found.setdefault(here, {here}).add(there)
        return {here: tuple(sorted(versions)) for here, versions in found.items()}

    def parting(self, other: Lines) -> int | None:
        """Return the first sequence that is seen here or there, and not in both; None if there is none."""
        found = [sequence for sequence in _firsts(self.visible, other.visible) if sequence is not None]
        return min(found, default=None)

    def replaced(self, sequence: int, last: int, kept: cabc.Collection[int] = ()) -> Lines:
        """Return the lines after a question is asked in the place of an older one.

        That one is hidden with all that came after it.

        :param sequence: of the older question.
        :param last: the highest sequence so far.
        :param kept: sequences of messages after it that stay: late answers to questions before it.
        """
        late = [(other, other) for other in sorted(kept) if sequence < other <= last and self.sees(other)]
        return self._leaving(_joined([*_before(self.visible, sequence), *late, (last + 1, None)]), last)

    def without(self, sequences: cabc.Collection[int], last: int) -> Lines:
        """Return the lines after visible messages are hidden."""
        kept = _closed(self.visible, last)
        for sequence in sequences:
            kept = _lacking(kept, sequence)
        return self._leaving(_joined([*kept, (last + 1, None)]), last)

    def shown(self, sequence: int, last: int) -> Lines | None:
        """Return the lines after a message is made visible, with the line that held it last; None if none does."""
        if self.sees(sequence):
            return self
        line = next((line for line in reversed(self.others) if _holds(line, sequence)), None)
        if line is None:
            return None
        others = tuple(other for other in self.others if other != line)
        return msgspec.structs.replace(self, others=others)._leaving(_joined([*line, (last + 1, None)]), last)

    def placed(self, first: int, last: int, question: int) -> Lines:
        """Return the lines after messages were appended that answer a question.

        They belong to the lines that hold the question.

        :param first: the sequence of the first message, ``last`` that of the last one.
        """
        others = tuple(
            _joined([*line, (first, last)]) if _holds(line, question) and not _holds(line, first) else line
            for line in self.others
        )
        if self.sees(question):
            return Lines(self.visible, others)
        return Lines(_joined([*_closed(self.visible, first - 1), (last + 1, None)]), others)

    def renumbered(self, sequences: cabc.Sequence[int]) -> Lines:
        """Return the lines of a thread whose messages are numbered from 1 on.

        :param sequences: of all messages, in their order.
        """

        def of(line: Line) -> Line:
            places = (
                (bisect.bisect_left(sequences, first) + 1, last and bisect.bisect_right(sequences, last))
                for first, last in line
            )
            return _joined((first, last) for first, last in places if last is None or first <= last)

        return Lines(of(self.visible), tuple(line for line in map(of, self.others) if line))

    def joined(self, lines: Lines, last: int) -> Lines:
        """Return the lines after a thread with lines of its own, numbered from 1 on, was appended.

        :param last: the highest sequence before it.
        """
        before = _closed(self.visible, last)

        def of(line: Line) -> Line:
            return _joined([*before, *((first + last, end and end + last) for first, end in line)])

        return Lines(of(lines.visible), _bounded([*self.others, *map(of, lines.others)]))

    def _leaving(self, visible: Line, last: int) -> Lines:
        left = _closed(self.visible, last)
        if not left or left == _closed(visible, last):
            return Lines(visible, self.others)
        return Lines(visible, _bounded([*(line for line in self.others if line != left), left]))


ONE_LINE = Lines()
"""The line that every thread begins with."""


def _bounded(lines: list[Line]) -> tuple[Line, ...]:
    while len(lines) > 1 and sum(map(len, lines)) > MOST:
        del lines[0]
    return tuple(lines)


def _holds(line: Line, sequence: int) -> bool:
    return any(first <= sequence and (last is None or sequence <= last) for first, last in line)


def _closed(line: Line, end: int) -> Line:
    """Return a line without what comes after ``end``."""
    return _before(line, end + 1)


def _before(line: Line, sequence: int) -> Line:
    return tuple(
        (first, sequence - 1 if last is None else min(last, sequence - 1)) for first, last in line if first < sequence
    )


def _after(line: Line, sequence: int) -> Line:
    return tuple((max(first, sequence + 1), last) for first, last in line if last is None or last > sequence)


def _joined(ranges: cabc.Iterable[Range]) -> Line:
    """Join ranges, given in their order, that touch."""
    line: list[Range] = []
    for first, last in ranges:
        if line and line[-1][1] == first - 1:
            line[-1] = (line[-1][0], last)
        else:
            line.append((first, last))
    return tuple(line)


def _lacking(line: Line, sequence: int) -> Line:
    return (*_before(line, sequence), *_after(line, sequence))


def _parting(line: Line, other: Line, answers: cabc.Container[int]) -> tuple[int | None, int | None]:
    """Return the first sequence of each line that follows on what both begin with; None where that is all of it."""
    while True:
        firsts = _firsts(line, other)
        known = [first for first in firsts if first is not None and first in answers]
        late = next((first for first in known if _holds(line, first) and _holds(other, first)), None)
        if late is None:
            return firsts
        line, other = _lacking(line, late), _lacking(other, late)


def _firsts(line: Line, other: Line) -> tuple[int | None, int | None]:
    ours, theirs = list(line), list(other)
    while ours and theirs and ours[0] == theirs[0]:
        del ours[0], theirs[0]
    if ours and theirs and ours[0][0] == theirs[0][0]:
        ends = [last for _, last in (ours[0], theirs[0]) if last is not None]
        end = min(ends)
        ours, theirs = list(_after(tuple(ours), end)), list(_after(tuple(theirs), end))
    first_of = t.cast("cabc.Callable[[list[Range]], int | None]", lambda ranges: ranges[0][0] if ranges else None)
    return first_of(ours), first_of(theirs)
