"""Makes the summaries of threads: after an answer, in the background, or by hand."""

from __future__ import annotations

import collections
import collections.abc as cabc
import contextlib
import dataclasses
import functools
import itertools
import logging
import threading
import typing as t

from .claims import Claim
from .live import settle
from .message import ChatMessage
from .message import timestamp
from .place import Place
from .plugins.abilities import KeepsLiveTurns
from .plugins.rules import sequence_of
from .redaction import RedactionFunction
from .short_term.coverage import Coverage
from .short_term.summary import merged
from .short_term.summary import Summary
from .short_term.view import by_turn
from .storage.rules import stored_time
from .summaries import Summaries
from .turn import Turn
from .values import clean

logger = logging.getLogger(__name__)

Messages = list[dict[str, t.Any]]
Summarizer = cabc.Callable[
    [str | None, Messages], "str | cabc.Iterable[str] | cabc.Awaitable[str | cabc.Iterable[str]]"
]
"""Takes the summary so far and messages of the OpenAI kind; returns one of both, shorter than they are."""
FactExtractor = cabc.Callable[[list[str], Messages], "cabc.Iterable[str] | cabc.Awaitable[cabc.Iterable[str]]"]
"""Takes the facts so far and messages of the OpenAI kind; returns the facts that are in them."""

PAGE = 500
"""Messages that are read at a time."""
LONGEST = 8_000
"""Characters of a message that a summariser reads; what is longer is cut, and marked so."""
CUT = "\n[…]"
MOST_CHARS = 1_000_000
"""Characters that are read of what a summariser makes."""
MOST_FOUND = 1_000
"""Facts that are read of what a fact extractor finds."""
PATIENCE = 3_600.0
"""Seconds that a question may wait for its answer where nobody knows whether it is being answered."""


