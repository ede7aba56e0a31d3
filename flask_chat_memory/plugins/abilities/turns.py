"""The abilities of a plugin for the turn of a conversation."""

from __future__ import annotations

import abc
import collections.abc as cabc

from ...message import ChatMessage
from ..records import Appended
from ..records import LiveTurn
from ..records import Renewal
from ..records import Scope


class CurrentThread(abc.ABC):
    """The ability to find a scope's one ongoing thread.

    A scope's first append makes its thread the current one. It counts as none once it is deleted or expired.
    """

    @abc.abstractmethod
    def current_thread(self, scope: Scope) -> str | None:
        """Return the id of the scope's current thread."""

    @abc.abstractmethod
    def load_current(self, scope: Scope, *, limit: int | None = None) -> tuple[str | None, list[ChatMessage]]:
        """Return the id of the current thread and its newest messages, in one round trip."""


class KeepsLiveTurns(abc.ABC):
    """The ability to tell a turn that is being answered from one whose process died.

    The live record starts with the question and ends with the answer, each in one step with the message. A record
    whose lease has run out is dead: the next reader ends the turn.
    """

    @abc.abstractmethod
    def start_turn(
        self,
        scope: Scope,
        thread_id: str,
        question: ChatMessage,
        *,
        key: str,
        live: LiveTurn,
        only_into: str | None = None,
        title: str | None = None,
        replaces: int | None = None,
        kept: cabc.Collection[int] = (),
    ) -> Appended:
        """Append the question and start the live record, unless the key is known already.

        :param only_into: as for :meth:`ChatMemoryPlugin.append_messages`.
        :param title: of the thread, if the question makes it; a plugin that keeps no titles passes it over.
        :param replaces: only where messages can be hidden: the sequence of the question in whose place this one is
            asked (:meth:`Lines.replaced`). The question is stored only while that one is visible in the named thread;
            else nothing is written, and the result has the sequence 0. Looked at after ``key``.
        :param kept: messages that stay where a question is replaced, by their sequences.
        """

    @abc.abstractmethod
    def renew_turns(self, turns: cabc.Collection[Renewal], lease: float) -> set[str]:
        """Extend the leases of turns, all of one process, to the UNIX time ``lease``, and keep what they tell.

        All of it is one round trip.

        :return: the ids of those that are to stop: somebody wants it, or the record is gone, as it is when the turn was
            ended or its thread deleted.
        """

    @abc.abstractmethod
    def stop_turn(self, scope: Scope, thread_id: str, turn: str) -> bool:
        """Note in the live record that the turn is to end; tell whether there is the record.

        Whoever renews it learns of that. This is no activity.
        """

    @abc.abstractmethod
    def end_turn(
        self,
        scope: Scope,
        thread_id: str,
        turn: str,
        messages: cabc.Sequence[ChatMessage],
        *,
        key: str,
        reply_to: str,
        only_into: str | None = None,
    ) -> Appended | None:
        """Append the answer as :meth:`ChatMemoryPlugin.append_messages` does and remove the live record."""

    @abc.abstractmethod
    def live_turns(self, scope: Scope, thread_id: str) -> list[LiveTurn]:
        """Return the live records of the thread, dead ones included."""
