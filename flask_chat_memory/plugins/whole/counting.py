"""What the answers of all scopes have cost."""

from __future__ import annotations

import abc
import collections.abc as cabc
import datetime as dt
import logging
import typing as t

import msgspec

from ...errors import CorruptRecord
from ...events import log_event
from ...message import ChatMessage
from ..abilities import CountsUsage
from ..records import FORGOTTEN
from ..records import Scope
from ..records import UsageDay
from ..rules import new_id
from .holding import Holding
from .ledger import Leaving

logger = logging.getLogger(__name__)


class Counting(CountsUsage, Holding, abc.ABC):
    """The ability, for the plugin that has these threads."""

    def list_usage(self, scope: Scope, *, since: dt.date | None = None, until: dt.date | None = None) -> list[UsageDay]:
        with self._reading:
            return self._threads.load_ledger(scope).select(since, until)

    def forget_usage(self, scope: Scope) -> int:
        threads, nobody = self._threads, Scope(FORGOTTEN, scope.chatbot)
        lines: set[tuple[str, str]] = set()
        with self.lock:
            ledger = threads.load_ledger(scope)
            # Perhaps twice: what is leaving is what an interruption has left.
            while ledger.days or ledger.leaving:
                if ledger.leaving is None:
                    ledger = ledger.set_aside(new_id())
                    threads.keep_ledger(scope, ledger)
                leaving = t.cast(Leaving, ledger.leaving)
                forgotten = threads.load_ledger(nobody)
                if forgotten.take(leaving):
                    threads.keep_ledger(nobody, forgotten)
                lines |= {(day, model) for day, models in leaving.days.items() for model in models}
                ledger = msgspec.structs.replace(ledger, leaving=None)
            threads.drop_ledger(scope)
        return len(lines)

    def _count(self, scope: Scope, thread_id: str, answer: cabc.Sequence[ChatMessage], key: str | None) -> None:
        """Count an answer, before it is stored: one that a crash kept from it is not counted again when it comes.

        A ledger that cannot be read is left as it is, for the answer is worth more than its count.
        """
        try:
            ledger = self._threads.load_ledger(scope)
        except CorruptRecord as error:
            log_event(logger, logging.ERROR, "an answer is not counted", error)
            return
        if ledger.count(answer, thread_id, key, self.clock()):
            self._threads.keep_ledger(scope, ledger)
