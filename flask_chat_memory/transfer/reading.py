"""Reads a thread of a plugin as a whole, a part at a time, while others may write to it."""

from __future__ import annotations

import collections.abc as cabc
import typing as t

from ..errors import ChatMemoryError
from ..message import ChatMessage
from ..plugins.abilities import HidesMessages
from ..plugins.abilities import RestoresThreads
from ..plugins.base import ChatMemoryPlugin
from ..plugins.records import Scope
from ..plugins.records import WholeThread
from ..plugins.rules import sequence_of
from .entries import Digest
from .entries import Entry
from .entries import line_of
from .entries import MarkEntry
from .entries import MessageEntry
from .entries import ThreadEntry

CHUNK = 200
"""Messages that are read at once."""


class ThreadChanged(ChatMemoryError):
    """A thread has changed while it was read."""


class StoredThread:
    """A thread in a plugin, with all that belonged to it when it was looked at."""

    def __init__(self, plugin: ChatMemoryPlugin, scope: Scope, whole: WholeThread) -> None:
        self.plugin = plugin
        self.scope = scope
        self.whole = whole

    @classmethod
    def find(cls, plugin: ChatMemoryPlugin, scope: Scope, thread_id: str) -> t.Self | None:
        whole = t.cast(RestoresThreads, plugin).find_whole(scope, thread_id)
        return None if whole is None else cls(plugin, scope, whole)

    def __iter__(self) -> cabc.Iterator[ChatMessage]:
        """Give the messages of all lines.

        :raises ThreadChanged: at the end, if they are not those of the thread that was looked at.
        """
        thread_id, last = self.whole.thread.id, 0
        hidden = {"hidden": True} if isinstance(self.plugin, HidesMessages) else {}
        while True:
            chunk = self.plugin.load_messages(self.scope, thread_id, after=last, limit=CHUNK, **t.cast(t.Any, hidden))
            yield from chunk
            if len(chunk) < CHUNK:
                break
            last = sequence_of(chunk[-1])
        if t.cast(RestoresThreads, self.plugin).find_whole(self.scope, thread_id) != self.whole:
            raise ThreadChanged("the thread has changed while it was read")

    def head(self) -> cabc.Iterator[Entry]:
        """Give the thread and its marks."""
        yield ThreadEntry.of(self.scope, self.whole)
        for id, mark in self.whole.marks.items():
            yield MarkEntry(message_id=id, rating=mark.rating, comment=mark.comment)

    def entries(self) -> cabc.Iterator[Entry]:
        """Give the thread, its marks and its messages, as :meth:`__iter__` does."""
        yield from self.head()
        yield from map(MessageEntry.of, self)

    def digest(self) -> str:
        """Return the digest of the thread, the same in whichever store it is."""
        digest = Digest()
        for entry in self.entries():
            digest.add(line_of(entry))
        return str(digest)
