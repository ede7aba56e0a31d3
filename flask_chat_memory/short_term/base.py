"""The contract of a short-term memory: it decides what the model sees, and changes nothing that is stored."""

from __future__ import annotations

import abc
import dataclasses

from ..message import ChatMessage
from .budget import Budget
from .history import History


@dataclasses.dataclass(frozen=True)
class Prompt:
    """What is sent besides the history, and must fit with it.

    :param knowledge: what is known of the owner, as text for the model.
    """

    question: ChatMessage
    system: str | None = None
    knowledge: str | None = None


@dataclasses.dataclass(frozen=True)
class View:
    """What the model sees of a thread.

    :param messages: oldest first.
    :param budget: None if nothing was estimated.
    """

    messages: list[ChatMessage]
    budget: Budget | None = None


class ShortTermMemory(abc.ABC):
    """Chooses from the history of a thread before a model call. The question itself is always sent, after it."""

    @abc.abstractmethod
    def view(self, history: History, prompt: Prompt) -> View:
        """Return what the model sees; of a turn all messages or none."""
