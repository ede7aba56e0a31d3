"""What stands in for a plugin while nobody can tell which one it is."""

from __future__ import annotations

import typing as t

from ..errors import StorageError
from .abilities import CountsUsage
from .abilities import DescribesThreads
from .abilities import HidesMessages
from .abilities import KeepsLiveTurns
from .abilities import ListsThreads
from .abilities import MarksMessages
from .abilities import MovesThreads
from .abilities import PurgesThreads
from .abilities import SearchesMessages
from .base import ChatMemoryPlugin
from .forwarding import forwarding
from .rules import new_id


@forwarding
class UnreachablePlugin(
    HidesMessages,
    MarksMessages,
    SearchesMessages,
    KeepsLiveTurns,
    ListsThreads,
    DescribesThreads,
    MovesThreads,
    PurgesThreads,
    CountsUsage,
    ChatMemoryPlugin,
):
    """Fails in every operation, as a store that is down does.

    :param text: says what failed.
    :param cause: why.
    """

    def __init__(self, text: str, cause: Exception) -> None:
        super().__init__()
        self._text = text
        self._cause = cause

    def create_thread_id(self) -> str:
        return new_id()

    def close(self) -> None:
        pass

    @property
    def _picked(self) -> t.NoReturn:
        raise StorageError(self._text) from self._cause


def unreachable(text: str, cause: Exception) -> ChatMemoryPlugin:
    """Make such a plugin."""
    return UnreachablePlugin(text, cause)  # type: ignore[abstract]  # The decorator makes the operations.
