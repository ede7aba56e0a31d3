"""Puts an export of ours into stores."""

from __future__ import annotations

import collections
import collections.abc as cabc

from ..errors import ImportRefused
from ..plugins.records import Scope
from ..storage.keys import rehomed
from .copying import Counts
from .entries import DocumentEntry
from .entries import Header
from .entries import UsageEntry
from .export_file import File
from .export_file import Piece
from .export_file import read_export
from .export_file import ThreadInFile
from .restoring import restore_document
from .restoring import restore_thread
from .restoring import restore_usage
from .stores import Stores


class Import:
    """An import of an export.

    What the stores have already, or have newer, stays; so to do it again changes nothing, and what was interrupted goes
    on. Each thread is stored in one step.

    :param owner: whose all of it becomes, of an export of one owner.
    :param write: False only tells what would become of everything.
    :ivar counts: of each kind of thing, how many had which outcome: those of ``Outcome``, or ``homeless`` where the
        site has no such chatbot, or no storage for the domain.
    """

    def __init__(self, stores: Stores, *, owner: str | None = None, write: bool = True) -> None:
        self._stores = stores
        self._owner = owner
        self._write = write
        self._former: str | None = None
        self.counts: Counts = collections.Counter()

    def run(self, file: File) -> cabc.Iterator[Piece]:
        """Import a file; yield after each thread, document and line of the ledger.

        :raises ImportRefused: if it is no export, is of a newer version, was cut off, is to become one owner's and is
            of all, or says that it is one owner's and holds what is another's. What came before that was imported.
        """
        for piece in read_export(file):
            if isinstance(piece, Header):
                if self._owner is not None and piece.owner is None:
                    raise ImportRefused("it is no export of one owner, so it cannot become another owner's")
                self._former = piece.owner
            elif isinstance(piece, ThreadInFile):
                outcome = self._thread(piece)
                self.counts["threads", outcome] += 1
                self.counts["messages", outcome] += piece.messages
            elif isinstance(piece, UsageEntry):
                self.counts["usage", self._usage(piece)] += 1
            elif isinstance(piece, DocumentEntry):
                self.counts["documents", self._document(piece)] += 1
            yield piece

    def _thread(self, thread: ThreadInFile) -> str:
        plugin = self._stores.plugins.get(thread.scope.chatbot)
        if plugin is None:
            return "homeless"
        return restore_thread(plugin, self._scope(thread.scope), thread, exactly=False, write=self._write)

    def _usage(self, entry: UsageEntry) -> str:
        plugin = self._stores.plugins.get(entry.chatbot)
        scope = self._scope(Scope(entry.owner, entry.chatbot))
        outcomes = restore_usage(plugin, scope, [entry.usage_day()], write=self._write) if plugin else []
        return outcomes[0] if outcomes else "homeless"

    def _document(self, entry: DocumentEntry) -> str:
        storage, key = self._stores.storages.get(entry.domain), entry.key
        if storage is None:
            return "homeless"
        if self._former is not None:
            other = rehomed(key, entry.domain, self._former, self._owner or self._former)
            if other is None:
                raise ImportRefused(f"it holds a document of another owner than {self._former!r}")
            key = other
        return restore_document(storage, key, entry.document, exactly=False, write=self._write)

    def _scope(self, scope: Scope) -> Scope:
        if self._former is None:
            return scope
        if scope.owner != self._former:
            raise ImportRefused(f"it holds what is of another owner than {self._former!r}")
        return Scope(self._owner or self._former, scope.chatbot)
