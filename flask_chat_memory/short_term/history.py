"""What a short-term memory sees of a thread: messages on demand, the newest first."""

from __future__ import annotations

import abc
import collections.abc as cabc
import functools

from ..message import ChatMessage
from .summary import Summary
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
    def after(self, sequence: int, limit: int | None) -> list[ChatMessage]:
        """Return the oldest messages with a greater sequence number, oldest first."""

    def summary(self, newer: cabc.Sequence[ChatMessage]) -> Summary | None:
        """Return the summary of the thread, if there is one that holds.

        :param newer: the newest messages, as far as they have been loaded.
        """
        return None

    @abc.abstractmethod
    def count(self) -> int:
        """Return how many messages there are."""

    @abc.abstractmethod
    def oldest(self, limit: int, older: cabc.Sequence[ChatMessage]) -> list[ChatMessage]:
        """Return the oldest messages after those that are at hand, oldest first."""


class Listed(Source):
    """Messages that are at hand.

    :param chosen_from: the history that they are part of.
    """

    def __init__(self, messages: cabc.Sequence[ChatMessage], chosen_from: History | None = None) -> None:
        self._messages = messages
        self._chosen_from = chosen_from

    def newest(self, limit: int, newer: cabc.Sequence[ChatMessage]) -> list[ChatMessage]:
        end = len(self._messages) - len(newer)
        return list(self._messages[max(0, end - limit) : end])

    def oldest(self, limit: int, older: cabc.Sequence[ChatMessage]) -> list[ChatMessage]:
        return list(self._messages[len(older) : len(older) + limit])

    def count(self) -> int:
        return len(self._messages)

    def after(self, sequence: int, limit: int | None) -> list[ChatMessage]:
        return [message for message in self._messages if (message.sequence or 0) > sequence][:limit]

    def summary(self, newer: cabc.Sequence[ChatMessage]) -> Summary | None:
        return self._chosen_from.summary if self._chosen_from else None


class History:
    """The messages of a thread, up to the present question, in the order of their turns; nothing is read twice."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._loaded: list[ChatMessage] = []
        self._complete = False

    @classmethod
    def of(cls, messages: cabc.Sequence[ChatMessage], chosen_from: History | None = None) -> History:
        """Make a history of messages that are at hand, with the summary of the one that they are part of."""
        return cls(Listed(messages, chosen_from))

    @functools.cached_property
    def summary(self) -> Summary | None:
        """The summary of the thread; None if there is none that holds."""
        return self._source.summary(self._loaded)

    @functools.cached_property
    def count(self) -> int:
        """How many messages the thread holds, also those of other lines than the one that is seen; none is read."""
        return self._source.count()

    def after(self, sequence: int, limit: int | None = None) -> list[ChatMessage]:
        """Return the oldest ``limit`` messages with a greater sequence number; asks the store each time."""
        return by_turn(self._source.after(sequence, limit))

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
