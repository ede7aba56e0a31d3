"""Makes the summaries of threads: after an answer, in the background, or by hand."""

from __future__ import annotations

import collections.abc as cabc
import contextlib
import functools
import logging
import threading
import typing as t

import msgspec

from .claims import Claim
from .claims import Claims
from .condensing import Condensation
from .events import log_event
from .live import settle
from .message import ChatMessage
from .message import timestamp
from .place import Place
from .plugins.abilities import KeepsLiveTurns
from .plugins.rules import sequence_of
from .short_term.coverage import Coverage
from .short_term.summary import Summary
from .storage.rules import stored_time
from .summaries import Summaries
from .turn import Turn

logger = logging.getLogger(__name__)

PAGE = 500
"""Messages that are read at a time."""
PATIENCE = 3_600.0
"""Seconds that a question may wait for its answer where nobody knows whether it is being answered."""


class Summarising(msgspec.Struct, frozen=True, kw_only=True):
    """How the threads of a chatbot are summarised.

    :param summaries: where they are.
    :param coverage: when, and how far.
    :param condense: makes them.
    :param context: in which the functions of the site are called.
    """

    summaries: Summaries
    coverage: Coverage
    condense: Condensation
    context: cabc.Callable[[], contextlib.AbstractContextManager[t.Any]] = contextlib.nullcontext

    def follow(self, turn: Turn, place: Place, begins: bool) -> None:
        """Have the thread of a turn summarised when that is over, if it is time by then.

        :param begins: the thread does; others of the scope may have had to go for it, or have expired before.
        """
        turn.afterwards.append(functools.partial(self._follow, place, begins))

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
            if not uncovered:
                return known
            now, newest = place.plugin.clock(), uncovered[-1]
            claims = self.summaries.claims(place.scope, place.thread_id)
            claim = claims.take(covered, sequence_of(newest), now, lambda since: True, by_hand=True)
            if claim is None:
                return known
            try:
                facts = self.condense.facts(known, uncovered, self.coverage)
                summary = msgspec.structs.replace(
                    former or Summary(thread_id=place.thread_id, timestamp=timestamp(now)),
                    facts=facts,
                    read=sequence_of(newest),
                    read_id=newest.id,
                )
                is_kept = self._keep(place, former, summary, sequence_of(uncovered[0]) - 1, uncovered)
            finally:
                claims.drop(claim)
            return facts if is_kept else ()

    def _follow(self, place: Place, begins: bool, turn: Turn) -> None:
        least = self._least(turn)
        is_trimmed = turn.summary is not None and place.plugin.options.max_messages is not None
        if least is None and not begins and not is_trimmed:
            return
        try:
            target = functools.partial(self._work_quietly, place, begins, least)
            # One that never ends must not keep the process alive; its claim ends by itself.
            threading.Thread(target=target, name=f"summary of turn {turn.id}", daemon=True).start()
        except RuntimeError as error:
            log_event(
                logger,
                logging.ERROR,
                "a thread is not summarised, for the process is ending",
                error,
                thread_id=place.thread_id,
            )

    def _least(self, turn: Turn) -> int | None:
        """Return how many tokens may stay uncovered after a turn; None if it is not yet time for a summary."""
        budget = turn.budget
        if budget is None or turn.answer is None:
            return None
        if budget.dropped:
            # What does not fit is covered, however little it is.
            return 0
        uncovered = budget.history + budget.question + self.coverage.tokens([*turn.recorded, turn.answer])
        return self.coverage.threshold if uncovered > self.coverage.threshold else None

    def _work_quietly(self, place: Place, begins: bool, least: int | None) -> None:
        try:
            if begins:
                self.summaries.delete_gone(place.plugin, place.scope)
            if least is None:
                # Looked at, so that one goes whose messages have gone.
                self.summaries.holding(place)
            else:
                self.make(place, least)
        except Exception as error:
            _log_failure(place, error)

    def _cover(self, place: Place, least: int, by_hand: bool) -> bool:
        """Cover the next part; tell whether that was done."""
        former = self.summaries.holding(place)
        part = self._part(place, former, least)
        if not part:
            return False
        claims = self.summaries.claims(place.scope, place.thread_id)
        claim = self._claim(claims, place, former, by_hand)
        if claim is None:
            return False
        if self.summaries.load(place.scope, place.thread_id) != former:
            # Another was faster, and is done.
            claims.drop(claim)
            return False
        try:
            summary = self._made(place, former, part)
        except Exception as error:
            claims.fail(claim)
            if not place.plugin.has_thread(place.scope, place.thread_id):
                claims.drop()
            if by_hand:
                raise
            _log_failure(place, error, attempt=claim.number)
            return False
        is_kept = self._keep(place, former, summary, former.last if former else 0, part)
        if is_kept:
            claims.drop()
        return is_kept

    def _keep(
        self, place: Place, former: Summary | None, summary: Summary, after: int, part: list[ChatMessage]
    ) -> bool:
        """Store what was made of messages after a sequence, unless it is out of date; tell whether that was done."""
        if not self.summaries.replace(place.scope, former, summary):
            return False
        found = place.plugin.load_messages(place.scope, place.thread_id, after=after, limit=len(part))
        if [message.id for message in found] != [message.id for message in part]:
            # It went, or became another line, while this was made.
            self.summaries.delete(place.scope, place.thread_id)
            return False
        return True

    def _part(self, place: Place, former: Summary | None, least: int) -> list[ChatMessage]:
        limit = PAGE
        while True:
            messages = _after(place, former, limit)
            settled = settle(place, messages)
            if settled.ended:
                messages = _after(place, former, limit)
            is_all = len(messages) < limit
            if is_all and self.coverage.tokens(messages) <= least:
                return []
            part = self.coverage.part(messages, settled.running | _unanswered(place, messages, is_all))
            if part or is_all:
                return part
            limit *= 2

    def _claim(self, claims: Claims, place: Place, former: Summary | None, by_hand: bool) -> Claim | None:
        plugin, scope, thread_id = place.plugin, place.scope, place.thread_id
        newest = plugin.load_messages(scope, thread_id, limit=1)
        if not newest:
            return None

        def has_grown(since: int) -> bool:
            return self.coverage.tokens(plugin.load_messages(scope, thread_id, after=since)) > self.coverage.threshold

        covered = former.last if former else 0
        return claims.take(covered, sequence_of(newest[-1]), plugin.clock(), has_grown, by_hand=by_hand)

    def _made(self, place: Place, former: Summary | None, part: list[ChatMessage]) -> Summary:
        now = timestamp(place.plugin.clock())
        known = former or Summary(thread_id=place.thread_id, timestamp=now)
        return self.condense.summary(msgspec.structs.replace(known, timestamp=now), part, self.coverage)


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


def _log_failure(place: Place, error: Exception, **facts: int) -> None:
    where = {"chatbot": place.scope.chatbot, "thread_id": place.thread_id}
    log_event(logger, logging.ERROR, "a thread was not summarised", error, **where, **facts)
