"""What the answers of a scope have cost: a hash that no thread takes with it."""

from __future__ import annotations

import abc
import collections.abc as cabc
import datetime as dt
import secrets

from ...errors import CorruptRecord
from ...message import ChatMessage
from ..abilities import CountsUsage
from ..counting import COUNTED
from ..counting import counts_of
from ..counting import day_of
from ..counting import select_days
from ..counting import usage_day
from ..records import FORGOTTEN
from ..records import Scope
from ..records import UsageDay
from . import scripts
from .calling import RedisCalls

_TOKEN = "token"
"""The field that tells one forgetting from another; a field of the ledger begins with a day."""


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

    def forget_usage(self, scope: Scope) -> int:
        index, nobody = self._index(scope), self._index(Scope(FORGOTTEN, scope.chatbot))
        lines: set[tuple[str, str]] = set()
        # Twice: the first time may only end what was interrupted.
        for _ in range(2):
            token = secrets.token_hex(8)
            frozen = self._server.run(scripts.FREEZE_USAGE, index, {"token": token}, repeatable=True)
            if not frozen:
                break
            pairs = map(bytes.decode, frozen)
            fields = dict(zip(pairs, pairs, strict=True))
            token = fields[_TOKEN]
            counts = {field: number for field, number in fields.items() if " " in field}
            lines |= {(day, model) for day, _, model in (field.split(" ", 2) for field in counts)}
            whose = {"owner": FORGOTTEN, "chatbot": scope.chatbot}
            told = {**whose, "token": token, "fields": [text for pair in counts.items() for text in pair]}
            self._server.run(scripts.ADD_USAGE, nobody, told, repeatable=True)
            self._server.run(scripts.THAW_USAGE, index, {"token": token}, repeatable=True)
        return len(lines)
