"""What the answers of all scopes have cost."""

from __future__ import annotations

import collections.abc as cabc
import datetime as dt
import threading

from ...message import ChatMessage
from ..abilities import CountsUsage
from ..counting import Counts
from ..counting import counts_of
from ..counting import day_of
from ..counting import NOTHING
from ..counting import plus
from ..counting import select_days
from ..counting import usage_day
from ..records import FORGOTTEN
from ..records import Scope
from ..records import UsageDay


class Ledger:
    """Counts by scope, day and model; whoever uses it holds the lock of the plugin."""

    def __init__(self) -> None:
        self._counts: dict[Scope, dict[tuple[str, str], Counts]] = {}

    def add(self, scope: Scope, answer: cabc.Sequence[ChatMessage], now: float) -> None:
        counts = self._counts.setdefault(scope, {})
        for model, added in counts_of(answer).items():
            place = day_of(now), model
            counts[place] = plus(counts.get(place, NOTHING), added)

    def put(self, scope: Scope, day: str, model: str, numbers: Counts) -> None:
        self._counts.setdefault(scope, {})[day, model] = numbers

    def scopes(self) -> list[Scope]:
        return list(self._counts)

    def forget(self, scope: Scope) -> int:
        forgotten = self._counts.pop(scope, {})
        for place, counts in forgotten.items():
            nobody = self._counts.setdefault(Scope(FORGOTTEN, scope.chatbot), {})
            nobody[place] = plus(nobody.get(place, NOTHING), counts)
        return len(forgotten)

    def days(self, scope: Scope) -> list[UsageDay]:
        return [usage_day(scope.chatbot, *place, counts) for place, counts in self._counts.get(scope, {}).items()]


class InMemoryUsage(CountsUsage):
    """The ability, for the plugin that has this ledger."""

    _ledger: Ledger
    lock: threading.RLock

    def list_usage(self, scope: Scope, *, since: dt.date | None = None, until: dt.date | None = None) -> list[UsageDay]:
        with self.lock:
            return select_days(self._ledger.days(scope), since, until)

    def forget_usage(self, scope: Scope) -> int:
        with self.lock:
            return self._ledger.forget(scope)
