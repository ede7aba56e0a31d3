"""A window over the newest turns or messages."""

from __future__ import annotations

from ..message import ChatMessage
from .base import Prompt
from .base import ShortTermMemory
from .base import View
from .history import History

DEFAULT_TURNS = 20
_MESSAGES_A_TURN = 2
_MOST_A_TURN = 128


class Window(ShortTermMemory):
    """Shows the newest whole turns, so that a tool call is never parted from its result.

    :param turns: how many turns before the question; 0 shows none. 20 where nothing is said.
    :param messages: instead, how many messages before the question: whole turns that have no more together, and the
        newest one, which may have more; 0 shows none.
    """

    def __init__(self, turns: int | None = None, messages: int | None = None) -> None:
        if turns is not None and messages is not None:
            raise ValueError("turns and messages exclude each other")
        for name, value in (("turns", turns), ("messages", messages)):
            if value is not None and (type(value) is not int or value < 0):
                raise ValueError(f"{name} is {value!r}; allowed is an int from 0 on")
        self.turns = DEFAULT_TURNS if turns is None and messages is None else turns
        self.messages = messages

    def view(self, history: History, prompt: Prompt) -> View:
        if self.turns is not None:
            return View(_newest_turns(history, self.turns))
        return View(_newest_messages(history, self.messages or 0))


def _newest_turns(history: History, turns: int) -> list[ChatMessage]:
    if turns == 0:
        return []
    wanted = turns * _MESSAGES_A_TURN
    while True:
        messages = history.newest(wanted)
        questions = [place for place, message in enumerate(messages) if message.role == "user"]
        if len(questions) >= turns:
            return whole(messages[questions[-turns] :])
        if len(messages) < wanted or wanted >= turns * _MOST_A_TURN:
            # The thread begins here, or holds hardly any question. What stands before the first belongs to no turn.
            return whole(messages[questions[0] :]) if questions else []
        wanted *= 2


def _newest_messages(history: History, count: int) -> list[ChatMessage]:
    if count == 0:
        return []
    messages = history.newest(count)
    first = next((place for place, message in enumerate(messages) if message.role == "user"), None)
    # A newest turn that is longer than the window is shown all the same.
    return _newest_turns(history, 1) if first is None else whole(messages[first:])


def whole(messages: list[ChatMessage]) -> list[ChatMessage]:
    """Leave out what belongs to a turn whose question is not among the messages."""
    asked = {message.turn for message in messages if message.role == "user"}
    return [message for message in messages if message.turn is None or message.turn in asked]
