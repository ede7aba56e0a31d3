"""The ledger of a scope that is kept as a whole."""

from __future__ import annotations

import collections.abc as cabc

from ...message import ChatMessage
from ..counting import day_of
from ..ledger import digest_of
from ..ledger import Ledger
from ..ledger import spent

ANSWERS_KEPT = 50


class AnswersLedger(Ledger, frozen=True, omit_defaults=True):
    """A ledger that knows which answers it has counted last.

    :param counted: their digests.
    """

    counted: list[str] = []

    def count(self, answer: cabc.Sequence[ChatMessage], thread_id: str, key: str | None, now: float) -> bool:
        """Add an answer; tell whether it was not counted yet."""
        digest = digest_of(thread_id, key)
        if digest in self.counted or not answer:
            return False
        self.add(day_of(now), spent(answer))
        if digest:
            self.counted.append(digest)
            del self.counted[:-ANSWERS_KEPT]
        return True
