"""A window over the newest turns."""

from __future__ import annotations

from ..message import ChatMessage
from .base import ShortTermMemory
from .history import History

_MESSAGES_A_TURN = 2
_MOST_A_TURN = 128


class Window(ShortTermMemory):
    """Shows the newest whole turns, so that a tool call is never parted from its result.

    :param turns: how many turns before the question; 0 shows none.
    """

    def __init__(self, turns: int = 20) -> None:
        if type(turns) is not int or turns < 0:
            raise ValueError(f"turns is {turns!r}; allowed is an int from 0 on")
        self.turns = turns

    def view(self, history: History) -> list[ChatMessage]:
        if self.turns == 0:
            return []
        wanted = self.turns * _MESSAGES_A_TURN
        while True:
            messages = history.newest(wanted)
            questions = [place for place, message in enumerate(messages) if message.role == "user"]
            if len(questions) >= self.turns:
                return _whole(messages[questions[-self.turns] :])
            if len(messages) < wanted or wanted >= self.turns * _MOST_A_TURN:
                # The thread begins here, or holds hardly any question. What stands before the first belongs to no turn.
                return _whole(messages[questions[0] :]) if questions else []
            wanted *= 2


def _whole(messages: list[ChatMessage]) -> list[ChatMessage]:
    """Leave out what belongs to a turn whose question is not among the messages."""
    asked = {message.turn for message in messages if message.role == "user"}
    return [message for message in messages if message.turn is None or message.turn in asked]
