"""Who summarises a thread: one worker at a time, and none for ever in vain."""

from __future__ import annotations

import collections.abc as cabc
import logging
import typing as t

import msgspec

from .errors import CorruptRecord
from .errors import NewerFormat
from .events import log_event
from .storage.domains import DomainStorage

logger = logging.getLogger(__name__)

HELD = 300.0
"""Seconds after which a worker that has not told how it ended counts as dead."""
PAUSES = (60.0, 600.0)
"""Seconds after a first and a second failure. After a third, the thread must have grown."""


class Claim(msgspec.Struct, frozen=True):
    """An attempt to cover the messages after a range.

    :param name: of its document.
    :param number: how many attempts there have been, this one included.
    :param begun: UNIX time in seconds.
    :param newest: the sequence of the newest message of the thread by then.
    """

    name: str
    number: int
    begun: float
    newest: int
    failed: bool = False

    def may_follow(self, now: float, has_grown: cabc.Callable[[int], bool], by_hand: bool) -> bool:
        """Tell whether it is time for another attempt.

        :param has_grown: tells whether much has come after a sequence.
        """
        if not self.failed and self.begun > now - HELD:
            return False
        # One that was held for too long has failed: its worker is dead, or waits for ever.
        if by_hand:
            return True
        place = self.number % (len(PAUSES) + 1)
        return self.begun <= now - PAUSES[place - 1] if place else has_grown(self.newest)


class Claims:
    """The attempts to summarise one thread; each is a document that only one worker can create.

    :param storage: the summaries of the owner.
    :param name: of the thread's summary.
    """

    def __init__(self, storage: DomainStorage, name: str) -> None:
        self._storage = storage
        self._folder = f"{name}/claims"

    def take(
        self, covered: int, newest: int, now: float, has_grown: cabc.Callable[[int], bool], *, by_hand: bool = False
    ) -> Claim | None:
        """Return the claim to what comes after a range; None if it is another's, or too early for it.

        :param covered: the last sequence of the range.
        :param newest: the sequence of the newest message of the thread.
        :param now: UNIX time in seconds.
        :param has_grown: tells whether much has come after a sequence.
        :param by_hand: failures of others do not count.
        """
        former = self._newest(covered)
        if former is not None and not former.may_follow(now, has_grown, by_hand):
            return None
        number = former.number + 1 if former else 1
        claim = Claim(f"{self._folder}/{covered}/{number}", number, now, newest)
        return claim if self._storage.create(claim.name, _document(claim)) else None

    def fail(self, claim: Claim) -> None:
        """Note that an attempt has come to nothing."""
        self._storage.save(claim.name, _document(msgspec.structs.replace(claim, failed=True)))

    def drop(self, claim: Claim | None = None) -> None:
        """Forget an attempt, or all: what they were for is done."""
        for name in [claim.name] if claim else self._storage.list(f"{self._folder}/*"):
            self._storage.delete(name)

    def _newest(self, covered: int) -> Claim | None:
        try:
            found = self._storage.load_all(f"{self._folder}/{covered}/*")
            claims = [_claim(name, document) for name, document in found]
        except NewerFormat:
            raise
        except (CorruptRecord, ValueError, KeyError, TypeError) as error:
            # Of attempts that nobody can read, nobody could tell when it is time for the next.
            log_event(logger, logging.ERROR, "claims to a summary cannot be read; they are dropped", error)
            self.drop()
            return None
        return max(claims, key=lambda claim: claim.number, default=None)


def _document(claim: Claim) -> dict[str, t.Any]:
    return {"timestamp": claim.begun, "newest": claim.newest, "failed": claim.failed}


def _claim(name: str, document: cabc.Mapping[str, t.Any]) -> Claim:
    number = int(name.rpartition("/")[2])
    return Claim(name, number, float(document["timestamp"]), int(document["newest"]), bool(document["failed"]))
