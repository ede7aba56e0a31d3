"""A plugin that leaves all operations to another."""

from __future__ import annotations

import abc
import collections.abc as cabc
import functools
import inspect
import typing as t

P = t.TypeVar("P", bound=type)

OWN = "after_fork"
"""What every plugin does for itself."""


def forwarding(cls: P) -> P:
    """Let a class leave to its ``_picked`` every operation of the contract and abilities that it does not define."""
    for base in cls.__mro__[1:-1]:
        for name, operation in vars(base).items():
            if inspect.isfunction(operation) and not name.startswith("_") and name not in (OWN, *vars(cls)):
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
