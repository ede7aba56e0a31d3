"""Taking a question: it is stored, and becomes a turn that waits for its answer."""

from __future__ import annotations

import typing as t

from .config import ChatbotSettings
from .errors import RequestRefused
from .live import LEASE
from .live import settle
from .live import timestamp
from .location import Location
from .location import Visitor
from .message import ChatMessage
from .plugins.base import Appended
from .plugins.base import KeepsLiveTurns
from .plugins.base import LiveTurn
from .question import Question
from .repeat import answer_to
from .repeat import first_asked
from .short_term.chain import apply_chain
from .short_term.history import History
from .turn import new_id
from .turn import Place
from .turn import Turn


def unstored_turn(chatbot: ChatbotSettings, visitor: Visitor, asked: Question, notice: str | None = None) -> Turn:
    """Return a turn of which the server keeps nothing.

    :param notice: why, if it should be stored.
    """
    return Turn(
        id=new_id(),
        chatbot=chatbot.name,
        question=asked.message.replace(id=new_id()),
        answer_id=new_id(),
        history=apply_chain(chatbot.short_term, History.of(asked.history)),
        system=chatbot.system_prompt,
        owner=visitor.owner,
        notice=notice,
        now=timestamp,
    )


def stored_turn(chatbot: ChatbotSettings, visitor: Visitor, location: Location, asked: Question) -> Turn:
    """Store the question and return its turn; a repeat stores nothing and gets the answer that there is.

    :raises RequestRefused: 409 for a repeat that cannot be answered now.
    :raises StorageError: if the store fails.
    """
    plugin = location.plugin
    history = apply_chain(chatbot.short_term, History(location.newest))
    if location.thread_id is not None:
        settle(plugin, location.scope, location.thread_id, history)
    question = asked.message.replace(id=new_id(), turn=new_id(), created_at=timestamp(plugin))
    answer_id = new_id()
    appended = _append(location, question, answer_id, asked.key)
    visitor.remember(appended.thread_id)
    place = Place(plugin, location.scope, appended.thread_id)
    answer = None
    if appended.repeated:
        question, answer = _first_time(place, appended, question.text)
        answer_id = t.cast(str, answer.id)
    return Turn(
        id=t.cast(str, question.turn),
        chatbot=chatbot.name,
        question=question,
        answer_id=answer_id,
        history=history,
        system=chatbot.system_prompt,
        owner=location.scope.owner,
        place=place,
        answer=answer,
        now=lambda: timestamp(plugin),
    )


def _append(location: Location, question: ChatMessage, answer_id: str, client_key: str | None) -> Appended:
    plugin = location.plugin
    thread_id = location.write_id(client_key)
    key = f"question:{client_key or new_id()}"
    if not isinstance(plugin, KeepsLiveTurns):
        return t.cast(Appended, plugin.append_messages(location.scope, thread_id, [question], key=key))
    live = LiveTurn(t.cast(str, question.turn), t.cast(str, question.id), answer_id, plugin.clock() + LEASE)
    return plugin.start_turn(location.scope, thread_id, question, key=key, live=live)


def _first_time(place: Place, appended: Appended, text: str) -> tuple[ChatMessage, ChatMessage]:
    question = first_asked(place.plugin, place.scope, appended, text)
    settle(place.plugin, place.scope, place.thread_id, [question])
    answer = answer_to(place.plugin, place.scope, place.thread_id, question)
    if answer is None:
        raise RequestRefused(409, "This message is still being answered.")
    return question, answer
