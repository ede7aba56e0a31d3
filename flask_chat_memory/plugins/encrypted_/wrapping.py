"""What all of the wrapper knows: the wrapped plugin, and how what it keeps is hidden."""

from __future__ import annotations

import abc
import collections.abc as cabc
import typing as t

from ...message import ChatMessage
from ..abilities import CurrentThread
from ..base import ChatMemoryPlugin
from ..records import Appended
from ..records import Scope
from ..rules import Sealed
from .sealing import Sealing

Write = cabc.Callable[..., Appended | None]


class Wrapping(ChatMemoryPlugin, abc.ABC):
    """A plugin that has another one keep what it hides."""

    _wrapped: t.Any
    _sealing: Sealing

    @property
    def wrapped(self) -> ChatMemoryPlugin:
        """The plugin that keeps what is hidden."""
        return t.cast(ChatMemoryPlugin, self._wrapped)

    @property
    def sealing(self) -> Sealing:
        """How that is hidden."""
        return self._sealing

    def _write(
        self,
        write: Write,
        scope: Scope,
        thread_id: str,
        messages: cabc.Iterable[ChatMessage],
        only_into: str | None,
    ) -> Appended | None:
        """Seal a batch for the thread that it goes to, which only the store knows for sure, and write it.

        :param write: is given the sealed batch and, where it might go elsewhere, ``only_into``.
        """
        messages = list(messages)
        if not (self.options.threads == "one" and isinstance(self._wrapped, CurrentThread)):
            only = {} if only_into is None else {"only_into": only_into}
            return write(self._sealing.seal(scope, thread_id, messages), **only)
        goal = only_into or thread_id
        while True:
            appended = write(self._sealing.seal(scope, goal, messages), only_into=goal)
            if appended is None or appended.sequence or not messages or only_into is not None:
                return appended
            goal = appended.thread_id

    def _seal_title(self, scope: Scope, thread_id: str, title: str | None) -> str | None:
        return None if title is None else Sealed(self._sealing.seal_text(title, "title", scope, thread_id))
