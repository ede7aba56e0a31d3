"""Searching by reading, where no folded text is kept beside the messages."""

from __future__ import annotations

import collections.abc as cabc
import logging
import typing as t

from ..errors import CorruptRecord
from ..events import log_event
from ..message import ChatMessage
from ..values import clean
from .folding import fold
from .folding import searched_text
from .records import Found
from .records import Position
from .records import Scope
from .records import Search
from .records import Thread
from .rules import check_range
from .rules import sequence_of

CHUNK = 200
"""Threads, and messages of a thread, that are read at once."""

logger = logging.getLogger(__name__)


class Readable(t.Protocol):
    """What of a plugin is read: the visible messages of the threads that it lists."""

    def list_threads(
        self, scope: Scope, *, limit: int | None = None, before: Position | None = None
    ) -> list[Thread]: ...

    def load_messages(
        self, scope: Scope, thread_id: str, *, limit: int | None = None, before: int | None = None
    ) -> list[ChatMessage]: ...


def search_by_reading(plugin: Readable, scope: Scope, text: str, limit: int | None, most: int | None = None) -> Search:
    """Do what :meth:`SearchesMessages.search_messages` does, with bounded memory besides what is found.

    A thread that cannot be read is logged and passed over; the search is not complete then.

    :param most: stop after so many messages have been read.
    """
    check_range(limit, None, None)
    wanted = fold(clean(text))
    found: list[Found] = []
    read, complete = 0, True
    if not wanted or limit == 0:
        return Search()
    for thread in _threads_of(plugin, scope):
        try:
            for message in _newest_first(plugin, scope, thread.id):
                if read == most:
                    return Search(found, complete=False)
                read += 1
                if wanted in (searched_text(message) or ""):
                    found.append(Found(thread.id, message))
                    if len(found) == limit:
                        return Search(found, complete)
        except CorruptRecord as error:
            log_event(
                logger,
                logging.ERROR,
                "a thread is searched only in part",
                error,
                thread_id=thread.id,
            )
            complete = False
    return Search(found, complete)


def _threads_of(plugin: Readable, scope: Scope) -> cabc.Iterator[Thread]:
    place: Position | None = None
    while threads := plugin.list_threads(scope, limit=CHUNK, before=place):
        yield from threads
        place = threads[-1].position


def _newest_first(plugin: Readable, scope: Scope, thread_id: str) -> cabc.Iterator[ChatMessage]:
    before: int | None = None
    while messages := plugin.load_messages(scope, thread_id, limit=CHUNK, before=before):
        yield from reversed(messages)
        before = sequence_of(messages[0])
