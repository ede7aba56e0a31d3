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


def _first_count(value: object, paths: tuple[str, ...]) -> int | None:
    for path in paths:
        found: t.Any = value
        for name in path.split("."):
            found = found.get(name) if isinstance(found, cabc.Mapping) else getattr(found, name, None)
        if type(found) is int and found >= 0:
            return found
    return None
