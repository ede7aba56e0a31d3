"""One conversation of one owner with one chatbot."""

from __future__ import annotations

import collections.abc as cabc
import dataclasses
import logging
import typing as t

from .asking import resumed_turn
from .asking import stored_turn
from .asking import unstored_turn
from .config import ChatbotSettings
from .config import Settings
from .errors import ConfigurationError
from .errors import RequestRefused
from .errors import StorageError
from .live import settle
from .location import Location
from .message import ChatMessage
from .plugins.abilities import CurrentThread
from .plugins.base import ChatMemoryPlugin
from .plugins.counting import model_calls
from .plugins.records import Scope
from .plugins.rules import check_range
from .plugins.rules import sequence_of
from .provider import Provider
from .provider import run
from .question import acted
from .question import Mode
from .question import NOT_TOLD
from .question import Question
from .question import read_question
from .question import ShownThread
from .question import wants_temporary
from .response import NOT_STORED_NOTICE
from .response import TEMPORARY_NOTICE
from .running import find_question
from .running import stop_turns
from .short_term.view import by_turn
from .signals import Announce
from .signals import nobody
from .signals import storage_unavailable
from .signals import turn_started
from .threads import OwnThreads
from .titles import MakeTitle
from .titles import Titles
from .turn import Turn
from .unfinished import watch
from .usage import Usage
from .visitor import Visitor

logger = logging.getLogger(__name__)

BeforeTurn = cabc.Callable[["Conversation"], str | None]
"""Looks at a turn that is about to begin; returns None, or a sentence that refuses it."""
OVERLAP = 20
"""Messages that are read beyond a page, where turns that overlap may begin."""
UNAVAILABLE = "The conversation cannot be stored just now. Please try again later."


@dataclasses.dataclass(frozen=True)
class Page:
    """A page of history.

    :param messages: grouped by turn, turns in the order of their questions.
    :param running: ids of the turns that are being answered.
    :param cursor: older messages are before this sequence number; None if there are none.
    """

    thread_id: str | None = None
    messages: cabc.Sequence[ChatMessage] = ()
    running: frozenset[str] = frozenset()
    cursor: int | None = None


