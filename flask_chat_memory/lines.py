"""The lines of a conversation: a question is asked anew in its own place, an older line shown again, a turn undone."""

from __future__ import annotations

import collections.abc as cabc
import typing as t

import msgspec

from .asking import NO_QUESTION
from .asking import repeated_turn
from .errors import RequestRefused
from .live import settle
from .location import Location
from .message import ChatMessage
from .plugins.abilities import ChangeLines
from .plugins.abilities import HidesMessages
from .plugins.abilities import KeepsLiveTurns
from .plugins.lines import Lines
from .plugins.rules import sequence_of
from .question import asked_anew
from .question import edited
from .question import NOT_TOLD
from .question import Question
from .question import ShownThread
from .repeat import asked_under
from .turn import Turn
from .turns import OwnTurns

NOTHING = "There is no question that could be answered again."


class OwnLines(OwnTurns):
    """The lines of what an owner and a chatbot say: messages that are replaced are hidden, none is changed or lost."""

    def edit(
        self,
        question_id: str,
        text: str,
        *,
        thread_id: ShownThread = NOT_TOLD,
        key: str | None = None,
        by: str | None = None,
    ) -> Turn:
        """Ask another question in the place of one that is seen, which is hidden with all that came after it.

        Late answers to questions before it stay.

        :param question_id: of any question of the thread.
        :param text: the new one. Parts of the question that are no text are kept.
        :param thread_id: the thread that the page shows.
        :param key: the client's name for the new question, which tells a repeat.
        :param by: who acts, as for :meth:`turn`.
        :raises RequestRefused: 404 if there is no such question, 400 for a message that is none and where nothing can
            be replaced, else as for :meth:`turn`.
        """
        location = self._changeable(thread_id) or _refuse(404, NO_QUESTION)
        question, late = _find(location, lambda message: message.id == question_id)
        if question is None:
            return self._repeated(location, ChatMessage("user", text), key) or _refuse(404, NO_QUESTION)
        if question.role != "user":
            raise RequestRefused(400, "Only a question can be changed.")
        new = edited(question, text, self._settings.max_message_chars)
        return self._replace(location, question, late, new, key, by)

    def regenerate(self, *, thread_id: ShownThread = NOT_TOLD, key: str | None = None, by: str | None = None) -> Turn:
        """Ask the last question once more, in its own place: the former answer is hidden.

        :param thread_id: the thread that the page shows.
        :param key: the client's name for the new question, which tells a repeat.
        :param by: who acts, as for :meth:`turn`.
        :raises RequestRefused: 404 if there is no question, 409 while it is being answered, 400 where nothing can be
            replaced, else as for :meth:`turn`.
        """
        location = self._changeable(thread_id) or _refuse(404, NOTHING)
        question, late = _find(location, lambda message: message.role == "user")
        if question is None or location.place is None or not _is_shown(location, thread_id):
            raise RequestRefused(404, NOTHING)
        new = asked_anew(question)
        if question.turn in settle(location.place, [question]).running:
            return self._repeated(location, new, key) or _refuse(409, "This message is still being answered.")
        return self._replace(location, question, late, new, key, by)

    def switch(self, version: int, thread_id: ShownThread = NOT_TOLD) -> bool:
        """Show the line that holds another version of a question; tell whether there is such a one.

        :param version: its sequence, one of ``versions`` of a :class:`~flask_chat_memory.history.Page`.
        :param thread_id: the thread that the page shows.
        :raises RequestRefused: 400 where nothing can be replaced.
        """
        location = self._changeable(thread_id)
        place = location.place if location is not None and _is_shown(location, thread_id) else None
        if location is None or place is None or place.message_at(version) is None:
            # A line may know of messages that are no longer stored.
            return False
        found = False
        parting: int | None = None

        def show(lines: Lines, last: int) -> Lines | None:
            nonlocal found, parting
            shown = lines.shown(version, last)
            found = shown is not None
            parting = lines.parting(shown) if shown is not None else None
            return shown

        _change(location, show)
        if parting is not None:
            self._drop_summary(location, parting)
        return found

    def undo(
        self, turn: str | None = None, thread_id: ShownThread = NOT_TOLD, *, question_id: str | None = None
    ) -> bool:
        """Take back a turn: its messages are hidden, and what others have written since stays.

        A turn that is being answered is stopped first.

        :param turn: its id. Without any id, the last turn that was taken with this object and not taken back yet.
        :param thread_id: the thread that the page shows, for a turn that is named.
        :param question_id: of its question, for who does not know the turn.
        :return: whether there is such a turn.
        :raises RequestRefused: 400 where nothing can be replaced, and for a message that is no question.
        """
        if turn is None and question_id is None:
            thread_id, turn = self._taken[-1] if self._taken else (None, None)
        location = self._changeable(thread_id)
        if location is not None and question_id is not None:
            question, _ = _find(location, lambda message: message.id == question_id)
            if question is not None and question.role != "user":
                raise RequestRefused(400, "Only a question can be taken back.")
            turn = question.turn if question is not None else None
        if location is None or turn is None:
            return False
        plugin, place = location.plugin, location.place
        if place is not None and isinstance(plugin, KeepsLiveTurns):
            plugin.stop_turn(place.scope, place.thread_id, turn)
        hidden: list[int] = []
        # Again until there is nothing left, for the answer may have come meanwhile.
        while found := _sequences(location, turn, since=hidden[0] if hidden else 0):
            _hide(location, found, again=bool(hidden))
            self._drop_summary(location, found[0])
            hidden = found
        self._taken = [taken for taken in self._taken if taken[1] != turn]
        return bool(hidden)

    def _drop_summary(self, location: Location, sequence: int) -> None:
        """Remove the summary if it covers a message, or one after it, that is not seen any more, or again."""
        if self._summarising is not None and location.thread_id is not None:
            self._summarising.summaries.delete_touched(location.scope, location.thread_id, sequence)

    def _changeable(self, thread_id: ShownThread) -> Location | None:
        """Return the thread that is meant, without an owner none.

        :raises RequestRefused: 400 if the plugin cannot hide messages.
        """
        if not all(isinstance(self._plugin, ability) for ability in (HidesMessages, KeepsLiveTurns)):
            raise RequestRefused(400, "What was said in this conversation cannot be changed.")
        return self._location(thread_id)

    def _replace(
        self,
        location: Location,
        question: ChatMessage,
        late: list[ChatMessage],
        new: ChatMessage,
        key: str | None,
        by: str | None,
    ) -> Turn:
        asked = Question(new, key=key, replaces=sequence_of(question), kept=late)
        # Before, for if the summary cannot be dropped, nothing may be hidden; again for one that was made meanwhile.
        self._drop_summary(location, sequence_of(question))
        turn = self._take(asked, by, location=location)
        self._drop_summary(location, sequence_of(question))
        return turn

    def _repeated(self, location: Location, new: ChatMessage, key: str | None) -> Turn | None:
        """Return the turn of a question that was sent before: its own sending has changed what is seen."""
        place = location.place
        question = asked_under(place, key) if place and key is not None else None
        if place is None or question is None:
            return None
        return repeated_turn(self._chatbot, place, sequence_of(question), new.text)


