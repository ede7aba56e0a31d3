"""How many tokens text and messages are, before the model has counted them."""

from __future__ import annotations

import collections.abc as cabc
import logging
import threading
import typing as t

import msgspec

from ..events import log_event
from ..message import ChatMessage
from .budget import Budget

BYTES_A_TOKEN = 4
"""Of UTF-8. It holds for English; scripts with more bytes a character have more tokens a character, too."""
MESSAGE = 4
"""Tokens that the form of a message takes besides its text."""
IMAGE = 1_000
"""Tokens of a picture, whatever its size: nothing is fetched to look at it."""
LEAST, MOST = 0.5, 4.0
"""Between which a real count corrects the estimates."""
MARKS = 16
"""Tokens that a tokenizer may add to those of the text."""
SENT = "view"
"""The key in the metadata of a question that tells what was estimated for its turn."""

Tokenizer = cabc.Callable[[str], int]
"""Takes a text; returns how many tokens it is."""

logger = logging.getLogger(__name__)

_PICTURES = frozenset({"image", "image_url", "input_image"})
_encode = msgspec.json.Encoder().encode


def tokens_of_text(text: str) -> int:
    """Return how many tokens a text is by the length of its UTF-8."""
    # A lone surrogate in a prompt of the site must not fail a turn.
    return -(-len(text.encode(errors="replace")) // BYTES_A_TOKEN)


class SiteTokenizer:
    """A tokenizer of the site; where it fails, or what it returns can be no number of tokens, bytes are counted.

    That is logged once, without the text. A text has no more tokens than bytes, but for a few that mark its ends.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._has_told = False
        self._here = threading.local()

    def __call__(self, text: str) -> int:
        try:
            tokens = self._tokenizer(text)
        except Exception as error:
            return self._estimate(text, error)
        if type(tokens) is not int or not 0 <= tokens <= len(text.encode(errors="replace")) + MARKS:
            return self._estimate(text)
        return tokens

    @property
    def failures(self) -> int:
        """How often it has failed in this thread."""
        return getattr(self._here, "failures", 0)

    def _estimate(self, text: str, error: Exception | None = None) -> int:
        self._here.failures = self.failures + 1
        if not self._has_told:
            self._has_told = True
            message = "the tokenizer of the site gave no number of tokens; bytes are counted instead"
            log_event(logger, logging.ERROR, message, error)
        return tokens_of_text(text)


def tokens_of_message(message: ChatMessage, tokenizer: Tokenizer = tokens_of_text) -> int:
    """Return how many tokens a message is, with its tool calls and pictures."""
    content = message.content
    parts = content if isinstance(content, list) else [{"type": "text", "text": content or ""}]
    tokens = MESSAGE + sum(_tokens_of_part(part, tokenizer) for part in parts)
    if message.name:
        tokens += tokenizer(message.name)
    if message.tool_calls:
        tokens += tokens_of_json(message.tool_calls, tokenizer)
    return tokens


def tokens_of_json(value: object, tokenizer: Tokenizer = tokens_of_text) -> int:
    """Return how many tokens a value is that is sent as JSON, such as the schemas of tools."""
    return tokenizer(_encode(value).decode())


def correction(newest: cabc.Sequence[ChatMessage]) -> float:
    """Return by how much the last model call that told its usage differed from what was estimated for it.

    :param newest: messages of one thread, oldest first; calls of other threads say nothing about it.
    """
    counted: dict[str | None, int] = {}
    for message in reversed(newest):
        usage = message.usage if message.role == "assistant" else None
        if usage is not None and usage.input:
            # Of several calls of a turn, the first was sent what was estimated.
            counted[message.turn] = usage.input
        elif message.role == "user" and message.turn in counted:
            estimated = told_of(message).get("tokens")
            if type(estimated) is int and estimated > 0:
                return min(max(counted[message.turn] / estimated, LEAST), MOST)
    return 1.0


def _tokens_of_part(part: cabc.Mapping[str, t.Any], tokenizer: Tokenizer) -> int:
    text = part.get("text")
    if isinstance(text, str):
        return tokenizer(text)
    return IMAGE if part.get("type") in _PICTURES else tokens_of_json(part, tokenizer)


def told_of(question: ChatMessage) -> cabc.Mapping[str, t.Any]:
    """Return what a question tells of its turn; nothing if it came from elsewhere."""
    told = question.metadata.get(SENT)
    return told if isinstance(told, dict) else {}


def told(question: ChatMessage, budget: Budget | None) -> ChatMessage:
    """Return a question that tells what was estimated for its turn, for the turns to come."""
    if budget is None:
        return question
    sent: dict[str, t.Any] = {
        "turn": budget.turns + 1,
        "tokens": round(budget.sent / budget.factor),
        "dropped": budget.dropped,
        "window": budget.context_window,
        "reserve": budget.reserve,
        "margin": budget.margin,
        "parts": {name: tokens for name, tokens in budget.parts.items() if tokens},
    }
    if budget.tokenizer_failed:
        sent["tokenizer_failed"] = True
    return question.replace(metadata={**question.metadata, SENT: sent})
