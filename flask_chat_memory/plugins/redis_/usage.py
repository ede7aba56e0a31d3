"""What the answers of a scope have cost: a hash that no thread takes with it."""

from __future__ import annotations

import abc
import collections.abc as cabc
import datetime as dt

from ...errors import CorruptRecord
from ...message import ChatMessage
from ..abilities import CountsUsage
from ..counting import COUNTED
from ..counting import counts_of
from ..counting import day_of
from ..counting import select_days
from ..counting import usage_day
from ..records import Scope
from ..records import UsageDay
from . import scripts
from .calling import RedisCalls


def usage_fields(answer: cabc.Sequence[ChatMessage], now: float) -> list[str]:
    """Return the fields of the hash that an answer adds to, each with the number as text."""
    day = day_of(now)
    fields = []
    for model, counts in counts_of(answer).items():
        for name, count in zip(COUNTED, counts, strict=True):
            if count:
                fields += [f"{day} {name} {model}", str(count)]
    return fields


class RedisUsage(RedisCalls, CountsUsage, abc.ABC):
    """The ability."""

    def list_usage(self, scope: Scope, *, since: dt.date | None = None, until: dt.date | None = None) -> list[UsageDay]:
        found = iter(self._server.run(scripts.USAGE, self._index(scope), {}, repeatable=True))
        counts: dict[tuple[str, str], dict[str, int]] = {}
        for field, number in zip(found, found, strict=True):
            if field in (b"owner", b"chatbot"):
                continue
            try:
                day, name, model = field.decode().split(" ", 2)
                counts.setdefault((day, model), {})[name] = int(number)
            except ValueError as error:
                raise CorruptRecord("Redis: a line of a ledger of usage cannot be read") from error
        days = [
            usage_day(scope.chatbot, *place, [numbers.get(name, 0) for name in COUNTED])
            for place, numbers in counts.items()
        ]
        return select_days(days, since, until)
