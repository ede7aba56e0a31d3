"""What a short-term memory sees of a thread: messages on demand, the newest first."""

from __future__ import annotations

import collections.abc as cabc

from ..message import ChatMessage
from .view import by_turn

Load = cabc.Callable[[int], list[ChatMessage]]


class History:
    """The stored messages of a thread, up to the present question, in the order of their turns.

    :param load: returns the newest ``n`` messages, oldest first.
    """

    def __init__(self, load: Load) -> None:
        self._load = load
        self._loaded: list[ChatMessage] = []
        self._complete = False

    @classmethod
    def of(cls, messages: cabc.Sequence[ChatMessage]) -> History:
        """Make a history of messages that are at hand."""
        return cls(lambda count: list(messages[max(0, len(messages) - count) :]))

    def newest(self, count: int) -> list[ChatMessage]:
        """Return the newest ``count`` messages, oldest first; asks the store only when more is wanted."""
        if count > len(self._loaded) and not self._complete:
            self._loaded = self._load(count)
            self._complete = len(self._loaded) < count
        return by_turn(self._loaded[max(0, len(self._loaded) - count) :])
