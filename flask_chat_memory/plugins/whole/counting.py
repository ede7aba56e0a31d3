"""What the answers of all scopes have cost."""

from __future__ import annotations

import abc
import collections.abc as cabc
import datetime as dt
import logging

from ...errors import CorruptRecord
from ...message import ChatMessage
from ..abilities import CountsUsage
from ..records import Scope
from ..records import UsageDay
from .holding import Holding

logger = logging.getLogger(__name__)


class Counting(CountsUsage, Holding, abc.ABC):
    """The ability, for the plugin that has these threads."""

    def list_usage(self, scope: Scope, *, since: dt.date | None = None, until: dt.date | None = None) -> list[UsageDay]:
        with self._reading:
            return self._threads.load_ledger(scope).select(since, until)

    def _count(self, scope: Scope, thread_id: str, answer: cabc.Sequence[ChatMessage], key: str | None) -> None:
        """Count an answer, before it is stored: one that a crash kept from it is not counted again when it comes.

        A ledger that cannot be read is left as it is, for the answer is worth more than its count.
        """
        try:
            ledger = self._threads.load_ledger(scope)
        except CorruptRecord as error:
            logger.error("an answer is not counted: %s", error)
            return
        if ledger.count(answer, thread_id, key, self.clock()):
            self._threads.keep_ledger(scope, ledger)
