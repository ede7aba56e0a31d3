"""Taking the turns of a conversation: asked, sent, stopped, gone on with."""

from __future__ import annotations

import collections.abc as cabc
import logging
import typing as t

import msgspec

from .asking import NO_QUESTION
from .asking import resumed_turn
from .asking import stored_turn
from .asking import unstored_turn
from .errors import ConfigurationError
from .errors import RequestRefused
from .errors import StorageError
from .events import log_event
from .knowledge.known import Known
from .location import Located
from .location import Location
from .message import ChatMessage
from .plugins.records import Scope
from .provider import Provider
from .provider import run
from .question import acted
from .question import NOT_TOLD
from .question import Question
from .question import read_question
from .question import ShownThread
from .question import wants_temporary
from .response import NOT_STORED_NOTICE
from .response import TEMPORARY_NOTICE
from .running import find_question
from .running import stop_turns
from .settings import Settings
from .signals import storage_unavailable
from .signals import turn_started
from .summarising import Summarising
from .titles import Titles
from .turn import Turn
from .unfinished import watch

if t.TYPE_CHECKING:
    from .conversation import Conversation

logger = logging.getLogger(__name__)

BeforeTurn = cabc.Callable[["Conversation"], str | None]
"""Looks at a turn that is about to begin; returns None, or a sentence that refuses it."""
UNAVAILABLE = "The conversation cannot be stored just now. Please try again later."


class OwnTurns(Located):
    """The turns that an owner takes with a chatbot."""

    _settings: Settings
    _provider: Provider | None
    _titles: Titles
    _summarising: Summarising | None
    _known: Known | None
    _in_request: bool
    _admission: cabc.Sequence[BeforeTurn]
    _taken: list[tuple[str, str]]
    """Thread and id of each turn that was taken here."""

    def turn(self, question: str | ChatMessage | cabc.Mapping[str, t.Any] | None, *, by: str | None = None) -> Turn:
        """Take a question: store it, and return the turn that waits for the answer.

        :param question: a text, a user message, or the body that the page posted.
        :param by: who acts, if it is not the owner; kept as ``by`` in the metadata of the question.
        :raises RequestRefused: 400 and 413 for what is no question, 403 if the chatbot is switched off, keeps no
            temporary conversations, or refuses the turn, 409 for the repeat of a question that is still being
            answered, 503 if nothing can be stored.
        """
        temporary = wants_temporary(question) and self.mode == "server"
        asked = read_question(question, self._settings.max_message_chars, "client" if temporary else self.mode)
        return self._take(asked, by, temporary)

    def _take(self, asked: Question, by: str | None, temporary: bool = False, location: Location | None = None) -> Turn:
        """Take a question that has been read.

        :param location: of the thread, if it was found already.
        """
        if by is not None:
            asked = msgspec.structs.replace(asked, message=acted(asked.message, by))
        self._admit(temporary)
        turn = self._unstored(asked, TEMPORARY_NOTICE) if temporary else self._stored(asked, location)
        if not turn.repeated:
            if turn.thread_id is not None:
                self._taken.append((turn.thread_id, turn.id))
            self._announce(
                turn_started, owner=turn.owner, chatbot=self.chatbot, thread_id=turn.thread_id, turn_id=turn.id
            )
        return turn

    def _admit(self, temporary: bool = False) -> None:
        """Refuse a turn before anything of it is stored.

        :raises RequestRefused: 403.
        """
        if not self._chatbot.enabled:
            raise RequestRefused(403, "This chatbot is switched off.")
        if temporary and not self._chatbot.temporary:
            raise RequestRefused(403, "This chatbot has no temporary conversations.")
        for function in self._admission:
            refusal = function(t.cast("Conversation", self))
            if refusal is not None:
                raise RequestRefused(403, refusal)

    def _stored(self, asked: Question, location: Location | None) -> Turn:
        if self._plugin is None:
            return self._unstored(asked)
        scope = Scope(self._visitor.claim(), self.chatbot)
        location = location or Location(self._plugin, scope, self._visitor, self._announce, asked.thread_id)
        try:
            turn = stored_turn(
                self._chatbot, self._visitor, location, asked, self._titles, self._summarising, self._told(scope.owner)
            )
        except StorageError as error:
            self._announce(storage_unavailable, owner=scope.owner, chatbot=self.chatbot)
            if self._settings.on_unavailable == "answer":
                log_event(logger, logging.ERROR, "a turn goes on without its conversation", error, chatbot=self.chatbot)
                return self._unstored(asked, NOT_STORED_NOTICE)
            if not self._in_request:
                raise
            log_event(logger, logging.ERROR, "a turn was refused", error, chatbot=self.chatbot)
            raise RequestRefused(503, UNAVAILABLE) from error
        if self._in_request:
            watch(turn)
        return turn

    def _unstored(self, asked: Question, notice: str | None = None) -> Turn:
        # A temporary conversation neither adds to what is known of the owner nor looks at it.
        knowledge = self._told(None if notice == TEMPORARY_NOTICE else self._visitor.owner)
        return unstored_turn(self._chatbot, self._visitor, asked, self._announce, knowledge, notice)

    def _told(self, owner: str | None) -> str | None:
        """Return what the model is told of the site and of an owner."""
        return self._known.block(owner) if self._known else None

    def send(self, question: str | ChatMessage, *, by: str | None = None) -> ChatMessage:
        """Ask the chatbot's provider and return its answer, which is stored.

        :param by: who acts, as for :meth:`turn`.
        :raises ConfigurationError: if the chatbot has no provider.
        """
        provider = self.require_provider()
        turn = self.turn(question, by=by)
        for _ in turn.stream(run(provider, turn)):
            pass
        return t.cast(ChatMessage, turn.answer)

    @property
    def has_provider(self) -> bool:
        """Whether the chatbot has a function that calls its model."""
        return self._provider is not None

    def require_provider(self) -> Provider:
        """Return the function that calls the chatbot's model.

        :raises ConfigurationError: if there is none.
        """
        if self._provider is None:
            raise ConfigurationError(
                f"chatbot {self.chatbot!r} has no provider; register one with @memory.provider({self.chatbot!r})"
            )
        return self._provider

    def stop(
        self,
        thread_id: ShownThread = NOT_TOLD,
        turn: str | None = None,
        *,
        question_id: str | None = None,
        key: str | None = None,
    ) -> bool:
        """Stop a turn that is being answered, in whatever process; what came of the answer is kept as ``stopped``.

        It ends within a second, or two while its provider is silent.

        :param thread_id: the thread that the page shows.
        :param turn: its id; or name the turn by ``question_id``, or by the ``key`` with which the question was sent.
            Without any, all turns of the thread stop.
        :return: whether there is one.
        """
        location = self._location(thread_id)
        return location is not None and stop_turns(location, turn, question_id, key)

    def resume(self, question_id: str, thread_id: ShownThread = NOT_TOLD) -> Turn:
        """Return the turn of a question that was asked before: its ``response`` goes on to the end of the answer.

        :raises RequestRefused: 404 if there is no such question among the newest messages.
        """
        location = self._location(thread_id)
        found = find_question(location, question_id) if location else None
        if found is None:
            raise RequestRefused(404, NO_QUESTION)
        return resumed_turn(self._chatbot, *found)
