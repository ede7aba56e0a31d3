"""Token counts, as providers report them."""

from __future__ import annotations

import collections.abc as cabc
import typing as t

import msgspec


class Counted(t.Protocol):
    """Numbers of tokens; None is unknown."""

    @property
    def input(self) -> int | None: ...

    @property
    def output(self) -> int | None: ...

    @property
    def cached(self) -> int | None: ...

    @property
    def reasoning(self) -> int | None: ...

    @property
    def total(self) -> int | None: ...


class Usage(msgspec.Struct, frozen=True, omit_defaults=True):
    """Token counts of one model call; None is unknown."""

    input: int | None = None
    output: int | None = None
    cached: int | None = None
    reasoning: int | None = None
    total: int | None = None

    @classmethod
    def sum(cls, counted: cabc.Iterable[Counted]) -> Usage:
        """Add up what is known; what is unknown adds nothing.

        :param counted: usages, or days of a ledger. A total that is not told is input and output.
        """
        sums = dict.fromkeys(cls.__struct_fields__, 0)
        for one in counted:
            for name in ("input", "output", "cached", "reasoning"):
                sums[name] += getattr(one, name) or 0
            sums["total"] += tokens_in(one)
        return cls(**sums)

    @classmethod
    def of(cls, value: object) -> Usage:
        """Read a Usage, a dict, or the usage object of a provider's client.

        Our own names and those of the OpenAI and Anthropic APIs are known (``prompt_tokens``, ``input_tokens``,
        ``prompt_tokens_details.cached_tokens`` ...). What is no count (negative, not an int) is unknown.
        """
        if isinstance(value, Usage):
            return value
        return cls(**{name: _first_count(value, paths) for name, paths in _USAGE_PATHS.items()})


def tokens_in(counted: Counted) -> int:
    """Return the total, or input and output where it is not told."""
    return counted.total if counted.total is not None else (counted.input or 0) + (counted.output or 0)


_USAGE_PATHS = {
    "input": ("input", "input_tokens", "prompt_tokens"),
    "output": ("output", "output_tokens", "completion_tokens"),
    "cached": (
        "cached",
        "cache_read_input_tokens",
        "input_tokens_details.cached_tokens",
        "prompt_tokens_details.cached_tokens",
    ),
    "reasoning": (
        "reasoning",
        "output_tokens_details.reasoning_tokens",
        "completion_tokens_details.reasoning_tokens",
    ),
    "total": ("total", "total_tokens"),
}


MOST = 2**53
"""The largest number that every reader of JSON tells from its neighbours."""


def _first_count(value: object, paths: tuple[str, ...]) -> int | None:
    for path in paths:
        found: t.Any = value
        for name in path.split("."):
            try:
                found = found.get(name) if isinstance(found, cabc.Mapping) else getattr(found, name, None)
            except Exception:
                # What a provider's object does is no reason to lose the answer.
                found = None
        if type(found) is int and 0 <= found <= MOST:
            return found
    return None
