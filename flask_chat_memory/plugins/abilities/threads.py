"""The abilities of a plugin for threads as such: listed, described, purged."""

from __future__ import annotations

import abc
import collections.abc as cabc
import itertools
import typing as t

from ..records import Position
from ..records import Purged
from ..records import Scope
from ..records import Thread
from ..records import ThreadChanges


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
            counts = [(scope, thread.id, self.purge_thread(scope, thread.id, before)) for scope, thread in chunk]
            removed = [(scope, id, count) for scope, id, count in counts if count is not None]
            yield Purged(tuple((scope, id) for scope, id, _ in removed), sum(count for *_, count in removed))
