"""What an answer adds to the ledger of its scope, as plain values."""

from __future__ import annotations

import collections.abc as cabc
import datetime as dt

from ..errors import CorruptRecord
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
    known: set[object] = set()
    return [message for message in messages if _is_new(message, known)]


def tokens_each(messages: cabc.Iterable[ChatMessage]) -> list[int]:
    """Return what each message adds to the tokens of its thread: of the parts of one model call, only the first."""
    known: set[object] = set()
    return [tokens_of(message) if _is_new(message, known) else 0 for message in messages]


def _is_new(message: ChatMessage, known: set[object]) -> bool:
    """Tell whether a message tells of a model call that is not known yet, and add it."""
    if message.usage is None:
        return False
    call = (message.turn, message.model, message.usage)
    is_part = message.turn is not None and call in known
    known.add(call)
    return not is_part


def total_tokens(messages: cabc.Iterable[ChatMessage]) -> int:
    """Return what messages add to the tokens of their thread."""
    return sum(tokens_each(messages))


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
    """Return a line of a ledger.

    :raises CorruptRecord: if its day is none.
    """
    try:
        date = dt.date.fromisoformat(day)
    except ValueError as error:
        raise CorruptRecord("a line of the ledger of usage cannot be read") from error
    return UsageDay(chatbot=chatbot, day=date, model=model or None, **dict(zip(COUNTED, counts, strict=True)))


def numbers_of(day: UsageDay) -> Counts:
    """Return the numbers of a line of a ledger."""
    return tuple(getattr(day, name) for name in COUNTED)


def select_days(
    days: cabc.Iterable[UsageDay], since: dt.date | None = None, until: dt.date | None = None
) -> list[UsageDay]:
    """Return what :meth:`CountsUsage.list_usage` returns, from all days of the scope."""
    found = [day for day in days if (since is None or day.day >= since) and (until is None or day.day <= until)]
    return sorted(found, key=lambda day: (day.day, day.model or ""))
