"""As many turns as the context window of the model has room for."""

from __future__ import annotations

import collections.abc as cabc
import logging
import math
import typing as t

import msgspec

from ..events import log_event
from ..message import ChatMessage
from .base import Prompt
from .base import ShortTermMemory
from .base import View
from .budget import Budget
from .estimate import correction
from .estimate import SiteTokenizer
from .estimate import Tokenizer
from .estimate import tokens_of_json
from .estimate import tokens_of_message
from .estimate import tokens_of_text
from .estimate import told_of
from .history import EVERYTHING
from .history import History
from .system import facts_block
from .system import summary_block
from .window import whole

logger = logging.getLogger(__name__)

PAGE = 40
"""Messages that are read first."""


class Tokens(ShortTermMemory):
    """Shows the first question, and the newest whole turns that fit with all else that is sent.

    What must be sent even if it does not fit is the first question and the present one; that is logged.

    :param context_window: tokens that the model takes, answer included; for models that ``context_windows`` does not
        name. Which model it is, the newest answer of the thread tells.
    :param reserve: tokens that are kept free for the answer.
    :param margin: share of the context window that is kept free because estimates are estimates.
    :param tools: the schemas of tools that are sent with every call.
    :param tokenizer: counts the tokens of a text; without one, and where it fails, four bytes of UTF-8 are one.
    """

    def __init__(
        self,
        context_window: int = 8_192,
        context_windows: cabc.Mapping[str, int] | None = None,
        reserve: int = 1_024,
        margin: float = 0.05,
        tools: cabc.Sequence[cabc.Mapping[str, t.Any]] = (),
        tokenizer: Tokenizer | None = None,
    ) -> None:
        if not isinstance(context_windows, cabc.Mapping | None):
            raise ValueError(f"context_windows is {context_windows!r}; allowed is a dict: model -> tokens")
        if not isinstance(tools, list | tuple) or not all(isinstance(tool, cabc.Mapping) for tool in tools):
            raise ValueError("tools must be a list of dicts, the schemas of tools")
        numbers = {f"context_windows[{model!r}]": window for model, window in (context_windows or {}).items()}
        for name, value in {**numbers, "context_window": context_window, "reserve": reserve}.items():
            if type(value) is not int or value < 0:
                raise ValueError(f"{name} is {value!r}; allowed is an int from 0 on")
        if type(margin) not in (int, float) or not 0 <= margin < 1:
            raise ValueError(f"margin is {margin!r}; allowed is a number from 0 to less than 1")
        if tokenizer is not None and not callable(tokenizer):
            raise ValueError("tokenizer must be a function that takes a text and returns a number of tokens")
        self._windows = dict(context_windows or {})
        self._window = context_window
        self._reserve = reserve
        self._margin = margin
        self._tokenizer: Tokenizer = SiteTokenizer(tokenizer) if tokenizer else tokens_of_text
        self._tools = tokens_of_json(list(tools), self._tokenizer) if tools else 0

    def view(self, history: History, prompt: Prompt) -> View:
        failures = self._failures()
        newest = history.newest(PAGE)
        factor = correction(newest)
        summary = prompt.summary
        budget = self._without_history(newest, prompt, factor)
        # A summary that covers the first question stands for it.
        first = history.first() if summary is None or not summary.last else None
        covered = summary.last if summary else 0
        shown, is_all = self._fitting(history, covered, budget.left, factor)
        if first is not None and not is_all:
            shown, is_all = self._fitting(history, covered, budget.left - self._tokens([first], factor), factor)
        seen = sum(message.role == "user" for message in shown) + (summary.turns if summary else 0)
        if first is not None and first not in shown:
            shown = [first, *shown]
        turns = _told_turns(newest) or (seen if is_all else _count_turns(history))
        dropped = 0 if is_all else max(turns - seen, 0)
        budget = msgspec.structs.replace(
            budget,
            history=self._tokens(shown, factor),
            turns=turns,
            dropped=dropped,
            tokenizer_failed=self._failures() > failures,
        )
        if budget.left < 0:
            log_event(
                logger,
                logging.WARNING,
                "a question is sent although there is no room for it",
                turn_id=prompt.question.turn,
                tokens_over=-budget.left,
            )
        return View(shown, budget, summary, lambda messages: self._tokens(messages, factor))

    def _without_history(self, newest: list[ChatMessage], prompt: Prompt, factor: float) -> Budget:
        model = next((message.model for message in reversed(newest) if message.model), None)
        window = self._windows.get(model or "", self._window)
        return Budget(
            context_window=window,
            reserve=self._reserve,
            margin=math.ceil(window * self._margin),
            factor=factor,
            system=self._tokens_of_text(prompt.system, factor),
            knowledge=self._tokens_of_text(prompt.knowledge, factor),
            summary=self._tokens_of_text(summary_block(prompt.summary), factor),
            facts=self._tokens_of_text(facts_block(prompt.summary), factor),
            tools=math.ceil(self._tools * factor),
            question=self._tokens([prompt.question], factor),
        )

    def _fitting(self, history: History, covered: int, room: int, factor: float) -> tuple[list[ChatMessage], bool]:
        """Return the newest whole turns that there is room for, and whether these are all.

        :param covered: the last sequence that a summary covers.
        """
        count = PAGE
        while True:
            newest = history.newest(count)
            uncovered = [message for message in newest if message.sequence is None or message.sequence > covered]
            shown: list[ChatMessage] = []
            used = 0
            for turn in reversed(_split(uncovered)):
                used += self._tokens(turn, factor)
                if used > room:
                    return shown, False
                shown = turn + shown
            if len(uncovered) < len(newest) or not history.holds_more_than(count):
                return shown, True
            count *= 2

    def _failures(self) -> int:
        return self._tokenizer.failures if isinstance(self._tokenizer, SiteTokenizer) else 0

    def _tokens(self, messages: cabc.Iterable[ChatMessage], factor: float) -> int:
        return math.ceil(factor * sum(tokens_of_message(message, self._tokenizer) for message in messages))

    def _tokens_of_text(self, text: str | None, factor: float) -> int:
        return math.ceil(factor * self._tokenizer(text)) if text else 0


def _split(messages: list[ChatMessage]) -> list[list[ChatMessage]]:
    """Return the turns of messages, each with its question."""
    turns: list[list[ChatMessage]] = []
    for message in whole(messages):
        if message.role == "user":
            turns.append([])
        if turns:
            turns[-1].append(message)
    return turns


def _told_turns(newest: list[ChatMessage]) -> int | None:
    """Return how many turns the conversation has had, as its newest question tells."""
    question = next((message for message in reversed(newest) if message.role == "user"), None)
    told = None if question is None else told_of(question).get("turn")
    return told if type(told) is int and told >= 0 else None


def _count_turns(history: History) -> int:
    # Read as a whole once: the next question tells what is counted now.
    return sum(message.role == "user" for message in history.newest(EVERYTHING))
