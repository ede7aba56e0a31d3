"""The answer of a turn that is being answered elsewhere, perhaps by another process."""

from __future__ import annotations

import collections.abc as cabc
import threading
import typing as t

from .live import INTERVAL
from .live import settle
from .message import ChatMessage
from .place import Place
from .plugins.abilities import KeepsLiveTurns
from .plugins.records import LiveTurn
from .plugins.rules import sequence_of

_PAGE = 100


class Following:
    """The pieces of an answer, read from the live record until the answer is stored.

    Where nothing has come since, a piece is empty, so that a reader who has left is noticed.

    :param question: as it is stored.
    :ivar answer: how it ended; not before the last piece.
    """

    answer: ChatMessage | None = None

    def __init__(self, place: Place, question: ChatMessage, interval: float = INTERVAL) -> None:
        self._place = place
        self._question = question
        self._interval = interval

    def __iter__(self) -> cabc.Iterator[str]:
        text, pause = "", threading.Event()
        while (live := self._live()) is not None:
            yield live.text[len(text) :]
            text = max(text, live.text, key=len)
            pause.wait(self._interval)
        place, question = self._place, self._question
        settle(place, [question])
        answer = answer_to(place, question)
        # Without one the thread was emptied or deleted.
        self.answer = answer or ChatMessage("assistant", text or None, turn=question.turn, status="partial")
        yield self.answer.text[len(text) :]

    @property
    def answer_id(self) -> str | None:
        """The id that the answer will have; None if the turn is over."""
        live = self._live()
        return live.answer_id if live else None

    def _live(self) -> LiveTurn | None:
        plugin = t.cast(KeepsLiveTurns, self._place.plugin)
        found = plugin.live_turns(self._place.scope, self._place.thread_id)
        now = self._place.plugin.clock()
        return next((live for live in found if live.turn == self._question.turn and live.lease > now), None)


def answer_to(place: Place, question: ChatMessage) -> ChatMessage | None:
    """Return the stored answer to a question, if there is one."""
    after = sequence_of(question)
    while True:
        page = place.load(after=after, limit=_PAGE)
        for message in page:
            if message.turn == question.turn and message.role == "assistant" and message.status is not None:
                return message
        if len(page) < _PAGE:
            return None
        after = sequence_of(page[-1])
