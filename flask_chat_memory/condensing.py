"""Makes a summary of a former one and new messages, and finds the facts in them."""

from __future__ import annotations

import collections.abc as cabc
import copy
import itertools
import logging
import typing as t

import msgspec

from .events import log_event
from .message import ChatMessage
from .plugins.rules import sequence_of
from .redaction import RedactionFunction
from .short_term.coverage import Coverage
from .short_term.extract import lead
from .short_term.extract import statements
from .short_term.summary import merged
from .short_term.summary import Summary
from .short_term.view import by_turn
from .values import clean

logger = logging.getLogger(__name__)

Messages = list[dict[str, t.Any]]
Summarizer = cabc.Callable[
    [str | None, Messages], "str | cabc.Iterable[str] | cabc.Awaitable[str | cabc.Iterable[str]]"
]
"""Takes the summary so far and messages of the OpenAI kind; returns one of both, shorter than they are."""
FactExtractor = cabc.Callable[[list[str], Messages], "cabc.Iterable[str] | cabc.Awaitable[cabc.Iterable[str]]"]
"""Takes the facts so far and messages of the OpenAI kind; returns the facts that are in them."""

LONGEST = 8_000
"""Characters of a message that a summariser reads; what is longer is cut, and marked so."""
SHORTEST = 80
"""Characters to which no message is cut, however many there are."""
CUT = "\n[…]"
MOST_CHARS = 1_000_000
"""Characters that are read of what a summariser makes."""
MOST_FOUND = 1_000
"""Facts that are read of what a fact extractor finds."""


def unredacted(text: str) -> tuple[str, cabc.Mapping[str, int]]:
    return text, {}


class Condensation(msgspec.Struct, frozen=True, kw_only=True):
    """The functions that make summaries.

    :param summarize: makes the text.
    :param extract: finds the facts.
    :param redact: takes out what neither a model is to read here nor a summary is to keep.
    """

    summarize: cabc.Callable[..., t.Any] = lead
    extract: cabc.Callable[..., t.Any] = statements
    redact: RedactionFunction = unredacted

    def summary(self, known: Summary, part: list[ChatMessage], coverage: Coverage) -> Summary:
        """Return a summary that covers what another does, and the messages behind that.

        :raises ValueError: if what was made is blank, too long, or no shorter than what it stands for.
        :raises TypeError: if it is no text.
        """
        given = self._given(part, coverage)
        # A copy, for what a function of the site does to it is its own affair.
        text = self._redacted(_whole(self.summarize(known.text or None, copy.deepcopy(given))))
        size = coverage.tokenizer(text)
        if size >= coverage.tokenizer(known.text) + coverage.tokens(part):
            raise ValueError("the summary is no shorter than what it stands for")
        if not coverage.fits(text):
            raise ValueError(f"the summary has more than the {coverage.longest} tokens that there is room for")
        facts = self._facts(known.facts, given, coverage)
        return msgspec.structs.replace(
            known,
            first=known.first or sequence_of(part[0]),
            last=sequence_of(part[-1]),
            last_id=part[-1].id,
            turns=known.turns + sum(message.role == "user" for message in part),
            text=text,
            facts=facts,
            tokens=size + coverage.tokenizer("\n".join(facts)),
        )

    def facts(self, known: tuple[str, ...], messages: list[ChatMessage], coverage: Coverage) -> tuple[str, ...]:
        """Return facts with those behind them that are in messages, the newest that there is room for.

        :raises ValueError: if there is no end of what was found.
        :raises TypeError: if what was found are no texts.
        """
        return self._facts(known, self._given(messages, coverage), coverage)

    def _facts(self, known: tuple[str, ...], given: Messages, coverage: Coverage) -> tuple[str, ...]:
        found = self.extract(list(known), given)
        if isinstance(found, (str, bytes, cabc.Mapping)) or not isinstance(found, cabc.Iterable):
            raise TypeError(f"a fact extractor returns a list of texts, not {type(found).__name__}")
        few = list(itertools.islice(found, MOST_FOUND + 1))
        if len(few) > MOST_FOUND:
            raise ValueError(f"the fact extractor returns more than {MOST_FOUND:,} facts")
        facts = merged(known, [self._redacted(fact) if isinstance(fact, str) else fact for fact in few])
        while facts and not coverage.fits("\n".join(facts)):
            facts = facts[1:]
        return facts

    def _given(self, messages: list[ChatMessage], coverage: Coverage) -> Messages:
        """Return messages as the functions of the site read them; those of one huge turn are cut to fit together."""
        longest = LONGEST
        if sum(min(len(message.text), LONGEST) for message in messages) > coverage.most_chars:
            longest = max(coverage.most_chars // len(messages), SHORTEST)
        return [self._given_one(message, longest) for message in by_turn(messages)]

    def _given_one(self, message: ChatMessage, longest: int) -> dict[str, t.Any]:
        given = message.to_openai()
        if "name" in given:
            given["name"] = self._short(given["name"], longest)
        if "tool_calls" in given:
            given["tool_calls"] = [self._given_call(call, longest) for call in given["tool_calls"]]
        return {**given, "content": self._short(message.text, longest)}

    def _given_call(self, call: cabc.Mapping[str, t.Any], longest: int) -> dict[str, t.Any]:
        # The id is what ties the result to it.
        return {key: value if key == "id" else self._given_value(value, longest) for key, value in call.items()}

    def _given_value(self, value: t.Any, longest: int) -> t.Any:
        if isinstance(value, str):
            return self._short(value, longest)
        if isinstance(value, list):
            return [self._given_value(item, longest) for item in value]
        if isinstance(value, dict):
            return {key: self._given_value(item, longest) for key, item in value.items()}
        return value

    def _short(self, text: str, longest: int) -> str:
        # In this order: half of an address or a number would not be known as one.
        return _cut(self._redacted(text), longest)

    def _redacted(self, text: str) -> str:
        redacted, counts = self.redact(text)
        if counts:
            log_event(logger, logging.INFO, "text was redacted for a summary", places=sum(counts.values()))
        return redacted


def _whole(made: object) -> str:
    """Return the text that a summariser has made, read to its end.

    :raises ValueError: if there is none, or no end of it.
    :raises TypeError: for what is no text.
    """
    if isinstance(made, (bytes, cabc.Mapping)) or not isinstance(made, cabc.Iterable):
        raise TypeError(f"a summarizer returns text or an iterable of text, not {type(made).__name__}")
    text = clean(made if isinstance(made, str) else _read(made)).replace("\ufffd", "").strip()
    if not text:
        raise ValueError("the summary is blank")
    return text


def _read(pieces: cabc.Iterable[str]) -> str:
    texts: list[str] = []
    length = 0
    for piece in pieces:
        texts.append(piece)
        # Empty pieces count, too: there may be no end of them.
        length += len(piece) + 1
        if length > MOST_CHARS:
            raise ValueError(f"the summary has more than {MOST_CHARS:,} characters")
    return "".join(texts)


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[: longest - len(CUT)]}{CUT}"
