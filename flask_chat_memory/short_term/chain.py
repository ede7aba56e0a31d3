"""The chain of short-term memories that a configuration names."""

from __future__ import annotations

import collections.abc as cabc
import inspect
import sys
import typing as t

from ..errors import ConfigurationError
from ..message import ChatMessage
from .base import ShortTermMemory
from .history import History
from .window import Window

KINDS: dict[str, cabc.Callable[..., ShortTermMemory]] = {"window": Window}

Chain = tuple[ShortTermMemory, ...]


def make_chain(specifications: t.Any, where: str) -> Chain:
    """Make the short-term memories of a configuration: a list of dicts with ``type`` and that type's options.

    :param where: the configuration key, for errors.
    :raises ConfigurationError: naming the key, the value and what is allowed.
    """
    if not isinstance(specifications, (list, tuple)):
        raise ConfigurationError(f"{where} must be a list of dicts, not {type(specifications).__name__}")
    return tuple(_make(item, f"{where}[{position}]") for position, item in enumerate(specifications))


def _make(specification: t.Any, where: str) -> ShortTermMemory:
    kind = specification.get("type") if isinstance(specification, cabc.Mapping) else None
    if not isinstance(kind, str) or kind not in KINDS:
        raise ConfigurationError(f"{where} is {specification!r}; it needs a type, one of: {', '.join(KINDS)}")
    options = {name: value for name, value in specification.items() if name != "type"}
    allowed = inspect.signature(KINDS[kind]).parameters
    for name in options:
        if name not in allowed:
            raise ConfigurationError(f"{where} has no option {name!r}; the options are: {', '.join(allowed)}")
    try:
        return KINDS[kind](**options)
    except (TypeError, ValueError) as error:
        raise ConfigurationError(f"{where}: {error}") from error


def apply_chain(chain: Chain, history: History) -> list[ChatMessage]:
    """Let each short-term memory work on what the one before it left; without any, everything is seen."""
    for memory in chain:
        history = History.of(memory.view(history))
    return history.newest(sys.maxsize)
