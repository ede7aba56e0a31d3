"""Titles that nobody chose: made of the question that begins a thread, or by a function of the site."""

from __future__ import annotations

import collections.abc as cabc
import functools
import logging
import threading
import typing as t

import msgspec

from .errors import StorageError
from .events import log_event
from .place import Place
from .plugins.abilities import DescribesThreads
from .plugins.abilities import KeepsLiveTurns
from .plugins.rules import MAX_TITLE
from .turn import Turn

logger = logging.getLogger(__name__)

LENGTH = 60
"""Characters of a title that is made of a question."""

TitleFunction = cabc.Callable[[Turn], "str | None | cabc.Awaitable[str | None]"]
"""Takes the first turn of a thread, answered; returns a title, or None to leave the one that there is."""
MakeTitle = cabc.Callable[[Turn], "str | None"]


class Titles(msgspec.Struct, frozen=True):
    """Where the title of a new thread comes from.

    :param title: what the caller wants.
    :param make: else the site's function, for which the question stands in until the answer is there.
    """

    title: str | None = None
    make: MakeTitle | None = None

    def of(self, question: str) -> str | None:
        """Return the title of a thread that a question begins; None if nothing in it makes one."""
        return self.title or shortened(question)

    def give(self, turn: Turn, place: Place) -> None:
        """Do what is left to do for the title of a thread that a turn has begun."""
        plugin = place.plugin
        if not isinstance(plugin, DescribesThreads):
            return
        if self.make is not None and self.title is None:
            turn.afterwards.append(functools.partial(_make_later, self.make, place))
        title = self.of(turn.text)
        if title is None or isinstance(plugin, KeepsLiveTurns):
            # It came with the question.
            return
        try:
            plugin.update_thread(place.scope, place.thread_id, title=title)
        except StorageError as error:
            log_event(logger, logging.ERROR, "the title of a thread was not stored", error, thread_id=place.thread_id)


def shortened(text: str, longest: int = LENGTH) -> str | None:
    """Return text as one line of at most ``longest`` characters, cut between words; None if nothing is left."""
    line = " ".join(text.replace("\ufffd", " ").split())
    if len(line) <= longest:
        return line or None
    head = line[: longest - 1]
    # A script without spaces, or a word without end, is cut where it is.
    start = head.rfind(" ", longest // 2) if line[longest - 1] != " " else -1
    return head[: start if start > 0 else None].rstrip() + "…"


def _make_later(make: MakeTitle, place: Place, turn: Turn) -> None:
    """Ask for a title in a thread of its own, so that no answer waits for it."""
    if turn.answer is None or not turn.answer.text or turn.answer.status == "failed":
        return
    try:
        threading.Thread(target=_replace_title, args=(make, place, turn), name=f"title of turn {turn.id}").start()
    except RuntimeError as error:
        log_event(
            logger,
            logging.ERROR,
            "a thread has no title of its own, for the process is ending",
            error,
            thread_id=place.thread_id,
        )


def _replace_title(make: MakeTitle, place: Place, turn: Turn) -> None:
    plugin = t.cast(DescribesThreads, place.plugin)
    try:
        made = make(turn)
        title = None if made is None else shortened(made, MAX_TITLE)
        if title is None:
            return
        thread = plugin.find_thread(place.scope, place.thread_id)
        # A title that a person has given in the meantime stays.
        if thread is not None and thread.title == shortened(turn.text):
            plugin.update_thread(place.scope, place.thread_id, title=title)
    except Exception as error:
        log_event(
            logger,
            logging.ERROR,
            "the title function of a chatbot failed",
            error,
            chatbot=turn.chatbot,
            thread_id=place.thread_id,
        )
