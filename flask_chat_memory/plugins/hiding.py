"""Reading the visible line of a thread from a store whose messages lie in the order of their sequences."""

from __future__ import annotations

import bisect
import collections.abc as cabc

from ..message import ChatMessage
from .rules import check_range
from .rules import sequence_of

Hidden = cabc.Sequence[tuple[int, int]]
"""First and last sequences that are hidden, as :attr:`Lines.hidden` gives them."""
Read = cabc.Callable[["int | None", "int | None", "int | None"], tuple[list[ChatMessage], Hidden]]
"""Takes limit, before and after; returns messages of all lines, and what is hidden of the thread."""


def is_hidden(sequence: int, hidden: Hidden) -> bool:
    place = bisect.bisect_right(hidden, sequence, key=lambda gap: gap[0])
    return place > 0 and sequence <= hidden[place - 1][1]


def read_visible(read: Read, limit: int | None, before: int | None, after: int | None) -> list[ChatMessage]:
    """Return the visible messages of a range.

    Reads once, and once more for every hidden stretch in it, over which it leaps.

    :raises ValueError: for what is no range (:func:`check_range`).
    """
    check_range(limit, before, after)
    found: list[ChatMessage] = []
    while True:
        wanted = None if limit is None else limit - len(found)
        messages, hidden = read(wanted, before, after)
        seen = [message for message in messages if not is_hidden(sequence_of(message), hidden)] if hidden else messages
        found = found + seen if after is not None else seen + found
        if wanted is None or len(seen) == wanted or len(messages) < wanted:
            return found
        if after is not None:
            after = sequence_of(messages[-1])
            after = max([after, *(last for first, last in hidden if first - 1 <= after < last)])
        else:
            before = sequence_of(messages[0])
            before = min([before, *(first for first, last in hidden if first < before <= last + 1)])
