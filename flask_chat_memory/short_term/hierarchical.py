"""A summary of what was said long ago, key facts, and the newest messages as they are."""

from __future__ import annotations

import collections.abc as cabc
import logging
import math
import typing as t

import msgspec

from ..events import log_event
from .base import Prompt
from .base import View
from .coverage import Coverage
from .estimate import Tokenizer
from .history import History
from .tokens import PAGE
from .tokens import Tokens

logger = logging.getLogger(__name__)

SHARE = 4
"""A summary takes one part of so many of the smallest context window, and its facts another."""


class Hierarchical(Tokens):
    """Shows the summary and the key facts of a thread, and the newest whole turns that no summary covers, as they fit.

    Without a summary it shows what :class:`Tokens` does. The summary is made after an answer.

    :param context_window: as for :class:`Tokens`; ``context_windows``, ``reserve``, ``margin``, ``tools`` and
        ``tokenizer``, too.
    :param summary_threshold: tokens that no summary covers; beyond that they are summarised.
    :param recent: messages, at least, that are not: the newest whole turns that hold so many.
    """

    coverage: Coverage

    def __init__(
        self,
        context_window: int = 150_000,
        summary_threshold: int = 10_000,
        recent: int = 5,
        context_windows: cabc.Mapping[str, int] | None = None,
        reserve: int = 1_024,
        margin: float = 0.05,
        tools: cabc.Sequence[cabc.Mapping[str, t.Any]] = (),
        tokenizer: Tokenizer | None = None,
    ) -> None:
        super().__init__(context_window, context_windows, reserve, margin, tools, tokenizer)
        for name, value, least in (("summary_threshold", summary_threshold, 1), ("recent", recent, 0)):
            if type(value) is not int or value < least:
                raise ValueError(f"{name} is {value!r}; allowed is an int from {least} on")
        smallest = min([context_window, *self._windows.values()])
        longest = max(0, smallest - reserve - math.ceil(smallest * margin)) // SHARE
        self.coverage = Coverage(threshold=summary_threshold, recent=recent, longest=longest, tokenizer=self._tokenizer)

    def view(self, history: History, prompt: Prompt) -> View:
        # First, for thread and messages are found in one go.
        history.newest(PAGE)
        summary = history.summary
        if summary is not None and not self.coverage.has_room_for(summary):
            message = "a summary is longer than there is room for, and counts as none"
            log_event(logger, logging.WARNING, message, thread_id=summary.thread_id)
            summary = None
        return super().view(history, msgspec.structs.replace(prompt, summary=summary or prompt.summary))
