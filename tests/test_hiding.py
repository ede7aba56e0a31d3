from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flask_chat_memory import ChatMessage
from flask_chat_memory.plugins.hiding import Hidden
from flask_chat_memory.plugins.hiding import read_visible
from flask_chat_memory.plugins.rules import select
from flask_chat_memory.plugins.rules import sequence_of

HIGHEST = 40


def ranges(sequences: set[int]) -> list[tuple[int, int]]:
    """Return the first and last numbers of what lies in one piece."""
    found: list[tuple[int, int]] = []
    for sequence in sorted(sequences):
        if found and found[-1][1] == sequence - 1:
            found[-1] = (found[-1][0], sequence)
        else:
            found.append((sequence, sequence))
    return found


SEQUENCES = st.sets(st.integers(1, HIGHEST))
STORED = SEQUENCES.map(lambda numbers: [ChatMessage("user", "x").numbered(number) for number in sorted(numbers)])
HIDDEN = SEQUENCES.map(ranges)
LIMITS = st.none() | st.integers(0, 12)
PLACES = st.none() | st.integers(0, HIGHEST + 1)


class Store:
    """Counts how often it is read."""

    def __init__(self, messages: list[ChatMessage], hidden: Hidden) -> None:
        self._messages = messages
        self._hidden = hidden
        self.reads = 0

    def read(self, limit: int | None, before: int | None, after: int | None) -> tuple[list[ChatMessage], Hidden]:
        self.reads += 1
        return select(self._messages, limit, before, after), self._hidden


@given(STORED, HIDDEN, LIMITS, PLACES, st.booleans())
def test_what_is_read_is_what_is_seen(
    messages: list[ChatMessage], hidden: list[tuple[int, int]], limit: int | None, place: int | None, onwards: bool
) -> None:
    before, after = (None, place) if onwards else (place, None)
    store = Store(messages, hidden)
    found = read_visible(store.read, limit, before, after)
    unseen = {sequence for first, last in hidden for sequence in range(first, last + 1)}
    visible = [message for message in messages if message.sequence not in unseen]
    assert [sequence_of(message) for message in found] == [
        sequence_of(message) for message in select(visible, limit, before, after)
    ]
    assert store.reads <= 1 + len(hidden)


def test_a_long_hidden_stretch_costs_one_read_more() -> None:
    messages = [ChatMessage("user", "x").numbered(sequence) for sequence in range(1, 1001)]
    store = Store(messages, [(11, 990)])
    assert [message.sequence for message in read_visible(store.read, 20, None, None)] == [
        *range(1, 11),
        *range(991, 1001),
    ]
    assert store.reads == 2
    assert [message.sequence for message in read_visible(store.read, 3, 500, None)] == [8, 9, 10]
    assert [message.sequence for message in read_visible(store.read, 3, None, 500)] == [991, 992, 993]
    assert store.reads == 6


def test_a_thread_of_one_line_is_read_once() -> None:
    messages = [ChatMessage("user", "x").numbered(sequence) for sequence in range(1, 11)]
    for limit in (None, 0, 5, 10, 20):
        store = Store(messages, [])
        read_visible(store.read, limit, None, None)
        assert store.reads == 1


def test_what_is_no_range_is_refused_before_anything_is_read() -> None:
    store = Store([], [])
    for limit, before, after in ((-1, None, None), (1, 1, 1)):
        with pytest.raises(ValueError):
            read_visible(store.read, limit, before, after)
    assert store.reads == 0
