"""How much of a conversation a summary covers."""

from __future__ import annotations

import collections.abc as cabc
import itertools

import msgspec

from ..message import ChatMessage
from .estimate import BYTES_A_TOKEN
from .estimate import Tokenizer
from .estimate import tokens_of_message
from .estimate import tokens_of_text
from .summary import inert
from .summary import Summary
from .view import turns_of

MOST = 4
"""Thresholds of tokens that are summarised in one call."""


class Coverage(msgspec.Struct, frozen=True, kw_only=True):
    """When a conversation is summarised, and how far.

    :param threshold: tokens that no summary covers; beyond that it is summarised.
    :param recent: messages, at least, that stay as they are: the newest whole turns that hold so many.
    :param longest: tokens of the text of a summary, and of its facts.
    """

    threshold: int = 10_000
    recent: int = 5
    longest: int = 10_000
    tokenizer: Tokenizer = tokens_of_text

    @property
    def most_chars(self) -> int:
        """Characters that one call of a summariser reads, at four a token."""
        return MOST * self.threshold * BYTES_A_TOKEN

    def tokens(self, messages: cabc.Iterable[ChatMessage]) -> int:
        return sum(tokens_of_message(message, self.tokenizer) for message in messages)

    def fits(self, text: str) -> bool:
        """Tell whether a text of a summary, or its facts, leave room for a conversation."""
        return self.tokenizer(inert(text)) <= self.longest

    def has_room_for(self, summary: Summary) -> bool:
        """Tell whether a summary fits, which people may have written."""
        return self.fits(summary.text) and self.fits("\n".join(summary.facts))

    def part(self, messages: cabc.Sequence[ChatMessage], running: cabc.Set[str]) -> list[ChatMessage]:
        """Return the oldest messages that a summary may cover next, in whole turns; none if there are no such ones.

        At least one turn, if any; no more than one call of a summariser is to read.

        :param messages: those that are not covered, in the order of the store.
        :param running: ids of the turns to which messages may still be added.
        """
        cuts = [cut for cut in _cuts(messages, running) if cut <= len(messages) - self.recent]
        if not cuts:
            return []
        costs = list(itertools.accumulate(self.tokens([message]) for message in messages))
        fitting = [cut for cut in cuts if costs[cut - 1] <= MOST * self.threshold]
        return list(messages[: max(fitting, default=cuts[0])])


def _cuts(messages: cabc.Sequence[ChatMessage], running: cabc.Set[str]) -> list[int]:
    """Return where messages can be cut in two so that no turn is, and none before the cut is running."""
    turns = turns_of(messages)
    last = {turn: place for place, turn in enumerate(turns)}
    cuts: list[int] = []
    end = -1
    for place, turn in enumerate(turns):
        if turn in running:
            break
        end = max(end, last[turn])
        if end == place:
            cuts.append(place + 1)
    return cuts
