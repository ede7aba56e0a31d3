"""The abilities to give away and take in, as they are, what another store keeps."""

from __future__ import annotations

import abc
import collections.abc as cabc

from ...message import ChatMessage
from ..records import Scope
from ..records import UsageDay
from ..records import WholeThread
from .usage import CountsUsage


class RestoresThreads(abc.ABC):
    """The ability to hold a thread as another store has held it; meant for the site's operator, not for requests.

    A thread that is restored is the same in every operation: messages of all lines with their sequences, append keys,
    lines, marks, times, counts, title and the like, turns that are being answered.
    """

    @abc.abstractmethod
    def find_whole(self, scope: Scope, thread_id: str) -> WholeThread | None:
        """Return all that belongs to a thread of the scope, but for its messages.

        As long as it is the same, the messages are the same.
        """

    @abc.abstractmethod
    def restore_thread(
        self,
        scope: Scope,
        whole: WholeThread,
        messages: cabc.Iterable[ChatMessage],
        *,
        instead_of: WholeThread | None = None,
    ) -> bool:
        """Put a thread in the place of what the scope has under its id, whole or not at all; tell whether it did.

        No other thread makes room for it, and nothing of it is cut off. It is the scope's current thread afterwards if
        ``whole.current`` says so, and only then.

        :param messages: of all lines, numbered, in their order. They are held in memory a part at a time, by a store
            that can, and gone through anew where the store has to try again. What they raise is raised.
        :param instead_of: only while this is what :meth:`find_whole` returns; looked at in the step that writes.
        :raises ValueError: for an impossible thread id.
        :raises StorageError: if the store fails.
        """


class RestoresUsage(CountsUsage):
    """The ability to hold a ledger of usage as another store has held it."""

    @abc.abstractmethod
    def usage_scopes(self) -> cabc.Iterator[Scope]:
        """Yield every scope of which something was counted, in no order, with bounded memory."""

    @abc.abstractmethod
    def restore_usage(self, scope: Scope, days: cabc.Iterable[UsageDay]) -> None:
        """Let the lines of the ledger of a scope for these days and models be these; the others stay."""
