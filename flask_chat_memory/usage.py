"""Token counts, as providers report them."""

from __future__ import annotations

import collections.abc as cabc
import typing as t

import msgspec


class Usage(msgspec.Struct, frozen=True, omit_defaults=True):
    """Token counts of one model call; None is unknown."""

    input: int | None = None
    output: int | None = None
    cached: int | None = None
    reasoning: int | None = None
    total: int | None = None

    @classmethod
    def of(cls, value: object) -> Usage:
        """Read a Usage, a dict, or the usage object of a provider's client.

        Our own names and those of the OpenAI and Anthropic APIs are known (``prompt_tokens``, ``input_tokens``,
        ``prompt_tokens_details.cached_tokens`` ...). What is no count (negative, not an int) is unknown.
        """
        if isinstance(value, Usage):
            return value
        return cls(**{name: _first_count(value, paths) for name, paths in _USAGE_PATHS.items()})


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
