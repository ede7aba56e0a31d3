"""The contract of a storage of documents: five required operations, and five over them."""

from __future__ import annotations

import abc
import builtins
import collections.abc as cabc
import contextlib
import threading
import time
import typing as t

from ..plugins.base import Clock
from ..plugins.forks import rest_in_forks
from ..plugins.options import CheckedOptions
from ..plugins.reports import StoreReport
from .rules import Document
from .rules import holds_text
from .rules import plain_document
from .rules import stored_time

if t.TYPE_CHECKING:
    from ..plugins.sql.schema import Schema


class _Creating:
    """Holds the lock of the default ``create``: a storage of five methods has none of its own."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        rest_in_forks(self)

    def after_fork(self) -> None:
        self.lock = threading.RLock()


_creating = _Creating()


class Storage(abc.ABC):
    """Keeps documents under keys.

    A document is a dict of what JSON can hold; one with a str under ``text`` is Markdown where people read it. What
    was saved is what is loaded. A key is text of slash-separated segments, at most 512 bytes in UTF-8, none of the
    segments empty, ``.`` or ``..``. A storage lives as long as the process, is used by many threads at once, and knows
    nothing of owners: :class:`DomainStorage` makes the keys.
    """

    id: t.ClassVar[str] = ""
    Options: t.ClassVar[builtins.type[CheckedOptions] | None] = None
    """The typed options with which configuration makes an instance; None: it is made without arguments."""

    @abc.abstractmethod
    def save(self, key: str, document: cabc.Mapping[str, t.Any]) -> None:
        """Store the document under the key in place of what is there, in one step.

        :raises ValueError: for what is no key.
        :raises InvalidDocument: for a value that has no place in a document; nothing is written.
        :raises StorageError: if the store fails.
        """

    def create(self, key: str, document: cabc.Mapping[str, t.Any]) -> bool:
        """Store the document unless there is one under the key, even one that cannot be read; tell whether it did.

        Of any number who create a key at once, one does: threads of this process here, also those of others where a
        storage overrides it.

        :raises ValueError, InvalidDocument, StorageError: as :meth:`save`.
        """
        with _creating.lock:
            if self.exists(key):
                plain_document(document)
                return False
            self.save(key, document)
            return True

    def exchange(self, key: str, document: cabc.Mapping[str, t.Any], other: cabc.Mapping[str, t.Any]) -> bool:
        """Store another document under the key if this one is there, in one step; tell whether it did.

        A storage that keeps the time of a document keeps that of the first. Of threads of this process alone here, as
        :meth:`create`.

        :raises ValueError, InvalidDocument, StorageError: as :meth:`save`.
        """
        with _creating.lock:
            if self.load(key) != plain_document(document):
                plain_document(other)
                return False
            self.save(key, other)
            return True

    @abc.abstractmethod
    def load(self, key: str) -> Document | None:
        """Return the document of the key, None if there is none.

        :raises ValueError: for what is no key.
        :raises CorruptRecord: if it cannot be read.
        :raises StorageError: if the store fails.
        """

    @abc.abstractmethod
    def delete(self, key: str) -> bool:
        """Remove the document of the key, even one that cannot be read; tell whether there was one."""

    @abc.abstractmethod
    def list(self, pattern: str = "*") -> builtins.list[str]:
        """Return the keys that the pattern matches, sorted.

        ``*`` stands for any text, slashes included, ``?`` for one character, everything else for itself.
        """

    @abc.abstractmethod
    def exists(self, key: str) -> bool:
        """Tell whether there is a document under the key."""

    def load_all(self, pattern: str = "*") -> builtins.list[tuple[str, Document]]:
        """Return key and document of all whose key the pattern matches, in the order of the keys.

        :raises CorruptRecord: if one of them cannot be read.
        """
        loaded = ((key, self.load(key)) for key in self.list(pattern))
        return [(key, document) for key, document in loaded if document is not None]

    def search(self, text: str, pattern: str = "*") -> builtins.list[tuple[str, Document]]:
        """Return key and document of all that hold the text in a value, in the order of the keys.

        :param text: is looked for literally, in upper or lower case.
        :param pattern: only in documents whose key it matches.
        """
        wanted = text.casefold()
        return [(key, document) for key, document in self.load_all(pattern) if holds_text(document, wanted)]

    def clean_up(self, before: float, pattern: str = "*") -> int:
        """Remove documents that were last stored before a time; return how many.

        Here a document says so itself, under ``updated_at`` or ``timestamp``; one that does not stays. A storage that
        keeps the time goes by that.

        :param before: UNIX time in seconds.
        """
        count = 0
        for key in self.list(pattern):
            stored = stored_time(self.load(key) or {})
            if stored is not None and stored < before and self.delete(key):
                count += 1
        return count

    def stored_times(self, pattern: str = "*") -> dict[str, float | None]:
        """Return when each document was last stored whose key the pattern matches: UNIX times in seconds.

        None stands for a document of which :meth:`clean_up` does not know it, either.
        """
        return {key: stored_time(self.load(key) or {}) for key in self.list(pattern)}

    def examine_store(self) -> StoreReport | None:
        """Return what the store tells of itself, as :meth:`ChatMemoryPlugin.examine_store` does."""
        return None

    def schemas(self) -> tuple[Schema, ...]:
        """Return what there is to know of the tables in which the documents are; none without tables."""
        return ()

    def ping(self) -> None:
        """Ask the store for a sign of life; nothing is made that is not there yet, be it a table, a file or a folder.

        :raises StorageError: if the store fails.
        """
        self.exists("none")

    def close(self) -> None:  # noqa: B027 (a storage without resources has nothing to do)
        """Give back what the storage opened; what the site handed in stays open."""


class BuiltInStorage(Storage):
    """A storage with typed options and a clock, which survives a fork and keeps the time of each document.

    :param options: an instance of ``Options``, or a mapping of its values.
    :param clock: gives the UNIX time in seconds.
    """

    Options: t.ClassVar[builtins.type[CheckedOptions]] = CheckedOptions

    def __init__(
        self, options: CheckedOptions | cabc.Mapping[str, t.Any] | None = None, *, clock: Clock = time.time
    ) -> None:
        if not isinstance(options, CheckedOptions):
            options = self.Options.make(options or {}, f"options of the storage {self.id}")
        self.options: t.Any = options
        self.clock = clock
        self.lock = threading.RLock()
        rest_in_forks(self, inner=True)

    def after_fork(self) -> None:
        """Start afresh in a child process."""
        self.lock = threading.RLock()

    def __del__(self) -> None:
        with contextlib.suppress(Exception):
            self.close()
