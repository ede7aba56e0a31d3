"""What a plugin may be able to do besides the operations of every plugin."""

from __future__ import annotations

import abc
import collections.abc as cabc
import datetime as dt
import itertools
import typing as t

from ..message import ChatMessage
from .records import Appended
from .records import LiveTurn
from .records import Position
from .records import Purged
from .records import Renewal
from .records import Scope
from .records import Thread
from .records import ThreadChanges
from .records import UsageDay


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
    ) -> Appended:
        """Append the question and start the live record, unless the key is known already.

        :param only_into: as for :meth:`ChatMemoryPlugin.append_messages`.
        """

    @abc.abstractmethod
    def renew_turns(self, turns: cabc.Collection[Renewal], lease: float) -> set[str]:
        """Extend the leases of turns, all of one process, to the UNIX time ``lease``, and keep what they tell.

        Turns that have ended in the meantime are passed over. All of it is one round trip.

        :return: the ids of those whose stop is wanted.
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


class Reseals(t.Protocol):
    """Makes what a thread holds fit another place, for a wrapper that binds it to its place."""

    def messages(self, old: str, new: str, messages: cabc.Iterable[ChatMessage]) -> list[ChatMessage]:
        """Return messages of the source's thread ``old`` as the target's thread ``new`` keeps them."""

    def title(self, thread_id: str, title: str) -> str:
        """Return the title of a thread of the source as the target keeps it; not asked if there is none."""


class MovesThreads(abc.ABC):
    """The ability to give the threads of one scope to another."""

    @abc.abstractmethod
    def move_threads(self, source: Scope, target: Scope, *, reseal: Reseals | None = None) -> int:
        """Move all threads of ``source`` that have no running turn; return how many were left for that reason.

        With ``threads="one"`` and an existing conversation of ``target``, the messages of the current thread are
        appended to it as one batch with the key ``"adopt:" + thread id``, ids and times kept, and the thread is
        deleted. Interrupted anywhere, it can be repeated with the same result.

        :param reseal: is given every message and title that moves, and gives what is stored instead.
        """


class ListsThreads(abc.ABC):
    """The ability to list the threads of a scope."""

    @abc.abstractmethod
    def list_threads(
        self,
        scope: Scope,
        *,
        limit: int | None = None,
        before: Position | None = None,
        pinned: bool | None = None,
        archived: bool | None = None,
    ) -> list[Thread]:
        """Return threads of the scope, the newest activity first, without reading a message.

        Threads of equal activity come in an order of the store's own, the same each time. What cannot be read of a
        thread is logged and left out; the others are listed.

        :param limit: at most so many threads. 0 gives none.
        :param before: only what comes after this place in the list: :attr:`Thread.position` of the last one shown.
        :param pinned: only threads that are pinned, or only those that are not.
        :param archived: only threads that are archived, or only those that are not.
        :raises ValueError: for a limit that is negative or no int.
        """


class DescribesThreads(abc.ABC):
    """The ability to keep a title and the like with a thread."""

    @abc.abstractmethod
    def find_thread(self, scope: Scope, thread_id: str) -> Thread | None:
        """Return what is known of a thread of the scope."""

    @abc.abstractmethod
    def update_thread(self, scope: Scope, thread_id: str, **changes: t.Unpack[ThreadChanges]) -> bool:
        """Change what is given and nothing else; tell whether there is the thread.

        This is no activity: neither the place in the list nor the expiry changes.

        :raises ValueError: for text that is too long.
        """


class PurgesThreads(abc.ABC):
    """The ability to go through the threads of all scopes; meant for the site's operator, not for requests."""

    @abc.abstractmethod
    def all_threads(self, *, chatbot: str | None = None) -> cabc.Iterator[tuple[Scope, Thread]]:
        """Yield every thread that is stored, expired or not, in no order, with bounded memory.

        A record that cannot be read is logged and passed over. What is written meanwhile may be among them or not.
        """

    @abc.abstractmethod
    def purge_thread(self, scope: Scope, thread_id: str, before: float) -> int | None:
        """Delete the thread if its last activity is before a UNIX time in seconds and no turn of it is running.

        The activity is looked at in the step that deletes.

        :return: the number of messages that went with it, or None if it is not there or stays.
        """

    def purge_threads(self, before: float, *, chatbot: str | None = None, batch: int = 500) -> cabc.Iterator[Purged]:
        """Do with all threads what :meth:`purge_thread` does with one.

        Yields after each batch of at most ``batch`` threads, so that whoever stops in between has lost nothing.
        """
        threads = self.all_threads(chatbot=chatbot)
        idle = ((scope, thread) for scope, thread in threads if thread.last_activity < before)
        while chunk := list(itertools.islice(idle, batch)):
            counts = [self.purge_thread(scope, thread.id, before) for scope, thread in chunk]
            removed = [count for count in counts if count is not None]
            yield Purged(len(removed), sum(removed))


class CountsUsage(abc.ABC):
    """The ability to count what answers cost, in a ledger that holds no content and outlives the threads.

    An append with ``reply_to`` is an answer: in the same step, its turn and its usage are added to the day, of UTC. A
    repeat adds nothing. An answer that is not stored because its question is gone has cost as much, and counts.
    Whatever else is stored (replaced, imported, moved) does not count, and moving threads moves no usage.
    """

    @abc.abstractmethod
    def list_usage(self, scope: Scope, *, since: dt.date | None = None, until: dt.date | None = None) -> list[UsageDay]:
        """Return what the answers of the scope have cost, by day and model, in this order.

        :param since: the first day; ``until`` is the last one.
        """
