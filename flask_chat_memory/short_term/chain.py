"""The chain of short-term memories that a configuration names."""

from __future__ import annotations

import collections.abc as cabc
import importlib.metadata
import inspect
import typing as t

import msgspec

from ..errors import ConfigurationError
from ..message import ChatMessage
from ..plugins.importing import import_named
from .base import Prompt
from .base import ShortTermMemory
from .base import View
from .budget import Budget
from .coverage import Coverage
from .history import EVERYTHING
from .history import History

BUILT_IN = {
    "window": f"{__package__}.window:Window",
    "tokens": f"{__package__}.tokens:Tokens",
    "hierarchical": f"{__package__}.hierarchical:Hierarchical",
}
"""Id -> where the class is."""
ENTRY_POINTS = "flask_chat_memory.short_term"

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
    kind = _find(specification.get("type") if isinstance(specification, cabc.Mapping) else None)
    if kind is None:
        known = ", ".join(sorted({*BUILT_IN, *_entry_points()}))
        raise ConfigurationError(
            f'{where} is {specification!r}; it needs a type, a ShortTermMemory: its class, "module:Class", '
            f"or one of: {known}"
        )
    options = {name: value for name, value in specification.items() if name != "type"}
    allowed = inspect.signature(kind).parameters
    for name in options:
        if name not in allowed:
            raise ConfigurationError(f"{where} has no option {name!r}; the options are: {', '.join(allowed)}")
    try:
        return kind(**options)
    except (TypeError, ValueError) as error:
        raise ConfigurationError(f"{where}: {error}") from error


def _find(kind: t.Any) -> type[ShortTermMemory] | None:
    if isinstance(kind, str):
        path = BUILT_IN.get(kind) or _entry_points().get(kind) or kind
        kind = import_named(path, f"short-term memory {kind!r}", None, ConfigurationError) if ":" in path else None
    return kind if isinstance(kind, type) and issubclass(kind, ShortTermMemory) else None


def _entry_points() -> dict[str, str]:
    return {point.name: point.value for point in importlib.metadata.entry_points(group=ENTRY_POINTS)}


def apply_chain(chain: Chain, history: History, prompt: Prompt) -> View:
    """Let each short-term memory work on what the one before it left; without any, everything is seen."""
    counted = None
    for memory in chain:
        view = memory.view(history, prompt)
        counted = view if view.budget else counted
        prompt = msgspec.structs.replace(prompt, summary=view.summary or prompt.summary)
        history = History.of(view.messages, history)
    messages = history.newest(EVERYTHING)
    return View(messages, _counted(counted, messages), prompt.summary)


def _counted(view: View | None, messages: list[ChatMessage]) -> Budget | None:
    """Return the budget of a view, of which those behind it in the chain may have left fewer messages."""
    budget = view.budget if view else None
    if view is None or budget is None or view.estimate is None or len(messages) == len(view.messages):
        return budget
    seen = sum(message.role == "user" for message in messages) + (view.summary.turns if view.summary else 0)
    return msgspec.structs.replace(budget, history=view.estimate(messages), dropped=max(budget.turns - seen, 0))


def coverage_of(chain: Chain) -> Coverage | None:
    """Return when the threads of a chain are summarised, and how far; None if it shows no summary."""
    return next((memory.coverage for memory in chain if memory.coverage is not None), None)
