"""A plugin that leaves all operations to another."""

from __future__ import annotations

import abc
import collections.abc as cabc
import functools
import inspect
import typing as t

P = t.TypeVar("P", bound=type)

OWN = ("after_fork", "is_expired")
"""What every plugin does for itself."""


def forwarding(cls: P) -> P:
    """Let a class forward all operations of the contract and the abilities that it inherits to its ``_picked``."""
    for base in cls.__mro__[1:-1]:
        for name, operation in vars(base).items():
            if inspect.isfunction(operation) and not name.startswith("_") and name not in OWN:
                setattr(cls, name, _forward(operation))
    abc.update_abstractmethods(cls)
    return cls


def _forward(operation: cabc.Callable[..., t.Any]) -> cabc.Callable[..., t.Any]:
    name = operation.__name__

    # Without the attributes, one of which says that it is abstract.
    @functools.wraps(operation, updated=())
    def forward(self: t.Any, *arguments: t.Any, **named: t.Any) -> t.Any:
        return getattr(self._picked, name)(*arguments, **named)

    return forward
