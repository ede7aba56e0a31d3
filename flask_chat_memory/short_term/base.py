"""The contract of a short-term memory: it decides what the model sees, and changes nothing that is stored."""

from __future__ import annotations

import abc
import collections.abc as cabc

import msgspec

from ..message import ChatMessage
from .budget import Budget
from .coverage import Coverage
from .history import History
from .summary import Summary


class Prompt(msgspec.Struct, frozen=True):
    """What is sent besides the history, and must fit with it.

    :param knowledge: what is known of the owner, as text for the model.
    :param summary: of what the model no longer sees.
    """

    question: ChatMessage
    system: str | None = None
    knowledge: str | None = None
    summary: Summary | None = None


class View(msgspec.Struct, frozen=True):
    """What the model sees of a thread.

    :param messages: oldest first.
    :param budget: None if nothing was estimated.
    :param summary: of what came before them.
    :param estimate: says how many tokens of the budget messages are; None if that is not known.
    """

    messages: list[ChatMessage]
    budget: Budget | None = None
    summary: Summary | None = None
    estimate: cabc.Callable[[list[ChatMessage]], int] | None = None


class ShortTermMemory(abc.ABC):
    """Chooses from the history of a thread before a model call. The question itself is always sent, after it.

    :cvar coverage: when a thread is summarised, and how far; None if it shows no summary.
    """

    coverage: Coverage | None = None

    @abc.abstractmethod
    def view(self, history: History, prompt: Prompt) -> View:
        """Return what the model sees; of a turn all messages or none."""
