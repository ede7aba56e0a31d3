"""Where the summaries of threads are, and whether they still hold."""

from __future__ import annotations

import collections.abc as cabc
import logging

import msgspec

from .claims import Claims
from .errors import CorruptRecord
from .errors import NewerFormat
from .events import log_event
from .message import ChatMessage
from .place import Place
from .plugins.abilities import ListsThreads
from .plugins.abilities import PurgesThreads
from .plugins.base import ChatMemoryPlugin
from .plugins.records import Appended
from .plugins.records import Scope
from .plugins.rules import is_thread_id
from .plugins.rules import sequence_of
from .short_term.summary import Summary
from .storage.domains import DomainStorage
from .storage.keys import segment
from .storage.rules import Document

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

    def replace(self, scope: Scope, former: Summary | None, summary: Summary) -> bool:
        """Store a summary if the former one, or none, is still there, in one step; tell whether it was."""
        storage, name, document = self._of(scope), _name(scope, summary.thread_id), summary.to_document()
        if former is None:
            is_stored = storage.create(name, document)
            if not is_stored and self.load(scope, summary.thread_id) is None:
                # What cannot be read is in its place.
                storage.save(name, document)
                is_stored = True
            return is_stored
        found = storage.load(name)
        if found is None or Summary.from_document(found) != former:
            return False
        return storage.exchange(name, found, document)

    def delete(self, scope: Scope, thread_id: str) -> None:
        """Remove the summary of a thread, and what there is of one that is being made."""
        if is_thread_id(thread_id):
            _delete(self._of(scope), _name(scope, thread_id))

    def delete_touched(self, scope: Scope, thread_id: str, sequence: int) -> None:
        """Remove the summary of a thread if it covers, or has facts of, a message or one that came after it."""
        summary = self.load(scope, thread_id)
        if summary is not None and sequence <= max(summary.last, summary.read):
            self.delete(scope, thread_id)

    def delete_all(self, owner: str) -> None:
        """Remove the summaries of all threads of an owner."""
        self._storage.of_owner(owner).delete_all()

    def export(self, plugin: ChatMemoryPlugin, scope: Scope, thread_id: str) -> Document | None:
        """Return summary and facts of a thread as a document; None if there are none that hold."""
        summary = self.holding(Place(plugin, scope, thread_id))
        return None if summary is None else summary.to_document()

    def restore(self, scope: Scope, appended: Appended, document: Document, messages: list[ChatMessage]) -> bool:
        """Keep what :meth:`export` has given, if it holds for messages that begin a thread; tell whether it does.

        :raises CorruptRecord: for another document; nothing is kept.
        """
        summary = Summary.from_document(document)
        places = {message.id or "": place for place, message in enumerate(messages, 1)}
        last, read = (places.get(id, 0) if id else 0 for id in (summary.last_id, summary.read_id))
        if appended.repeated or appended.sequence != 1 or not last and (summary.last or not read):
            return False
        first = max(1, summary.first + last - summary.last) if last else 0
        self.save(
            scope, msgspec.structs.replace(summary, thread_id=appended.thread_id, first=first, last=last, read=read)
        )
        return True

    def delete_gone(self, plugin: ChatMemoryPlugin, scope: Scope) -> None:
        """Remove the summaries of threads that a scope no longer has, as far as the plugin can list threads."""
        if not isinstance(plugin, ListsThreads):
            return
        storage = self._of(scope)
        # Before the threads, for one that begins now may have a summary in a moment.
        found = _threads_of(storage.list(f"{scope.chatbot}/*"))
        for name in found - {_name(scope, thread.id) for thread in plugin.list_threads(scope)}:
            _delete(storage, name)

    def purge(self, plugins: cabc.Mapping[str, ChatMemoryPlugin]) -> int:
        """Remove the summaries of all owners whose thread is gone, also of chatbots that are; return how many.

        Those of a chatbot whose plugin cannot go through its threads stay. No more than the names of the summaries are
        held in memory.

        :param plugins: chatbot -> its plugin.
        """
        orphans = {
            (owner, name)
            for owner, names in self._storage.owned().items()
            for name in _threads_of(names)
            if isinstance(plugins.get(name.partition("/")[0]), PurgesThreads | None)
        }
        # One by one rather than by chatbot: a thread may be of a chatbot that is gone.
        for plugin in {id(plugin): plugin for plugin in plugins.values()}.values() if orphans else ():
            if isinstance(plugin, PurgesThreads):
                for scope, thread in plugin.all_threads():
                    orphans.discard((segment(scope.owner), _name(scope, thread.id)))
        for owner, name in orphans:
            _delete(self._storage.of_segment(owner), name)
        return len(orphans)

    def claims(self, scope: Scope, thread_id: str) -> Claims:
        return Claims(self._of(scope), _name(scope, thread_id))

    def holding(
        self, place: Place, newer: cabc.Sequence[ChatMessage] = (), before: int | None = None
    ) -> Summary | None:
        """Return the summary of a thread if it holds: the last message that it covers is there and seen.

        One that holds no longer is removed: another line is seen now, all that it covers was trimmed away, or it is of
        an earlier thread of this id.

        :param newer: the newest messages that are seen, as far as they are at hand.
        :param before: the sequence of a question; what comes after it is not seen.
        """
        summary = self.load(place.scope, place.thread_id)
        if summary is None:
            return None
        last, last_id = summary.end
        if before is not None and before <= last:
            return None
        if last and (not newer or sequence_of(newer[0]) > last):
            newer = place.plugin.load_messages(place.scope, place.thread_id, after=last - 1, limit=1)
        if any(message.sequence == last and message.id == last_id for message in newer):
            return summary
        log_event(logger, logging.INFO, "a summary no longer holds", thread_id=place.thread_id)
        self.delete(place.scope, place.thread_id)
        return None

    def _of(self, scope: Scope) -> DomainStorage:
        return self._storage.of_owner(scope.owner)


def _delete(storage: DomainStorage, name: str) -> None:
    storage.delete(name)
    Claims(storage, name).drop()


def _threads_of(names: cabc.Iterable[str]) -> set[str]:
    """Return the names of the summaries that documents are, or are claims to."""
    return {"/".join(name.split("/")[:2]) for name in names}


def _name(scope: Scope, thread_id: str) -> str:
    return f"{scope.chatbot}/{segment(thread_id)}"