class Conversation(OwnThreads):
    """The exchange of one owner with one chatbot; works in a request, in a stream and in a worker.

    Making it writes nothing. Where nothing is kept on the server (``mode`` is not ``"server"``) the same calls store
    nothing and find nothing.

    :ivar chatbot: the name of the chatbot.
    """

    def __init__(
        self,
        *,
        settings: Settings,
        chatbot: ChatbotSettings,
        plugin: ChatMemoryPlugin | None,
        visitor: Visitor,
        provider: Provider | None,
        make_title: MakeTitle | None,
        title: str | None,
        in_request: bool,
        admission: cabc.Sequence[BeforeTurn] = (),
        announce: Announce = nobody,
    ) -> None:
        self.chatbot = chatbot.name
        self._settings = settings
        self._chatbot = chatbot
        self._plugin = plugin
        self._visitor = visitor
        self._provider = provider
        self._titles = Titles(title, make_title)
        self._in_request = in_request
        self._admission = admission
        self._announce = announce

    @property
    def mode(self) -> Mode:
        """Where the history is: on the server, in the browser (``client``), or nowhere (``none``)."""
        if not self._chatbot.history:
            return "none"
        return "client" if self._plugin is None else "server"

    @property
    def owner(self) -> str | None:
        """Whose conversation it is; None for a visitor for whom nothing was stored yet."""
        return self._visitor.owner

    @property
    def thread_id(self) -> str | None:
        """The id of the thread, or the one reserved for it; None if there is neither."""
        location = self._location()
        return location.announced_id if location else None

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
        if location.thread_id is None:
            return Page(location.announced_id)
        settled = settle(location.plugin, location.scope, location.thread_id, messages)
        if settled.ended:
            messages = self._read(location, limit, before)
        start = _page_start(messages, limit)
        cursor = sequence_of(messages[start - 1]) + 1 if start else None
        if cursor is None and len(messages) > limit + OVERLAP:
            # A turn that is longer than what was read: there may be older ones.
            cursor = sequence_of(messages[0])
        return Page(location.thread_id, by_turn(messages[start:]), settled.running, cursor)

    def usage(self) -> Usage:
        """Return what the turns of the thread have cost, as far as they are still kept; what was imported counts, too.

        Reads the whole thread. What the owner's turns have cost whatever became of their threads is told by
        :meth:`ChatMemory.usage`.
        """
        calls = model_calls(self.history())
        return Usage.sum(call.usage for call in calls if call.usage is not None)

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
        if by is not None:
            asked = dataclasses.replace(asked, message=acted(asked.message, by))
        self._admit(temporary)
        turn = self._taken(asked, temporary)
        if not turn.repeated:
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
            refusal = function(self)
            if refusal is not None:
                raise RequestRefused(403, refusal)

    def _taken(self, asked: Question, temporary: bool) -> Turn:
        if self._plugin is None or temporary:
            notice = TEMPORARY_NOTICE if temporary else None
            return unstored_turn(self._chatbot, self._visitor, asked, self._announce, notice)
        scope = Scope(self._visitor.claim(), self.chatbot)
        location = Location(self._plugin, scope, self._visitor, asked.thread_id)
        try:
            turn = stored_turn(self._chatbot, self._visitor, location, asked, self._titles, self._announce)
        except StorageError as error:
            self._announce(storage_unavailable, owner=scope.owner, chatbot=self.chatbot)
            if self._settings.on_unavailable == "answer":
                logger.exception("a turn goes on without its conversation")
                return unstored_turn(self._chatbot, self._visitor, asked, self._announce, NOT_STORED_NOTICE)
            if not self._in_request:
                raise
            logger.exception("a turn was refused")
            raise RequestRefused(503, UNAVAILABLE) from error
        if self._in_request:
            watch(turn)
        return turn

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
            raise RequestRefused(404, "There is no such question.")
        return resumed_turn(self._chatbot, *found)

    def reset(self, thread_id: ShownThread = NOT_TOLD) -> str | None:
        """Delete the thread and return the id for the next one.

        Deletes the named thread, or the ongoing one if none is named; one that is gone already is no error. With
        ``threads="one"`` the id of a conversation that exists by now is returned instead of a new one.
        """
        if self._plugin is None:
            return None
        location = Location(self._plugin, Scope(self._visitor.claim(), self.chatbot), self._visitor)
        doomed = location.thread_id if thread_id is NOT_TOLD else thread_id
        if doomed is not None:
            self.delete_thread(doomed)
        if self.threads == "one" and isinstance(self._plugin, CurrentThread):
            current = self._plugin.current_thread(location.scope)
            if current is not None:
                return current
        return self.new_chat()

    def new_chat(self) -> str | None:
        """Return the id for a new thread; the former one is kept."""
        if self._plugin is None:
            return None
        self._visitor.claim()
        thread_id = self._plugin.create_thread_id()
        self._visitor.remember(thread_id, reserved=True)
        return thread_id

    def open(self, thread_id: str) -> bool:
        """Go on with another thread of the owner; tell whether there is such a one."""
        location = self._location()
        if location is None or not location.plugin.has_thread(location.scope, thread_id):
            return False
        self._visitor.remember(thread_id)
        return True

    def clear(self) -> None:
        """Remove the messages of the thread and keep its id."""
        location = self._location()
        if location and location.thread_id:
            location.plugin.clear_messages(location.scope, location.thread_id)

    def _location(self, shown: ShownThread = NOT_TOLD) -> Location | None:
        """Return the thread that is meant, without an owner none."""
        owner = self._visitor.owner
        if self._plugin is None or owner is None:
            return None
        return Location(self._plugin, Scope(owner, self.chatbot), self._visitor, shown)

    def _read(self, location: Location, limit: int, before: int | None) -> list[ChatMessage]:
        # More than wanted, to know whether there are older ones, and where the turns of the page begin.
        wanted = limit + 1 + OVERLAP
        return location.newest(wanted) if before is None else location.load(wanted, before)


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
