"""Where the summaries of threads are, and whether they still hold."""

from __future__ import annotations

import collections.abc as cabc
import logging

from .claims import Claims
from .errors import CorruptRecord
from .errors import NewerFormat
from .events import log_event
from .message import ChatMessage
from .place import Place
from .plugins.records import Scope
from .plugins.rules import is_thread_id
from .plugins.rules import sequence_of
from .short_term.summary import Summary
from .storage.domains import DomainStorage
from .storage.domains import segment

logger = logging.getLogger(__name__)


class Summaries:
    """The summaries of threads, each a document of its owner, named by chatbot and thread id.

    :param storage: the domain ``summaries``.
    """

    def __init__(self, storage: DomainStorage) -> None:
        self._storage = storage

    def load(self, scope: Scope, thread_id: str) -> Summary | None:
        """Return the summary of a thread; one that cannot be read is logged and counts as none.

        :raises NewerFormat: for one that a newer release has made, which must not be replaced.
        """
        try:
            document = self._of(scope).load(_name(scope, thread_id))
            return None if document is None else Summary.from_document(document)
        except NewerFormat:
            raise
        except CorruptRecord as error:
            message = "a summary cannot be read; the next one takes its place"
            log_event(logger, logging.ERROR, message, error, thread_id=thread_id)
            return None

    def save(self, scope: Scope, summary: Summary) -> None:
        self._of(scope).save(_name(scope, summary.thread_id), summary.to_document())

    def delete(self, scope: Scope, thread_id: str) -> None:
        """Remove the summary of a thread, and what there is of one that is being made."""
        if is_thread_id(thread_id):
            self._of(scope).delete(_name(scope, thread_id))
            self.claims(scope, thread_id).drop()

    def delete_touched(self, scope: Scope, thread_id: str, sequence: int) -> None:
        """Remove the summary of a thread if it covers, or has facts of, a message or one that came after it."""
        summary = self.load(scope, thread_id)
        if summary is not None and sequence <= max(summary.last, summary.read):
            self.delete(scope, thread_id)

    def delete_all(self, owner: str) -> None:
        """Remove the summaries of all threads of an owner."""
        self._storage.of_owner(owner).delete_all()

    def claims(self, scope: Scope, thread_id: str) -> Claims:
        return Claims(self._of(scope), _name(scope, thread_id))

    def holding(
        self, place: Place, newer: cabc.Sequence[ChatMessage] = (), before: int | None = None
    ) -> Summary | None:
        """Return the summary of a thread if it holds: its last message is seen, or was trimmed away.

        One that holds no longer, for another line is seen now, is removed.

        :param newer: the newest messages that are seen, as far as they are at hand.
        :param before: the sequence of a question; what comes after it is not seen.
        """
        summary = self.load(place.scope, place.thread_id)
        if summary is None or not summary.last:
            return summary
        if before is not None and before <= summary.last:
            return None
        if not newer or sequence_of(newer[0]) > summary.last:
            newer = place.plugin.load_messages(place.scope, place.thread_id, after=summary.last - 1, limit=1)
        seen = next((message for message in newer if message.sequence == summary.last), None)
        if seen is None:
            oldest = place.load(after=0, limit=1)
            holds = bool(oldest) and sequence_of(oldest[0]) > summary.last
        else:
            holds = seen.id == summary.last_id
        if not holds:
            log_event(logger, logging.INFO, "a summary no longer holds", thread_id=place.thread_id)
            self.delete(place.scope, place.thread_id)
        return summary if holds else None

    def _of(self, scope: Scope) -> DomainStorage:
        return self._storage.of_owner(scope.owner)


def _name(scope: Scope, thread_id: str) -> str:
    return f"{scope.chatbot}/{segment(thread_id)}"
