"""Taking a question: it is stored, and becomes a turn that waits for its answer."""

from __future__ import annotations

import collections.abc as cabc
import time
import typing as t

from .config import ChatbotSettings
from .errors import RequestRefused
from .following import answer_to
from .following import Following
from .live import INTERVAL
from .live import LEASE
from .live import OFTEN
from .live import settle
from .location import Location
from .message import ChatMessage
from .message import timestamp
from .place import Place
from .plugins.abilities import KeepsLiveTurns
from .plugins.records import Appended
from .plugins.records import LiveTurn
from .plugins.rules import new_id
from .question import Question
from .repeat import earlier_exchange
from .short_term.chain import apply_chain
from .short_term.history import History
from .signals import Announce
from .signals import thread_created
from .titles import Titles
from .turn import Turn
from .visitor import Visitor

NO_QUESTION = "There is no such question."


def unstored_turn(
    chatbot: ChatbotSettings, visitor: Visitor, asked: Question, announce: Announce, notice: str | None = None
) -> Turn:
    """Return a turn of which the server keeps nothing.

    :param notice: why, where the chatbot stores its turns.
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
        clock=time.time,
        announce=announce,
    )


def stored_turn(
    chatbot: ChatbotSettings, visitor: Visitor, location: Location, asked: Question, titles: Titles
) -> Turn:
    """Store the question and return its turn; a repeat stores nothing and gets the answer that there is.

    :param titles: for a thread that begins with the question.
    :raises RequestRefused: 404 if the question in whose place it is asked is gone, 409 for a repeat that cannot be
        answered now.
    :raises StorageError: if the store fails.
    """
    plugin, scope = location.plugin, location.scope
    history = _history(chatbot, location, asked.replaces)
    if location.place is not None:
        settle(location.place, history)
    question = asked.message.replace(id=new_id(), turn=new_id(), created_at=timestamp(plugin.clock()))
    answer_id = new_id()
    appended = _append(location, question, answer_id, asked, titles.of(question.text))
    if not appended.sequence:
        raise RequestRefused(404, NO_QUESTION)
    visitor.remember(appended.thread_id)
    place = location.at(appended.thread_id)
    if appended.repeated:
        return repeated_turn(chatbot, place, appended.sequence, question.text, history)
    if appended.sequence == 1:
        location.announce(thread_created, owner=scope.owner, chatbot=scope.chatbot, thread_id=appended.thread_id)
    turn = Turn(
        id=t.cast(str, question.turn),
        chatbot=chatbot.name,
        question=question,
        answer_id=answer_id,
        history=history,
        system=chatbot.system_prompt,
        owner=scope.owner,
        place=place,
        on_disconnect=chatbot.on_disconnect,
        clock=plugin.clock,
        announce=location.announce,
    )
    if appended.sequence == 1:
        titles.give(turn, place)
    return turn


def repeated_turn(
    chatbot: ChatbotSettings, place: Place, sequence: int, text: str, history: cabc.Sequence[ChatMessage] = ()
) -> Turn:
    """Return the turn of a question that is sent again, with its answer or to follow it.

    :param sequence: of the question that was stored.
    :param text: what is asked now.
    :raises RequestRefused: 409 if it cannot be answered now.
    """
    question, answer = earlier_exchange(place, sequence, text)
    return _earlier_turn(chatbot, place, question, answer, list(history))


def resumed_turn(chatbot: ChatbotSettings, place: Place, question: ChatMessage) -> Turn:
    """Return the turn of a question that was stored before, with its answer or to follow it."""
    settle(place, [question])
    return _earlier_turn(chatbot, place, question, answer_to(place, question), [])


def _earlier_turn(
    chatbot: ChatbotSettings,
    place: Place,
    question: ChatMessage,
    answer: ChatMessage | None,
    history: list[ChatMessage],
) -> Turn:
    following = None
    if answer is None:
        often = OFTEN if chatbot.on_disconnect == "finish" else 1
        following = Following(place, question, INTERVAL / often)
    return Turn(
        id=t.cast(str, question.turn),
        chatbot=chatbot.name,
        question=question,
        answer_id=(answer.id if answer else following and following.answer_id) or new_id(),
        history=history,
        system=chatbot.system_prompt,
        owner=place.scope.owner,
        place=place,
        answer=answer,
        following=following,
        clock=place.plugin.clock,
    )


def _history(chatbot: ChatbotSettings, location: Location, before: int | None) -> list[ChatMessage]:
    """Return what the model sees of the thread.

    :param before: the sequence of a question; what comes after it is not seen.
    """

    def load(limit: int) -> list[ChatMessage]:
        return location.newest(limit) if before is None else location.load(limit, before)

    return apply_chain(chatbot.short_term, History(load))


def _append(location: Location, question: ChatMessage, answer_id: str, asked: Question, title: str | None) -> Appended:
    plugin = location.plugin
    thread_id = location.write_id(asked.key)
    key = f"question:{asked.key or new_id()}"
    if not isinstance(plugin, KeepsLiveTurns):
        return t.cast(Appended, plugin.append_messages(location.scope, thread_id, [question], key=key))
    live = LiveTurn(t.cast(str, question.turn), t.cast(str, question.id), answer_id, plugin.clock() + LEASE)
    return plugin.start_turn(
        location.scope, thread_id, question, key=key, live=live, title=title, replaces=asked.replaces
    )
