"""The contract of a short-term memory: it decides what the model sees, and changes nothing that is stored."""

from __future__ import annotations

import abc

from ..message import ChatMessage
from .history import History


class ShortTermMemory(abc.ABC):
    """Chooses from the history of a thread before a model call. The question itself is always sent, after it."""

    @abc.abstractmethod
    def view(self, history: History) -> list[ChatMessage]:
        """Return the messages that the model sees, oldest first."""
