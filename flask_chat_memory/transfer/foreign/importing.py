"""Puts the conversations of other libraries into a plugin."""

from __future__ import annotations

import collections
import collections.abc as cabc
import hashlib
import typing as t

import msgspec

from ...message import ChatMessage
from ...plugins.abilities import HidesMessages
from ...plugins.base import ChatMemoryPlugin
from ...plugins.counting import total_tokens
from ...plugins.records import Scope
from ...plugins.records import Thread
from ...plugins.records import WholeThread
from ...plugins.rules import sequence_of
from ..copying import Counts
from ..restoring import restore_thread
from .base import ForeignThread
from .base import Source

SESSION = "{session}"
"""In the name of an owner, stands for the id that a conversation has in its source."""


class ForeignImport:
    """An import from another library.

    A conversation that is not there yet is stored in one step. Of one that is, only what has come since in the source
    is added; what was said here stays. So to do it again changes nothing, and what was interrupted goes on.

    :param chatbot: whose conversations they become.
    :param owner: to whom they are given; ``{session}`` in it stands for the id of each in the source.
    :param title_of: makes a title of the first question.
    :param write: False only tells what would become of everything.
    :ivar counts: of threads and messages, how many had which outcome: those of ``Outcome``, or ``empty``.
    """

    def __init__(
        self,
        plugin: ChatMemoryPlugin,
        chatbot: str,
        owner: str,
        *,
        title_of: cabc.Callable[[str], str | None] = lambda text: None,
        write: bool = True,
    ) -> None:
        self._plugin = plugin
        self._chatbot = chatbot
        self._owner = owner
        self._title_of = title_of
        self._write = write
        self.counts: Counts = collections.Counter()

    def run(self, source: Source) -> cabc.Iterator[ForeignThread]:
        """Import a source; yield after each conversation.

        :raises ImportRefused: for what is no such source.
        """
        for thread in source.threads():
            scope = Scope(self._owner.replace(SESSION, thread.id), self._chatbot)
            outcome, count = self._take(scope, source.thread_id(thread), thread)
            self.counts["threads", outcome] += 1
            self.counts["messages", outcome] += count
            yield thread

    def _take(self, scope: Scope, thread_id: str, thread: ForeignThread) -> tuple[str, int]:
        messages = [message.numbered(place) for place, message in enumerate(thread.messages, 1)]
        if not messages:
            return "empty", 0
        if not self._plugin.has_thread(scope, thread_id):
            whole = self._whole(thread_id, thread, messages)
            outcome = restore_thread(self._plugin, scope, _Taken(whole, messages), exactly=False, write=self._write)
            return outcome, len(messages)
        return self._add(scope, thread_id, messages)

    def _whole(self, thread_id: str, thread: ForeignThread, messages: cabc.Sequence[ChatMessage]) -> WholeThread:
        now = self._plugin.clock()
        last = thread.last_activity or now
        question = next((message.text for message in messages if message.role == "user"), "")
        record = Thread(
            id=thread_id,
            created_at=thread.created_at or last,
            last_activity=last,
            messages=len(messages),
            tokens=total_tokens(messages),
            title=self._title_of(question),
        )
        return WholeThread(thread=record, sequence=len(messages), current=True)

    def _add(self, scope: Scope, thread_id: str, messages: cabc.Sequence[ChatMessage]) -> tuple[str, int]:
        """Add what has come since; what was imported before had the sequences that it has in the source."""
        hidden = {"hidden": True} if isinstance(self._plugin, HidesMessages) else {}
        stored = self._plugin.load_messages(scope, thread_id, **t.cast(t.Any, hidden))
        known = {message.id for message in stored}
        newest = max((sequence_of(message) for message in messages if message.id in known), default=0)
        missing = [message.numbered(None) for message in messages if sequence_of(message) > newest]
        if not newest:
            # It was emptied here since.
            return "newer", len(messages)
        if not missing:
            return "same", len(messages)
        if self._write:
            key = "import:" + hashlib.blake2b(str(missing[0].id).encode(), digest_size=16).hexdigest()
            self._plugin.append_messages(scope, thread_id, missing, key=key)
        return "written", len(missing)


class _Taken(msgspec.Struct):
    """A conversation as it is to be here."""

    whole: WholeThread
    messages: list[ChatMessage]

    def __iter__(self) -> cabc.Iterator[ChatMessage]:
        return iter(self.messages)
