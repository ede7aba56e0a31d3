"""What an answer adds to the ledger of its scope, as plain values."""

from __future__ import annotations

import collections.abc as cabc
import datetime as dt

from ..message import ChatMessage
from .records import UsageDay
from .rules import tokens_of

Counts = tuple[int, ...]
"""The numbers of a :class:`UsageDay` in the order of ``COUNTED``."""
COUNTED = ("turns", "input", "output", "cached", "reasoning", "total")
NOTHING: Counts = (0,) * len(COUNTED)


def model_calls(messages: cabc.Iterable[ChatMessage]) -> list[ChatMessage]:
    """Return the messages that tell of a model call, one for each call.

    What one call has answered may be stored as several messages, each with the usage of the call.
    """
    calls: dict[object, ChatMessage] = {}
    for place, message in enumerate(messages):
        if message.usage is not None:
            calls.setdefault(place if message.turn is None else (message.turn, message.model, message.usage), message)
    return list(calls.values())


def counts_of(messages: cabc.Sequence[ChatMessage]) -> dict[str, Counts]:
    """Return what an answer adds: model, ``""`` if it is not told, -> counts. The turn is the last message's."""
    added: dict[str, Counts] = {}
    if messages:
        added[messages[-1].model or ""] = (1, *NOTHING[1:])
    for call in model_calls(messages):
        usage = call.usage
        if usage is not None:
            told = (0, usage.input, usage.output, usage.cached, usage.reasoning, tokens_of(call))
            model = call.model or ""
            added[model] = plus(added.get(model, NOTHING), [count or 0 for count in told])
    return added


def plus(counts: cabc.Iterable[int], more: cabc.Iterable[int]) -> Counts:
    return tuple(map(sum, zip(counts, more, strict=True)))


def day_of(now: float) -> str:
    """Return the day of a UNIX time, of UTC, as ISO 8601 has it."""
    return dt.datetime.fromtimestamp(now, dt.UTC).date().isoformat()


def usage_day(chatbot: str, day: str, model: str, counts: cabc.Iterable[int]) -> UsageDay:
    numbers = dict(zip(COUNTED, counts, strict=True))
    return UsageDay(chatbot=chatbot, day=dt.date.fromisoformat(day), model=model or None, **numbers)


def select_days(
    days: cabc.Iterable[UsageDay], since: dt.date | None = None, until: dt.date | None = None
) -> list[UsageDay]:
    """Return what :meth:`CountsUsage.list_usage` returns, from all days of the scope."""
    found = [day for day in days if (since is None or day.day >= since) and (until is None or day.day <= until)]
    return sorted(found, key=lambda day: (day.day, day.model or ""))
