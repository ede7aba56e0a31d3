"""The ledger of a scope that is kept as a whole."""

from __future__ import annotations

import collections.abc as cabc

import msgspec

from ...message import ChatMessage
from ..counting import day_of
from ..ledger import digest_of
from ..ledger import Ledger
from ..ledger import Models
from ..ledger import spent

ANSWERS_KEPT = 50


class Leaving(msgspec.Struct, frozen=True):
    """What is on its way to the ledger of nobody.

    :param name: tells it from whatever else went there.
    """

    name: str
    days: dict[str, Models]


class AnswersLedger(Ledger, frozen=True, omit_defaults=True):
    """A ledger that knows which answers it has counted last.

    :param counted: their digests, and the names of what was taken from other ledgers.
    """

    counted: list[str] = []
    leaving: Leaving | None = None

    def count(self, answer: cabc.Sequence[ChatMessage], thread_id: str, key: str | None, now: float) -> bool:
        """Add an answer; tell whether it was not counted yet."""
        digest = digest_of(thread_id, key)
        if digest in self.counted or not answer:
            return False
        self.add(day_of(now), spent(answer))
        if digest:
            self._remember(digest)
        return True

    def set_aside(self, name: str) -> AnswersLedger:
        """Return the ledger with all its days on their way to that of nobody."""
        return msgspec.structs.replace(self, days={}, leaving=Leaving(name, self.days))

    def take(self, leaving: Leaving) -> bool:
        """Add what comes from another ledger; tell whether it was not added yet."""
        if leaving.name in self.counted:
            return False
        for day, models in leaving.days.items():
            self.add(day, models)
        self._remember(leaving.name)
        return True

    def _remember(self, name: str) -> None:
        self.counted.append(name)
        del self.counted[:-ANSWERS_KEPT]
