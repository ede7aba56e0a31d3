"""Reading what was said in a conversation, and what its owner thinks of it."""

from __future__ import annotations

import collections.abc as cabc
import dataclasses
import typing as t

from .errors import RequestRefused
from .live import settle
from .location import Located
from .location import Location
from .message import ChatMessage
from .place import Place
from .plugins.abilities import HidesMessages
from .plugins.abilities import MarksMessages
from .plugins.counting import model_calls
from .plugins.records import Mark
from .plugins.rules import check_mark
from .plugins.rules import check_range
from .plugins.rules import MAX_COMMENT
from .plugins.rules import sequence_of
from .question import NOT_TOLD
from .question import ShownThread
from .short_term.view import by_turn
from .usage import Usage

OVERLAP = 20
"""Messages that are read beyond a page, where turns that overlap may begin."""
WRONG_RATING = "The rating must be 1, -1 or null."
WRONG_COMMENT = f"A comment is text of at most {MAX_COMMENT} characters."


@dataclasses.dataclass(frozen=True)
class Page:
    """A page of history.

    :param messages: grouped by turn, turns in the order of their questions.
    :param running: ids of the turns that are being answered.
    :param cursor: older messages are before this sequence number; None if there are none.
    :param versions: by the sequence of a question that was asked in several versions, the sequences of all of them.
    :param marks: what the owner thinks of messages, by their ids.
    """

    thread_id: str | None = None
    messages: cabc.Sequence[ChatMessage] = ()
    running: frozenset[str] = frozenset()
    cursor: int | None = None
    versions: cabc.Mapping[int, cabc.Sequence[int]] = dataclasses.field(default_factory=dict)
    marks: cabc.Mapping[str, Mark] = dataclasses.field(default_factory=dict)


class OwnHistory(Located):
    """What an owner and a chatbot have said to each other."""

    def history(self, limit: int | None = None) -> list[ChatMessage]:
        """Return the newest messages, grouped by turn, oldest first.

        :param limit: messages; None is all.
        """
        location = self._location()
        return by_turn(location.load(limit)) if location else []

    def page(self, limit: int, before: int | None = None, shown: ShownThread = NOT_TOLD) -> Page:
        """Return a page of history, and end the turns on it whose process has died.

        :param limit: messages.
        :param before: only messages with a smaller sequence number.
        :param shown: the thread that the page shows.
        """
        check_range(limit, before, None)
        location = self._location(shown)
        if location is None:
            return Page()
        messages = self._read(location, limit, before)
        place = location.place
        if place is None:
            return Page(location.announced_id)
        settled = settle(place, messages)
        if settled.ended:
            messages = self._read(location, limit, before)
        start = _page_start(messages, limit)
        cursor = sequence_of(messages[start - 1]) + 1 if start else None
        if cursor is None and len(messages) > limit + OVERLAP:
            # A turn that is longer than what was read: there may be older ones.
            cursor = sequence_of(messages[0])
        shown_messages = by_turn(messages[start:])
        versions, marks = (_versions(place), _marks(place)) if shown_messages else ({}, {})
        return Page(place.thread_id, shown_messages, settled.running, cursor, versions, marks)

    def usage(self) -> Usage:
        """Return what the turns of the thread have cost, as far as they are kept, seen or not; also what was imported.

        Reads the whole thread. What the owner's turns have cost whatever became of their threads is told by
        :meth:`ChatMemory.usage`.
        """
        location = self._location()
        place = location.place if location else None
        calls = model_calls(place.load(after=0, limit=None)) if place else []
        return Usage.sum(call.usage for call in calls if call.usage is not None)

    def mark(
        self,
        message_id: str,
        rating: t.Literal[-1, 1] | None = None,
        comment: str | None = None,
        thread_id: ShownThread = NOT_TOLD,
    ) -> bool:
        """Keep what the owner thinks of a message, instead of what was kept before; without both, nothing.

        :param rating: 1 is good, -1 is bad.
        :param comment: at most 2,000 characters.
        :param thread_id: the thread that the page shows.
        :return: whether the thread has the message.
        :raises RequestRefused: 400 for another rating, for what is no comment, and if nothing can be kept.
        """
        mark, plugin = _mark(rating, comment), self._plugin
        if plugin is None or not isinstance(plugin, MarksMessages):
            raise RequestRefused(400, "This conversation keeps no feedback.")
        location = self._location(thread_id)
        place = location.place if location else None
        return place is not None and plugin.mark_message(place.scope, place.thread_id, message_id, mark)

    def _read(self, location: Location, limit: int, before: int | None) -> list[ChatMessage]:
        # More than wanted, to know whether there are older ones, and where the turns of the page begin.
        wanted = limit + 1 + OVERLAP
        return location.newest(wanted) if before is None else location.load(wanted, before)


def _mark(rating: object, comment: object) -> Mark | None:
    if rating is not None and type(rating) is not int:
        raise RequestRefused(400, WRONG_RATING)
    if comment is not None and not isinstance(comment, str):
        raise RequestRefused(400, WRONG_COMMENT)
    if rating not in (None, 1, -1):
        raise RequestRefused(400, WRONG_RATING)
    try:
        mark = check_mark(Mark(t.cast("t.Literal[-1, 1] | None", rating), comment))
    except ValueError as error:
        raise RequestRefused(400, WRONG_COMMENT) from error
    return None if mark == Mark() else mark


def _versions(place: Place) -> cabc.Mapping[int, cabc.Sequence[int]]:
    plugin = place.plugin
    return plugin.find_lines(place.scope, place.thread_id).versions() if isinstance(plugin, HidesMessages) else {}


def _marks(place: Place) -> cabc.Mapping[str, Mark]:
    plugin = place.plugin
    return plugin.load_marks(place.scope, place.thread_id) if isinstance(plugin, MarksMessages) else {}


def _page_start(messages: list[ChatMessage], limit: int) -> int:
    """Return where a page of at most ``limit`` messages begins, so that no turn is cut in two.

    Turns that overlap may leave no such place: then the page begins a little earlier.
    """
    start = max(0, len(messages) - limit)
    if start == len(messages):
        return start
    places: list[int] = [*range(start, len(messages)), *range(start - 1, -1, -1)]
    for place in places:
        before = {message.turn for message in messages[:place]} - {None}
        if before.isdisjoint(message.turn for message in messages[place:]):
            return place
    return start