def unredacted(text: str) -> tuple[str, cabc.Mapping[str, int]]:
    return text, {}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Summarising:
    """How the threads of a chatbot are summarised.

    :param summaries: where they are.
    :param coverage: when, and how far.
    :param summarize: makes the summaries.
    :param extract: finds the facts.
    :param redact: takes out what neither a model is to read here nor a summary is to keep.
    :param context: in which these functions are called.
    """

    summaries: Summaries
    coverage: Coverage
    summarize: cabc.Callable[..., t.Any]
    extract: cabc.Callable[..., t.Any]
    redact: RedactionFunction = unredacted
    context: cabc.Callable[[], contextlib.AbstractContextManager[t.Any]] = contextlib.nullcontext

    def follow(self, turn: Turn, place: Place) -> None:
        """Have the thread of a turn summarised when that is over, if it is time by then."""
        turn.afterwards.append(functools.partial(self._follow, place))

    def make(self, place: Place, least: int = 0, by_hand: bool = False) -> None:
        """Cover what a summary may cover, part by part.

        :param least: tokens; where no more than these are uncovered, nothing is done.
        :param by_hand: whatever has failed before; and what fails now is raised.
        """
        with self.context():
            while self._cover(place, least, by_hand):
                pass

    def extract_facts(self, place: Place) -> tuple[str, ...]:
        """Find the facts in the newest messages that no summary covers, keep them, and return all."""
        with self.context():
            former = self.summaries.holding(place)
            known, covered = (former.facts, former.last) if former else ((), 0)
            messages = place.plugin.load_messages(place.scope, place.thread_id, limit=PAGE)
            uncovered = [message for message in messages if sequence_of(message) > covered]
            facts = self._facts(known, uncovered)
            now = timestamp(place.plugin.clock())
            known_by_now = former or Summary(thread_id=place.thread_id, timestamp=now)
            read = max((sequence_of(message) for message in messages), default=0)
            summary = dataclasses.replace(known_by_now, facts=facts, read=read)
            self.summaries.save(place.scope, summary)
            if not place.plugin.has_thread(place.scope, place.thread_id):
                self.summaries.delete(place.scope, place.thread_id)
            return facts

    def _follow(self, place: Place, turn: Turn) -> None:
        budget = turn.budget
        if budget is None or turn.answer is None:
            return
        uncovered = budget.history + budget.question + self.coverage.tokens([*turn.recorded, turn.answer])
        threshold = self.coverage.threshold
        if uncovered <= threshold and not budget.dropped:
            return
        # What does not fit is covered, however little it is.
        least = 0 if budget.dropped else threshold
        try:
            target = functools.partial(self._make_quietly, place, least)
            # One that never ends must not keep the process alive; its claim ends by itself.
            threading.Thread(target=target, name=f"summary of turn {turn.id}", daemon=True).start()
        except RuntimeError:
            logger.exception("a thread is not summarised, for the process is ending")

    def _make_quietly(self, place: Place, least: int) -> None:
        try:
            self.make(place, least)
        except Exception:
            logger.exception("a thread of chatbot %s was not summarised", place.scope.chatbot)

    def _cover(self, place: Place, least: int, by_hand: bool) -> bool:
        """Cover the next part; tell whether that was done."""
        former = self.summaries.holding(place)
        part = self._part(place, former, least)
        if not part:
            return False
        claims = self.summaries.claims(place.scope, place.thread_id)
        claim = self._claim(place, former, by_hand)
        if claim is None:
            return False
        if self.summaries.load(place.scope, place.thread_id) != former:
            # Another was faster, and is done.
            claims.drop(claim)
            return False
        try:
            summary = self._folded(place, former, part)
        except Exception:
            claims.fail(claim)
            if not place.plugin.has_thread(place.scope, place.thread_id):
                claims.drop()
            if by_hand:
                raise
            logger.exception("a thread of chatbot %s was not summarised, attempt %d", place.scope.chatbot, claim.number)
            return False
        if self.summaries.load(place.scope, place.thread_id) != former:
            return False
        self.summaries.save(place.scope, summary)
        if not _is_seen(place, former, part):
            # It went, or became another line, while this was made.
            self.summaries.delete(place.scope, place.thread_id)
            return False
        claims.drop()
        return True

    def _part(self, place: Place, former: Summary | None, least: int) -> list[ChatMessage]:
        limit = PAGE
        while True:
            messages = _after(place, former, limit)
            settled = settle(place, messages)
            if settled.ended:
                continue
            is_all = len(messages) < limit
            if is_all and self.coverage.tokens(messages) <= least:
                return []
            part = self.coverage.part(messages, settled.running | _unanswered(place, messages, is_all))
            if part or is_all:
                return part
            limit *= 2

    def _claim(self, place: Place, former: Summary | None, by_hand: bool) -> Claim | None:
        plugin, scope, thread_id = place.plugin, place.scope, place.thread_id
        newest = plugin.load_messages(scope, thread_id, limit=1)
        if not newest:
            return None

        def has_grown(since: int) -> bool:
            return self.coverage.tokens(plugin.load_messages(scope, thread_id, after=since)) > self.coverage.threshold

        claims = self.summaries.claims(scope, thread_id)
        covered = former.last if former else 0
        return claims.take(covered, sequence_of(newest[-1]), plugin.clock(), has_grown, by_hand=by_hand)

    def _folded(self, place: Place, former: Summary | None, part: list[ChatMessage]) -> Summary:
        coverage = self.coverage
        known = former or Summary(thread_id=place.thread_id, timestamp="")
        text = self._redacted(_whole(self.summarize(known.text or None, self._given(part))))
        size = coverage.tokenizer(text)
        if size >= coverage.tokenizer(known.text) + coverage.tokens(part):
            raise ValueError("the summary is no shorter than what it stands for")
        if not coverage.fits(text):
            raise ValueError(f"the summary has more than the {coverage.longest} tokens that there is room for")
        facts = self._facts(known.facts, part)
        return Summary(
            thread_id=place.thread_id,
            first=known.first or sequence_of(part[0]),
            last=sequence_of(part[-1]),
            last_id=part[-1].id,
            read=known.read,
            turns=known.turns + sum(message.role == "user" for message in part),
            text=text,
            facts=facts,
            tokens=size + coverage.tokenizer("\n".join(facts)),
            timestamp=timestamp(place.plugin.clock()),
        )

    def _facts(self, known: tuple[str, ...], messages: list[ChatMessage]) -> tuple[str, ...]:
        found = self.extract(list(known), self._given(messages))
        if isinstance(found, (str, bytes)) or not isinstance(found, cabc.Iterable):
            raise TypeError(f"a fact extractor returns a list of texts, not {type(found).__name__}")
        few = list(itertools.islice(found, MOST_FOUND + 1))
        if len(few) > MOST_FOUND:
            raise ValueError(f"the fact extractor returns more than {MOST_FOUND:,} facts")
        facts = merged(known, [self._redacted(fact) if isinstance(fact, str) else fact for fact in few])
        while not self.coverage.fits("\n".join(facts)) and facts:
            facts = facts[1:]
        return facts

    def _given(self, messages: list[ChatMessage]) -> Messages:
        """Return messages as the functions of the site read them."""
        return [self._given_one(message) for message in by_turn(messages)]

    def _given_one(self, message: ChatMessage) -> dict[str, t.Any]:
        given = {**message.to_openai(), "content": self._redacted(_cut(message.text))}
        for call in given.get("tool_calls") or ():
            function = call.get("function")
            if isinstance(function, dict) and isinstance(function.get("arguments"), str):
                function["arguments"] = self._redacted(_cut(function["arguments"]))
        return given

    def _redacted(self, text: str) -> str:
        redacted, counts = self.redact(text)
        if counts:
            logger.info("taken out of a summary or before it: %s", dict(collections.Counter(counts)))
        return redacted


def _after(place: Place, former: Summary | None, limit: int) -> list[ChatMessage]:
    """Return the oldest messages that are seen and not covered."""
    covered = former.last if former else 0
    return place.plugin.load_messages(place.scope, place.thread_id, after=covered, limit=limit)


def _unanswered(place: Place, messages: list[ChatMessage], is_all: bool) -> set[str]:
    """Return the turns whose answer may still come, or is not among the messages."""
    answered = {message.turn for message in messages if message.status is not None}
    asked = [message for message in messages if message.role == "user" and message.turn not in answered]
    if is_all and isinstance(place.plugin, KeepsLiveTurns):
        return set()
    now = place.plugin.clock()
    young = (message for message in asked if not is_all or (stored_time(_asked_at(message)) or 0.0) > now - PATIENCE)
    return {message.turn for message in young if message.turn is not None}


def _asked_at(message: ChatMessage) -> dict[str, t.Any]:
    return {"timestamp": message.created_at}


def _is_seen(place: Place, former: Summary | None, part: list[ChatMessage]) -> bool:
    found = _after(place, former, len(part))
    return [message.id for message in found] == [message.id for message in part]


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


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - len(CUT)]}{CUT}"
