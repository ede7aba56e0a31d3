"""The ability of a plugin to give threads to another scope."""

from __future__ import annotations

import abc
import collections.abc as cabc
import typing as t

from ...message import ChatMessage
from ..records import Scope


class Reseals(t.Protocol):
    """Makes what a thread holds fit another place, for a wrapper that binds it to its place."""

    def messages(self, old: str, new: str, messages: cabc.Iterable[ChatMessage]) -> list[ChatMessage]:
        """Return messages of the source's thread ``old`` as the target's thread ``new`` keeps them."""

    def title(self, thread_id: str, title: str) -> str:
        """Return the title of a thread of the source as the target keeps it; not asked if there is none."""

    def comment(self, old: str, new: str, message_id: str, comment: str) -> str:
        """Return a comment on a message of the source's thread ``old`` as the target's thread ``new`` keeps it."""

    def live_text(self, thread_id: str, turn: str, text: str) -> str:
        """Return what a turn of a thread told before it died, as the target keeps it; not asked if that is nothing."""


class MovesThreads(abc.ABC):
    """The ability to give the threads of one scope to another."""

    @abc.abstractmethod
    def move_threads(self, source: Scope, target: Scope, *, reseal: Reseals | None = None) -> int:
        """Move all threads of ``source`` that have no running turn; return how many were left for that reason.

        With ``threads="one"`` and an existing conversation of ``target``, the messages of the current thread are
        appended to it as one batch with the key ``"adopt:" + thread id``, ids and times kept, and the thread is
        deleted. Interrupted anywhere, it can be repeated with the same result.

        :param reseal: is given every message, title, comment and text of a turn that moves, and gives what is stored
            instead.
        """
