"""What stands in for a plugin while nobody can tell which one it is."""

from __future__ import annotations

import collections.abc as cabc
import typing as t

from ..errors import StorageError
from ..message import ChatMessage
from .abilities import MovesThreads
from .abilities import Reseals
from .base import ChatMemoryPlugin
from .records import Scope
from .rules import new_id


class UnreachablePlugin(ChatMemoryPlugin, MovesThreads):
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

    def has_thread(self, scope: Scope, thread_id: str) -> bool:
        self._fail()

    def load_messages(
        self,
        scope: Scope,
        thread_id: str,
        *,
        limit: int | None = None,
        before: int | None = None,
        after: int | None = None,
    ) -> list[ChatMessage]:
        self._fail()

    def save_messages(self, scope: Scope, thread_id: str, messages: cabc.Sequence[ChatMessage]) -> None:
        self._fail()

    def delete_thread(self, scope: Scope, thread_id: str) -> bool:
        self._fail()

    def move_threads(self, source: Scope, target: Scope, *, reseal: Reseals | None = None) -> int:
        self._fail()

    def _fail(self) -> t.NoReturn:
        raise StorageError(self._text) from self._cause
