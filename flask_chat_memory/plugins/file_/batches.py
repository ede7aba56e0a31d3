"""Makes the lines of a batch and the state after it, which says what retention has removed."""

from __future__ import annotations

import collections.abc as cabc
import itertools
import typing as t

import msgspec

from .body import Body
from .body import KEYS_KEPT
from .lines import Entry
from .lines import Line
from .lines import Live
from .lines import newest_overlap
from .lines import State
from .lines import summary
from .lines import totals

NOTES_KEPT = 64 * 1024
"""Bytes of notes, most of them outdated, that are worth no rewriting."""


class Seen(t.NamedTuple):
    """A message that can be seen, as retention looks at it."""

    offset: int
    sequence: int
    role: str
    turn: str | None


SeenFrom = cabc.Callable[[int], cabc.Iterator[Seen]]


def encode(lines: cabc.Sequence[Line], state: State) -> bytes:
    """Return the lines with the state on the last one, or a line for the state alone."""
    *before, last = lines or [Line(sequence=state.last)]
    return b"".join(line.encoded() for line in (*before, msgspec.structs.replace(last, state=state)))


def new_lines(entries: cabc.Sequence[Entry], first: int, key: str | None) -> list[Line]:
    lines = [Line(sequence=first + place, message=msgspec.Raw(entry.text)) for place, entry in enumerate(entries)]
    lines[0] = msgspec.structs.replace(lines[0], key=key)
    return lines


def repeat_keys(
    lines: cabc.Sequence[Line], state: State, keys: cabc.Mapping[str, int]
) -> tuple[cabc.Sequence[Line], State]:
    """Let keys stand near the end, from which they are looked for, however much has come after them.

    :param keys: with the sequences of their batches.
    """
    repeated = [Line(key=key, batch=sequence, sequence=state.last) for key, sequence in keys.items()]
    return [*lines, *repeated], state.replace(unkeyed=0)


def after_batch(state: State, entries: cabc.Sequence[Entry], key: str | None, body: Body | None, now: float) -> State:
    """Return the state after a batch that follows the state."""
    first = state.last + 1
    turn = body.newest_turn() if body else None
    unkeyed = len(entries) - 1 if key is not None else state.unkeyed + len(entries) if state.keyed else 0
    return state.replace(
        at=now,
        last=state.last + len(entries),
        count=state.count + len(entries),
        keyed=state.keyed + (key is not None),
        unkeyed=unkeyed,
        overlap=newest_overlap(enumerate(entries, first), turn, state.last, state.overlap),
        **totals(entries, state.tokens, state.model),
    )


def trimmed(
    state: State,
    limit: int | None,
    running: cabc.Collection[Live],
    seen_from: SeenFrom,
) -> State:
    """Remove whole turns from the start, as :func:`rules.trim` does in memory; return the state that says so.

    Reads on from where the thread begins to where it will begin: no more than is removed.

    :param running: turns that stay.
    :param seen_from: gives the messages from an offset on that could be seen before.
    """
    excess = state.count - (limit or state.count)
    if excess <= 0:
        return state
    # A turn that was dead for a while may run again when its question has gone.
    questions = (live.sequence for live in running)
    stop = min((sequence for sequence in questions if sequence and state.shows(sequence)), default=None)
    removed: list[Seen] = []
    cut: tuple[Seen, int] | None = None
    for position, message in enumerate(seen_from(state.offset)):
        if message.role == "user":
            cut = (message, position)
            if position >= excess or message.sequence == stop:
                break
        removed.append(message)
    if cut is None or cut[1] == 0:
        return state
    question, position = cut
    turns = {message.turn for message in removed[:position]} - {None}
    # Only where turns overlap, a late answer can stand beyond the next question.
    beyond = itertools.takewhile(lambda message: message.sequence <= state.overlap, seen_from(question.offset))
    late = tuple(message.sequence for message in beyond if message.turn in turns)
    return state.replace(
        first=question.sequence,
        offset=question.offset,
        count=state.count - position - len(late),
        skipped=state.skipped + position,
        hidden=tuple(sequence for sequence in state.hidden if sequence > question.sequence) + late,
    )


def are_keys_far(state: State) -> bool:
    """Tell whether so much has come after the newest key that the keys are worth repeating."""
    return state.unkeyed > KEYS_KEPT


def is_worth_rewriting(state: State, limit: int | None, size: int) -> bool:
    """Tell whether so much has been removed that the space is taken back; the cost is spread over many writes.

    :param size: of the body, in bytes.
    """
    return state.skipped >= max(limit or 0, KEYS_KEPT) or state.noted > max(NOTES_KEPT, size // 2)


def seen_in(body: Body | None, start: int, lines: cabc.Sequence[Line], entries: cabc.Sequence[Entry]) -> SeenFrom:
    """Return a function that gives what can be seen from an offset on: of the body, then of the lines after it.

    :param start: where the first of the lines will stand.
    """
    offsets = itertools.accumulate((len(line.encoded()) for line in lines), initial=start)
    added = [
        Seen(offset, line.sequence, entry.role, entry.turn)
        for offset, line, entry in zip(offsets, lines, entries, strict=False)
    ]

    def seen_from(offset: int) -> cabc.Iterator[Seen]:
        if body is not None and offset < body.end:
            for place in body.places(offset):
                about = summary(place.line, body.files)
                yield Seen(place.offset, place.line.sequence, about.role, about.turn)
        yield from (message for message in added if message.offset >= offset)

    return seen_from
