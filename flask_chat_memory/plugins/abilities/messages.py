"""The abilities of a plugin for messages: hidden, marked, searched."""

from __future__ import annotations

import abc
import collections.abc as cabc

from ...message import ChatMessage
from ..lines import Lines
from ..records import Mark
from ..records import Scope
from ..records import Search

ChangeLines = cabc.Callable[[Lines, int], Lines | None]
"""Takes the lines of a thread and its highest sequence; returns other lines, or None to leave them."""


class HidesMessages(abc.ABC):
    """The ability to keep several lines of a thread, of which one is seen.

    Every operation that reads messages reads the visible line, unless it says otherwise. What is appended belongs to
    it, but for an answer: with ``reply_to``, a batch is stored in the lines that hold the question
    (:meth:`Lines.placed`), in the same step. Where messages are replaced or removed as a whole, one line is left. A
    thread that moves keeps its lines; where it is appended to another, only what is visible goes with it.
    """

    @abc.abstractmethod
    def load_messages(
        self,
        scope: Scope,
        thread_id: str,
        *,
        limit: int | None = None,
        before: int | None = None,
        after: int | None = None,
        hidden: bool = False,
    ) -> list[ChatMessage]:
        """Return messages as :meth:`ChatMemoryPlugin.load_messages` does.

        :param hidden: those of all lines.
        """

    @abc.abstractmethod
    def find_lines(self, scope: Scope, thread_id: str) -> Lines:
        """Return the lines of a thread; of an unknown one, the one line that every thread begins with."""

    @abc.abstractmethod
    def change_lines(self, scope: Scope, thread_id: str, change: ChangeLines) -> bool:
        """Show other messages of the thread; tell whether something has changed. This is no activity.

        :param change: is called with what is stored, and its result stored while that is so; perhaps several times.
        """


class MarksMessages(abc.ABC):
    """The ability to keep what a person thinks of a message.

    A mark goes where its message goes, and with it.
    """

    @abc.abstractmethod
    def mark_message(self, scope: Scope, thread_id: str, message_id: str, mark: Mark | None) -> bool:
        """Keep the mark of a message, instead of a former one; tell whether the thread has the message, in any line.

        This is no activity.

        :param mark: None removes it.
        :raises ValueError: for a mark that is none (``check_mark``).
        """

    @abc.abstractmethod
    def load_marks(self, scope: Scope, thread_id: str) -> dict[str, Mark]:
        """Return the marks of the thread by the ids of their messages."""


class SearchesMessages(abc.ABC):
    """The ability to find text in the threads of a scope."""

    @abc.abstractmethod
    def search_messages(self, scope: Scope, text: str, *, limit: int | None = None) -> Search:
        """Find the messages of users and assistants that hold a text, both folded by ``fold``.

        Looks at what is visible. The thread with the newest activity comes first, in a thread its newest message.

        :param text: is taken literally; one of which folding leaves nothing finds nothing.
        :param limit: at most so many messages. 0 gives none.
        :raises ValueError: for a limit that is negative or no int.
        """