def _refuse(code: int, sentence: str) -> t.NoReturn:
    raise RequestRefused(code, sentence)


def _find(
    location: Location, is_meant: cabc.Callable[[ChatMessage], bool]
) -> tuple[ChatMessage | None, list[ChatMessage]]:
    """Return the newest visible message that is meant, and those after it that answer questions before it."""
    found: ChatMessage | None = None
    answers: dict[str | None, list[ChatMessage]] = {}
    late: list[ChatMessage] = []
    for message in location.backwards():
        if found is None and is_meant(message):
            found = message
            answers.pop(found.turn, None)
        elif message.role == "user":
            of_turn = answers.pop(message.turn, [])
            late += of_turn if found else []
        elif found is None and message.turn is not None:
            answers.setdefault(message.turn, []).append(message)
        if found is not None and not answers:
            break
    return found, sorted(late, key=sequence_of)


def _is_shown(location: Location, thread_id: ShownThread) -> bool:
    """Tell whether the thread is that of the page: with one for each owner, the page may be older than it."""
    return thread_id is NOT_TOLD or thread_id == location.thread_id


def _change(location: Location, change: ChangeLines) -> None:
    place = location.place
    if place is not None:
        t.cast(HidesMessages, place.plugin).change_lines(place.scope, place.thread_id, change)


def _hide(location: Location, sequences: list[int], again: bool) -> None:
    """Hide messages of a turn.

    :param again: others of it were hidden before; the line that was left then holds these, too.
    """

    def hide(lines: Lines, last: int) -> Lines:
        hidden = lines.without(sequences, last)
        return msgspec.structs.replace(hidden, others=lines.others) if again else hidden

    _change(location, hide)


def _sequences(location: Location, turn: str, since: int) -> list[int]:
    """Return the sequences of the messages of a turn that are seen, in their order."""
    found: list[int] = []
    for message in location.backwards():
        if sequence_of(message) < since:
            break
        if message.turn == turn:
            found.insert(0, sequence_of(message))
            if message.role == "user":
                break
    return found
