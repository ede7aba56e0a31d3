"""The site's function that calls a model."""

from __future__ import annotations

import collections.abc as cabc
import importlib.util
import inspect
import typing as t

import flask

from .errors import ConfigurationError
from .stream import close_quietly

if t.TYPE_CHECKING:
    from .message import ChatMessage
    from .turn import Turn

Answer = t.Union[str, "ChatMessage", cabc.Iterable[str]]
Provider = cabc.Callable[["Turn"], Answer | cabc.Awaitable[Answer]]
"""Takes the turn; returns the answer as text, as an assistant message or in pieces of text; plain or async."""


def check_function(function: object, kind: str = "provider") -> None:
    """Refuse what cannot be a provider, or a function of another kind.

    :raises ConfigurationError: for an async generator, an async function without ``flask[async]``, no function.
    """
    if not callable(function):
        raise ConfigurationError(f"a {kind} is a function, not {type(function).__name__}")
    name = getattr(function, "__name__", type(function).__name__)
    called = _called(function)
    if inspect.isasyncgenfunction(called) or inspect.isasyncgenfunction(function):
        raise ConfigurationError(f"{kind} {name} is an async generator; make it a plain generator that yields text")
    if inspect.iscoroutinefunction(called) and importlib.util.find_spec("asgiref") is None:
        raise ConfigurationError(f"{kind} {name} is async; install flask[async]")


def plain_function(app: flask.Flask, function: cabc.Callable[..., t.Any]) -> cabc.Callable[..., t.Any]:
    """Return a function that can be called without ``await``."""
    called = _called(function)
    return app.ensure_sync(called if inspect.iscoroutinefunction(called) else function)


def _called(function: t.Any) -> t.Any:
    """Return the function that runs: of an object, its ``__call__``."""
    return function if inspect.isroutine(function) else function.__call__


def run(provider: Provider, turn: Turn) -> cabc.Iterator[str]:
    """Call the provider when the first piece is wanted, and yield its text in pieces."""
    answer = provider(turn)
    try:
        yield from turn.pieces(answer)
    finally:
        # What is iterated may be another object than what was opened.
        close_quietly(answer)
