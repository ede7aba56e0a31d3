"""One exchange: from the question to the stored answer."""

from __future__ import annotations

import collections.abc as cabc
import contextlib
import logging
import threading
import typing as t

import msgspec

from .answering import Answering
from .errors import InvalidMessage
from .errors import StorageError
from .events import log_event
from .following import Following
from .live import leases
from .message import ChatMessage
from .message import timestamp
from .place import Place
from .plugins.abilities import KeepsLiveTurns
from .plugins.base import Clock
from .plugins.counting import model_calls
from .plugins.records import Scope
from .plugins.rules import new_id
from .short_term.base import Prompt
from .short_term.budget import Budget
from .short_term.summary import Summary
from .short_term.system import system_message
from .short_term.view import acceptable
from .signals import Announce
from .signals import nobody
from .signals import storage_unavailable
from .signals import turn_finished
from .telemetry import active_in
from .telemetry import begin_turn
from .telemetry import end_turn
from .telemetry import fail_turn
from .usage import Usage

logger = logging.getLogger(__name__)


class Turn(Answering):
    """A question that waits for its answer.

    The question is stored. End the turn with :meth:`finish`, :meth:`fail`, :meth:`stream`, :meth:`response` or
    ``with turn:``; whichever comes first counts.

    :ivar id: the turn's id, which all its messages carry.
    :ivar question: the user message.
    :ivar answer: the assistant message once the turn is over, or at once when the question is a repeat.
    :ivar history: the messages before the question that the model sees.
    :ivar budget: how the context window of the model is used; None if no short-term memory has estimated it.
    :ivar summary: of what came before the history, with key facts; None if there is none.
    :ivar system: the system prompt.
    :ivar knowledge: what is known of the owner, as text for the model.
    :ivar chatbot: the name of the chatbot.
    :ivar answer_id: the id that the answer has, or will have.
    :ivar owner: whose conversation it is; None where nothing is stored on the server.
    :ivar usage: what a streaming provider learned of the token usage; anything that :meth:`Usage.of` reads.
    :ivar model: the model that answered.
    :ivar repeated: the question was asked before, and no model needs to be called: ``answer`` is what was answered
        then, or None while that is going on; then :meth:`stream` and :meth:`response` follow it.
    :ivar recorded: the tool calls and results so far.
    :ivar afterwards: are called once when the answer is stored.
    :ivar notice: why nothing is stored: ``not-stored`` if the store was down and the turn goes on without it,
        ``temporary`` if the visitor wanted it so.
    """

    def __init__(
        self,
        *,
        id: str,
        chatbot: str,
        question: ChatMessage,
        answer_id: str,
        history: list[ChatMessage],
        system: str | None,
        owner: str | None,
        knowledge: str | None = None,
        budget: Budget | None = None,
        summary: Summary | None = None,
        place: Place | None = None,
        answer: ChatMessage | None = None,
        following: Following | None = None,
        on_disconnect: t.Literal["stop", "finish"] = "stop",
        notice: str | None = None,
        clock: Clock,
        announce: Announce = nobody,
    ) -> None:
        self.id = id
        self.chatbot = chatbot
        self.question = question
        self.answer_id = answer_id
        self.history = history
        self.knowledge = knowledge
        self.budget = budget
        self.summary = summary
        self.system = system
        self.owner = owner
        self.answer = answer
        self.repeated = answer is not None or following is not None
        self.notice = notice
        self.usage: object = None
        self.model: str | None = None
        self._place = place
        self._following = following
        self._finishes = on_disconnect == "finish" and place is not None
        self._clock = clock
        self._announce = announce
        self._begun_at = clock()
        self.recorded: list[ChatMessage] = []
        self._texts: list[str] = []
        self._stored = self.repeated
        self.begun = False
        self.afterwards: list[cabc.Callable[[Turn], None]] = []
        self.stopping = False
        self._ending = threading.Lock()
        self._failure: str | None = None
        self._span = None if self.repeated else begin_turn(chatbot, self.thread_id, id)
        if self.lease and not self.repeated:
            leases.hold(self)

    @property
    def text(self) -> str:
        """The text of the question."""
        return self.question.text

    @property
    def thread_id(self) -> str | None:
        """The thread that the question is stored in; None where nothing is stored on the server."""
        return self._place.thread_id if self._place else None

    @property
    def messages(self) -> list[dict[str, t.Any]]:
        """What to send to the model: dicts of the OpenAI kind, the question last.

        The first is the one system message: the system prompt, what the site has stored as ``system`` in the history,
        what is known of the owner, summary and key facts.
        """
        system = system_message(Prompt(self.question, self.system, self.knowledge, self.summary), self.history)
        seen = acceptable([*self.history, self.question])
        first = [] if system is None else [{"role": "system", "content": system}]
        return first + [message.to_openai() for message in seen]

    @property
    def failed_before(self) -> bool:
        """The question is a repeat of one whose turn failed."""
        return self.repeated and self.answer is not None and self.answer.status == "failed"

    @property
    def lease(self) -> tuple[KeepsLiveTurns, Scope, str, str] | None:
        """What names the turn's live record: the plugin, the scope, the thread id and the turn id."""
        if self._place is None or not isinstance(self._place.plugin, KeepsLiveTurns):
            return None
        return self._place.plugin, self._place.scope, self._place.thread_id, self.id

    def record(self, message: ChatMessage) -> None:
        """Keep a tool call or its result, to be stored with the answer.

        :raises InvalidMessage: for a message that is not of the assistant or a tool.
        """
        if message.role not in ("assistant", "tool"):
            raise InvalidMessage("role", f"is {message.role}; a turn records assistant and tool messages")
        # Only an answer has a status: it is what a repeat looks for.
        kept = {name: value for name, value in message.to_dict().items() if name != "status"}
        self.recorded.append(self._stamped(ChatMessage.from_dict(kept), new_id()))

    @property
    def text_so_far(self) -> str:
        """The answer as far as it has come in pieces."""
        return "".join(self._texts)

    @property
    def is_followed(self) -> bool:
        """Whether a reload is likely to go on reading the answer."""
        return self._finishes

    def active(self) -> contextlib.AbstractContextManager[object]:
        """Let what is traced in the block be part of the turn."""
        return active_in(self._span)

    def begin(self, texts: list[str]) -> None:
        """Note that pieces of the answer are on their way: from now on, whoever passes them on ends the turn.

        :param texts: grows with each piece.
        """
        self._texts = texts
        self.begun = True

    def stop(self) -> None:
        """Want the turn to end as stopped: at its next piece; or now, if that has not come since this was last called.

        Only whoever passes the pieces on can close the source, and may be waiting for a provider that is silent.
        """
        if self.stopping:
            self._end(self.text_so_far, "stopped")
        self.stopping = True

    def finish(self, text: str, usage: object = None, model: str | None = None) -> ChatMessage:
        """Store the complete answer and return it.

        If the thread is gone, nothing is stored.

        :raises StorageError: if the store fails, or if the turn was taken for dead in the meantime.
        """
        self.usage = usage if usage is not None else self.usage
        self.model = model if model is not None else self.model
        return self._end(text, "complete")

    def fail(self, error: BaseException | str, text: str = "") -> ChatMessage:
        """Store that the turn failed, with the text that came before; the error itself is logged, never stored."""
        cause = error if isinstance(error, BaseException) else RuntimeError(error)
        where = {"chatbot": self.chatbot, "thread_id": self.thread_id, "turn_id": self.id}
        log_event(logger, logging.ERROR, "a turn failed", cause, **where)
        self._failure = type(cause).__name__
        return self._end(text, "failed")

    def leave(self, text: str = "") -> ChatMessage:
        """Store what there is of the answer, because its reader has left or wants no more of it."""
        return self._end(text, "stopped" if self.stopping else "partial")

    def _end(self, text: str, status: str) -> ChatMessage:
        with self._ending, self.active():
            if self.answer is None:
                self.answer = self._answered(text, status)
            if not self._stored:
                batch = [*self.recorded, self.answer]
                is_stored = self._place is not None and self._store(self._place, batch)
                self._stored = True
                self._tell_end(self.answer, is_stored)
                for call in self.afterwards if is_stored else ():
                    call(self)
            return self.answer

    def _store(self, place: Place, batch: list[ChatMessage]) -> bool:
        """Store the answer; tell whether its thread was still there."""
        try:
            appended = place.end(self.id, t.cast(str, self.question.id), batch)
        except StorageError as error:
            fail_turn(self._span, error)
            self._announce(storage_unavailable, owner=self.owner, chatbot=self.chatbot)
            raise
        finally:
            leases.release(self)
        # Also if it was somebody else who ended the turn.
        self._stored = True
        if appended is not None and appended.repeated and not place.holds(appended, batch):
            # A store that was down, or a clock that jumped, has let the lease run out.
            raise StorageError("the turn was taken for dead and ended before its answer came")
        return appended is not None

    def _tell_end(self, answer: ChatMessage, stored: bool) -> None:
        calls = [call.usage for call in model_calls([*self.recorded, answer]) if call.usage is not None]
        usage = Usage.sum(calls)
        end_turn(self._span, answer.status, answer.model, usage, stored, self._failure)
        self._announce(
            turn_finished,
            owner=self.owner,
            chatbot=self.chatbot,
            thread_id=self.thread_id,
            turn_id=self.id,
            status=answer.status,
            model=answer.model,
            usage=usage,
            seconds=self._clock() - self._begun_at,
            stored=stored,
        )

    def _answered(self, text: str, status: str) -> ChatMessage:
        # A stream that ran to its end may have come from a message, which holds more than text.
        reply = self._reply if self._reply and status == "complete" else ChatMessage("assistant", text or None)
        answer = self._stamped(reply, self.answer_id).replace(status=status)
        usage = Usage.of(self.usage) if self.usage is not None else reply.usage
        details = {"model": self.model or reply.model, "usage": usage and msgspec.to_builtins(usage)}
        try:
            return answer.replace(**{name: value for name, value in details.items() if value is not None})
        except InvalidMessage as error:
            # The text is worth more than what is said of it.
            log_event(logger, logging.WARNING, "an answer keeps neither model nor usage", error, turn_id=self.id)
            return answer

    def _stamped(self, message: ChatMessage, id: str) -> ChatMessage:
        return message.replace(id=id, turn=self.id, created_at=timestamp(self._clock()))
