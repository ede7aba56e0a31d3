"""What the answers of a scope have cost, in sums that hold no content."""

from __future__ import annotations

import collections.abc as cabc
import datetime as dt
import hashlib

import msgspec

from ..message import ChatMessage
from .counting import COUNTED
from .counting import Counts
from .counting import counts_of
from .counting import plus
from .counting import select_days
from .counting import usage_day
from .records import UsageDay

Models = dict[str, dict[str, int]]
"""Model -> what is counted -> number."""


class Ledger(msgspec.Struct, frozen=True):
    """What all answers have cost, by day."""

    owner: str
    chatbot: str
    days: dict[str, Models] = {}

    def add(self, day: str, added: Models) -> None:
        models = self.days.setdefault(day, {})
        for model, numbers in added.items():
            models[model] = _numbers(plus(_counts(models.get(model, {})), _counts(numbers)))

    def put(self, day: str, model: str, counts: Counts) -> None:
        """Let the sums of a day and a model be these."""
        self.days.setdefault(day, {})[model] = _numbers(counts)

    def select(self, since: dt.date | None = None, until: dt.date | None = None) -> list[UsageDay]:
        """Return what :meth:`CountsUsage.list_usage` returns."""
        found = [
            usage_day(self.chatbot, day, model, _counts(numbers))
            for day, models in self.days.items()
            for model, numbers in models.items()
        ]
        return select_days(found, since, until)


def spent(answer: cabc.Sequence[ChatMessage]) -> Models:
    """Return what an answer adds to its day."""
    return {model: _numbers(counts) for model, counts in counts_of(answer).items()}


def digest_of(thread_id: str, key: str | None) -> str:
    """Return what tells an answer from others, by the key of its append; of one without, nothing."""
    return "" if key is None else hashlib.blake2b(f"{thread_id}\0{key}".encode(), digest_size=16).hexdigest()


def _counts(numbers: cabc.Mapping[str, int]) -> Counts:
    return tuple(numbers.get(name, 0) for name in COUNTED)


def _numbers(counts: Counts) -> dict[str, int]:
    return dict(zip(COUNTED, counts, strict=True))
