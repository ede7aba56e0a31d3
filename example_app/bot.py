"""A support bot that needs no model and no network."""

from __future__ import annotations

import collections.abc as cabc
import re
import time

from flask_chat_memory import Turn

from . import memories
from .recollection import introduction
from .recollection import recollect
from .search import Knowledge
from .search import Section

_PIECE = re.compile(r"\S+\s*|\s+")
_GREETING = re.compile(r"\W*(hi|hello|hey|good (morning|afternoon|evening))( there)?\W*", re.IGNORECASE)
_THANKS = re.compile(r"\W*(ok|okay|great|thanks|thank you|many thanks)( very much| a lot)?\W*", re.IGNORECASE)


class Bot:
    """Answers from the help pages and from the conversation.

    :param delay: seconds before each word, so that one can watch an answer arrive.
    """

    def __init__(self, knowledge: Knowledge, delay: float = 0) -> None:
        self._knowledge = knowledge
        self._delay = delay

    def answer(self, turn: Turn) -> cabc.Iterator[str]:
        """Yield the answer word by word."""
        earlier = [message.text for message in turn.history if message.role == "user"]
        for piece in _PIECE.findall(memories.reply(turn) or self.reply(turn.text, earlier)):
            time.sleep(self._delay)
            yield piece

    def reply(self, question: str, earlier: cabc.Sequence[str] = ()) -> str:
        """Return the answer to a question.

        :param earlier: what the visitor said before, oldest first.
        """
        told = introduction(question)
        if told is not None:
            name, rest = told
            return "\n\n".join([f"Nice to meet you, {name}. I will remember your name.", *self._look_up(rest)])
        remembered = recollect(question, earlier)
        if remembered is not None:
            return remembered
        if _GREETING.fullmatch(question):
            return "Hello! What can I do for you?"
        if _THANKS.fullmatch(question):
            return "You are welcome. Is there anything else?"
        return "\n\n".join(self._look_up(question)) or self._unknown()

    def _look_up(self, question: str) -> cabc.Iterator[str]:
        """Yield the paragraphs of an answer, none if the help pages have none."""
        found = self._knowledge.search(question, limit=3)
        if found:
            best, *others = found
            yield f"**{best.title}**"
            yield best.text
        if found and others:
            yield f"See also: {', '.join(map(_reference, others))}."

    def _unknown(self) -> str:
        pages = ", ".join(self._knowledge.pages)
        return f"I don't know. I looked in our help pages, which are about: {pages}. Could you ask in other words?"


def _reference(section: Section) -> str:
    return f"*{section.title}* ({section.page})"
