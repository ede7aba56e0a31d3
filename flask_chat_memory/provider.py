"""The site's function that calls a model."""

from __future__ import annotations

import collections.abc as cabc
import importlib.util
import inspect
import typing as t

from .errors import ConfigurationError

if t.TYPE_CHECKING:
    from .turn import Turn

Provider = cabc.Callable[["Turn"], t.Any]
"""Takes the turn; returns the answer as str, as :class:`ChatMessage` or as an iterable of str; plain or async."""


def check_provider(function: t.Any) -> None:
    """Refuse what cannot be a provider.

    :raises ConfigurationError: for an async generator, an async function without ``flask[async]``, no function.
    """
    if not callable(function):
        raise ConfigurationError(f"a provider is a function, not {type(function).__name__}")
    name = getattr(function, "__name__", repr(function))
    if inspect.isasyncgenfunction(function):
        raise ConfigurationError(f"provider {name} is an async generator; make it a plain generator that yields text")
    if inspect.iscoroutinefunction(function) and importlib.util.find_spec("asgiref") is None:
        raise ConfigurationError(f"provider {name} is async; install flask[async]")


def run(provider: Provider, turn: Turn) -> cabc.Iterator[str]:
    """Call the provider when the first piece is wanted, and yield its text in pieces."""
    answer = provider(turn)
    try:
        yield from turn.pieces(answer)
    finally:
        # What is iterated may be another object than what was opened.
        close = getattr(answer, "close", None)
        if close is not None:
            close()
