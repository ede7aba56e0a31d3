"""Taking a question: it is stored, and becomes a turn that waits for its answer."""

from __future__ import annotations

import collections.abc as cabc
import logging
import time
import typing as t

from .errors import RequestRefused
from .errors import StorageError
from .events import log_event
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
from .plugins.abilities import DescribesThreads
from .plugins.abilities import KeepsLiveTurns
from .plugins.records import Appended
from .plugins.records import LiveTurn
from .plugins.rules import new_id
from .plugins.rules import sequence_of
from .question import Question
from .repeat import earlier_exchange
from .settings import ChatbotSettings
from .short_term.base import Prompt
from .short_term.chain import apply_chain
from .short_term.estimate import told
from .short_term.history import History
from .short_term.history import Source
from .short_term.summary import Summary
from .signals import Announce
from .signals import thread_created
from .summaries import Summaries
from .summarising import Summarising
from .titles import Titles
from .turn import Turn
from .visitor import Visitor

logger = logging.getLogger(__name__)

NO_QUESTION = "There is no such question."


def unstored_turn(
    chatbot: ChatbotSettings,
    visitor: Visitor,
    asked: Question,
    announce: Announce,
    knowledge: str | None,
    notice: str | None,
) -> Turn:
    """Return a turn of which the server keeps nothing.

    :param knowledge: what the model is told of the site and of the owner.
    :param notice: why, where the chatbot stores its turns.
    """
    question = asked.message.replace(id=new_id())
    prompt = Prompt(question, chatbot.system_prompt, knowledge)
    view = apply_chain(chatbot.short_term, History.of(asked.history), prompt)
    return Turn(
        id=new_id(),
        chatbot=chatbot.name,
        question=question,
        answer_id=new_id(),
        history=view.messages,
        budget=view.budget,
        summary=view.summary,
        system=chatbot.system_prompt,
        knowledge=knowledge,
        owner=visitor.owner,
        notice=notice,
        clock=time.time,
        announce=announce,
    )


def stored_turn(
    chatbot: ChatbotSettings,
    visitor: Visitor,
    location: Location,
    asked: Question,
    titles: Titles,
    summarising: Summarising | None,
    knowledge: str | None,
) -> Turn:
    """Store the question and return its turn; a repeat stores nothing and gets the answer that there is.

    :param titles: for a thread that begins with the question.
    :param summarising: of the thread; None where there is no place for summaries.
    :param knowledge: what the model is told of the site and of the owner.
    :raises RequestRefused: 404 if the question in whose place it is asked is gone, 409 for a repeat that cannot be
        answered now.
    :raises StorageError: if the store fails.
    """
    plugin, scope = location.plugin, location.scope
    question = asked.message.replace(id=new_id(), turn=new_id(), created_at=timestamp(plugin.clock()))
    source = Stored(location, asked.replaces, asked.kept, summarising.summaries if summarising else None)
    view = apply_chain(chatbot.short_term, History(source), Prompt(question, chatbot.system_prompt, knowledge))
    history = view.messages
    if location.place is not None:
        settle(location.place, history)
    question = told(question, view.budget)
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
        budget=view.budget,
        summary=view.summary,
        system=chatbot.system_prompt,
        knowledge=knowledge,
        owner=scope.owner,
        place=place,
        on_disconnect=chatbot.on_disconnect,
        clock=plugin.clock,
        announce=location.announce,
    )
    if appended.sequence == 1:
        titles.give(turn, place)
    if summarising is not None:
        summarising.follow(turn, place, begins=appended.sequence == 1)
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


class Stored(Source):
    """The messages of a thread that are seen.

    :param before: the sequence of a question; what comes after it is not seen.
    :param kept: messages that come after it and are seen all the same.
    :param summaries: None where there is no place for them.
    """

    def __init__(
        self,
        location: Location,
        before: int | None = None,
        kept: cabc.Sequence[ChatMessage] = (),
        summaries: Summaries | None = None,
    ) -> None:
        self._location = location
        self._before = before
        self._kept = kept
        self._summaries = summaries

    def newest(self, limit: int, newer: cabc.Sequence[ChatMessage]) -> list[ChatMessage]:
        end = sequence_of(newer[0]) if newer else None
        if self._before is None:
            return self._location.newest(limit) if end is None else self._location.load(limit, end)
        kept = [message for message in self._kept if end is None or sequence_of(message) < end]
        before = self._before if end is None else min(end, self._before)
        messages = [*self._location.load(limit, before), *kept]
        return messages[max(0, len(messages) - limit) :]

    def oldest(self, limit: int, older: cabc.Sequence[ChatMessage]) -> list[ChatMessage]:
        return self.after(sequence_of(older[-1]) if older else 0, limit)

    def after(self, sequence: int, limit: int | None) -> list[ChatMessage]:
        found = self._location.load(limit, after=sequence)
        if self._before is None:
            return found
        late = {message.id for message in self._kept}
        return [message for message in found if sequence_of(message) < self._before or message.id in late]

    def count(self) -> int:
        plugin, thread_id = self._location.plugin, self._location.thread_id
        if thread_id is None:
            return 0
        if not isinstance(plugin, DescribesThreads):
            return len(plugin.load_messages(self._location.scope, thread_id))
        thread = plugin.find_thread(self._location.scope, thread_id)
        return thread.messages if thread else 0

    def summary(self, newer: cabc.Sequence[ChatMessage]) -> Summary | None:
        place = self._location.place
        if place is None or self._summaries is None:
            return None
        try:
            return self._summaries.holding(place, newer, self._before)
        except StorageError as error:
            log_event(
                logger,
                logging.ERROR,
                "a turn goes on without the summary of its thread",
                error,
                thread_id=place.thread_id,
            )
            return None


def _append(location: Location, question: ChatMessage, answer_id: str, asked: Question, title: str | None) -> Appended:
    plugin = location.plugin
    thread_id = location.write_id(asked.key)
    key = f"question:{asked.key or new_id()}"
    if not isinstance(plugin, KeepsLiveTurns):
        return t.cast(Appended, plugin.append_messages(location.scope, thread_id, [question], key=key))
    live = LiveTurn(t.cast(str, question.turn), t.cast(str, question.id), answer_id, plugin.clock() + LEASE)
    return plugin.start_turn(
        location.scope,
        thread_id,
        question,
        key=key,
        live=live,
        title=title,
        replaces=asked.replaces,
        kept=[sequence_of(message) for message in asked.kept],
    )
