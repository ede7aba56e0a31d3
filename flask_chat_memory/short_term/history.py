"""What a short-term memory sees of a thread: messages on demand, the newest first."""

from __future__ import annotations

import abc
import collections.abc as cabc

from ..message import ChatMessage
from .view import by_turn

EVERYTHING = 2**62
"""Messages; more than any thread has."""
_PAGE = 20
"""Messages among which the first question is looked for at a time."""


class Source(abc.ABC):
    """Where the messages of a history come from, up to the present question."""

    @abc.abstractmethod
    def newest(self, limit: int, newer: cabc.Sequence[ChatMessage]) -> list[ChatMessage]:
        """Return the newest messages before those that are at hand, oldest first.

        :param newer: what has been loaded; nothing at first.
        """

    @abc.abstractmethod
    def oldest(self, limit: int, older: cabc.Sequence[ChatMessage]) -> list[ChatMessage]:
        """Return the oldest messages after those that are at hand, oldest first."""


class Listed(Source):
    """Messages that are at hand."""

    def __init__(self, messages: cabc.Sequence[ChatMessage]) -> None:
        self._messages = messages

    def newest(self, limit: int, newer: cabc.Sequence[ChatMessage]) -> list[ChatMessage]:
        end = len(self._messages) - len(newer)
        return list(self._messages[max(0, end - limit) : end])

    def oldest(self, limit: int, older: cabc.Sequence[ChatMessage]) -> list[ChatMessage]:
        return list(self._messages[len(older) :][:limit])


class History:
    """The messages of a thread, up to the present question, in the order of their turns; nothing is read twice."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._loaded: list[ChatMessage] = []
        self._complete = False

    @classmethod
    def of(cls, messages: cabc.Sequence[ChatMessage]) -> History:
        """Make a history of messages that are at hand."""
        return cls(Listed(messages))

    def newest(self, count: int) -> list[ChatMessage]:
        """Return the newest ``count`` messages, oldest first; asks the store only when more is wanted."""
        missing = count - len(self._loaded)
        if missing > 0 and not self._complete:
            older = self._source.newest(missing, self._loaded)
            self._complete = len(older) < missing
            self._loaded = older + self._loaded
        return by_turn(self._loaded[max(0, len(self._loaded) - count) :])

    def holds_more_than(self, count: int) -> bool:
        """Tell whether there may be more than the newest ``count`` messages that were asked for."""
        return not self._complete or len(self._loaded) > count

    def first(self) -> ChatMessage | None:
        """Return the first question; None if there is none."""
        found: list[ChatMessage] = []
        while True:
            page = self._loaded[len(found) :] if self._complete else self._source.oldest(_PAGE, found)
            for message in page:
                if message.role == "user":
                    return message
            if self._complete or len(page) < _PAGE:
                return None
            found += page
