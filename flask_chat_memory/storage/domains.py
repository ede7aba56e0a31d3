"""Domains of documents and the keys in them; nothing of a visitor reaches a storage in another way."""

from __future__ import annotations

import builtins
import collections.abc as cabc
import time
import typing as t
import urllib.parse

from ..errors import ChatMemoryError
from ..errors import CorruptRecord
from ..errors import MissingOwner
from ..errors import NewerFormat
from ..errors import StorageError
from ..plugins.base import Clock
from ..plugins.records import is_owner
from ..plugins.reports import StoreReport
from .base import Storage
from .keys import FOLDERS
from .keys import OWNER
from .keys import quoted
from .keys import segment
from .rules import check_key
from .rules import check_pattern
from .rules import Document
from .rules import literal_start
from .rules import matching
from .rules import plain_document

FORMAT = "chat_memory_format"
"""The name under which a document may say of which format it is; those of this release, format 1, do not."""


class DomainStorage(Storage):
    """The documents of a domain, or of one owner in it, by names; a :class:`Storage` with the same rules.

    The key of a document is the domain's folder, the owner, and the name, each percent-encoded. So an owner's
    documents meet neither another's nor those of nobody. What the storage raises arrives as StorageError.

    :param storage: where the documents are.
    :param folder: begins the keys.
    :param retention: seconds after which a document that was not stored again is gone, for every reader at once; None
        keeps it.
    """

    def __init__(self, storage: Storage, folder: str, retention: int | None = None) -> None:
        self._storage = storage
        self._folder = folder
        self._retention = retention

    def of_owner(self, owner: str) -> DomainStorage:
        """Return the documents of one owner.

        :raises MissingOwner: without an owner, or with what cannot be one.
        """
        if not is_owner(owner):
            raise MissingOwner("documents of an owner need an owner")
        return self.of_segment(segment(owner))

    def of_segment(self, owner: str) -> DomainStorage:
        """Return the documents of the owner whose segment of the keys this is, as :meth:`owned` gives it."""
        return DomainStorage(self._storage, f"{self._folder}/{OWNER}{owner}", self._retention)

    def owned(self) -> dict[str, builtins.list[str]]:
        """Return the names of the documents of each owner, by the owner's segment of the keys."""
        start = f"{self._folder}/{OWNER}"
        with StorageErrors():
            keys = set(self._storage.list(f"{start}*")) - self._expired(f"{start}*")
        found: dict[str, builtins.list[str]] = {}
        for key in sorted(keys):
            owner, _, name = key.removeprefix(start).partition("/")
            found.setdefault(owner, []).append(urllib.parse.unquote(name))
        return found

    def save(self, name: str, document: cabc.Mapping[str, t.Any]) -> None:
        key, document = self._key(name), plain_document(document)
        with StorageErrors():
            self._storage.save(key, document)

    def create(self, name: str, document: cabc.Mapping[str, t.Any]) -> bool:
        key, document = self._key(name), plain_document(document)
        with StorageErrors():
            if key in self._expired(key):
                self._storage.clean_up(self._oldest, key)
            return bool(self._storage.create(key, document))

    def exchange(self, name: str, document: cabc.Mapping[str, t.Any], other: cabc.Mapping[str, t.Any]) -> bool:
        key, document, other = self._key(name), plain_document(document), plain_document(other)
        with StorageErrors():
            return key not in self._expired(key) and bool(self._storage.exchange(key, document, other))

    def load(self, name: str) -> Document | None:
        key = self._key(name)
        with StorageErrors():
            document = None if key in self._expired(key) else self._storage.load(key)
        return None if document is None else _checked(document, key)

    def delete(self, name: str) -> bool:
        key = self._key(name)
        with StorageErrors():
            was_there = key not in self._expired(key)
            return bool(self._storage.delete(key)) and was_there

    def list(self, pattern: str = "*") -> builtins.list[str]:
        keys = self._keys_for(pattern)
        with StorageErrors():
            found = set(self._storage.list(keys)) - self._expired(keys)
        return matching(self._names(found), pattern)

    def load_all(self, pattern: str = "*") -> builtins.list[tuple[str, Document]]:
        keys = self._keys_for(pattern)
        with StorageErrors():
            expired = self._expired(keys)
            found = {key: document for key, document in self._storage.load_all(keys) if key not in expired}
        names = self._names(found)
        return [(name, _checked(found[names[name]], names[name])) for name in matching(names, pattern)]

    def exists(self, name: str) -> bool:
        key = self._key(name)
        with StorageErrors():
            return key not in self._expired(key) and bool(self._storage.exists(key))

    def clean_up(self, before: float, pattern: str = "*") -> int:
        keys = [self._key(name) for name in self.list(pattern)]
        with StorageErrors():
            # A key of ours holds neither sign of a pattern.
            return sum(self._storage.clean_up(before, key) for key in keys)

    def stored_times(self, pattern: str = "*") -> dict[str, float | None]:
        keys = self._keys_for(pattern)
        with StorageErrors():
            expired = self._expired(keys)
            times = {key: time for key, time in self._storage.stored_times(keys).items() if key not in expired}
        names = self._names(times)
        return {name: times[names[name]] for name in matching(names, pattern)}

    def examine_store(self) -> StoreReport | None:
        return self._storage.examine_store()

    def purge(self) -> int:
        """Remove the documents in the folder that are older than they may be; return how many."""
        if self._retention is None:
            return 0
        with StorageErrors():
            return int(self._storage.clean_up(self._oldest, f"{self._folder}/*"))

    def count_expired(self) -> int:
        """Return how many documents a purge would remove."""
        with StorageErrors():
            return len(self._expired(f"{self._folder}/*"))

    def delete_all(self) -> int:
        """Remove every document in the folder, also those whose names cannot be listed; return how many."""
        with StorageErrors():
            return sum(
                bool(self._storage.delete(key)) for key in builtins.list(self._storage.list(f"{self._folder}/*"))
            )

    def count(self, pattern: str = "*") -> int:
        """Return how many documents are in the folder, also those whose names cannot be listed.

        :param pattern: of what follows on the folder in their keys.
        """
        with StorageErrors():
            return len(builtins.list(self._storage.list(f"{self._folder}/{pattern}")))

    def ping(self) -> None:
        with StorageErrors():
            self._storage.ping()

    def is_name(self, name: object) -> t.TypeGuard[str]:
        """Tell whether a value, which a client may have sent, can be the name of a document here."""
        try:
            self._key(t.cast(str, name))
        except ValueError:
            return False
        return True

    @property
    def _oldest(self) -> float:
        """The time before which nothing that is seen was stored."""
        clock: Clock = getattr(self._storage, "clock", time.time)
        return clock() - (self._retention or 0)

    def _expired(self, keys: str) -> set[str]:
        """Return the keys of documents that are gone, though no purge has removed them yet.

        A key of ours is a pattern, too: it holds neither sign of one.
        """
        if self._retention is None:
            return set()
        oldest = self._oldest
        times = self._storage.stored_times(keys)
        return {key for key, time in times.items() if time is not None and time < oldest}

    def _keys_for(self, pattern: str) -> str:
        """Return a pattern for the keys of the names that a pattern matches, and of some others.

        A sign of the pattern may stand for what is several characters of a key.
        """
        return f"{self._folder}/{quoted(literal_start(check_pattern(pattern)))}*"

    def _names(self, keys: cabc.Iterable[str]) -> dict[str, str]:
        """Return name -> key; what owners and other programs have in the folder has keys that no name makes."""
        named = ((urllib.parse.unquote(key.removeprefix(f"{self._folder}/")), key) for key in keys)
        return {name: key for name, key in named if f"{self._folder}/{quoted(name)}" == key}

    def _key(self, name: str) -> str:
        check_key(name)
        return check_key(f"{self._folder}/{quoted(name)}")


def domain_storage(storage: Storage, domain: str, retention: int | None = None) -> DomainStorage:
    """Return the part of a storage that belongs to a domain, one of ``FOLDERS``."""
    return DomainStorage(storage, FOLDERS[domain], retention)


def _checked(document: object, key: str) -> Document:
    if not isinstance(document, dict):
        raise CorruptRecord(f"the stored document {key!r} is no dict")
    check_format(document, f"the stored document {key!r}")
    return document


def check_format(document: Document, what: str) -> None:
    """Refuse a document that a later release has marked as one to be read in another way.

    :param what: names the document.
    :raises NewerFormat: naming both formats.
    """
    found = document.get(FORMAT, 1)
    if type(found) is int and found > 1:
        raise NewerFormat(what, found)


class WholeKeys(DomainStorage):
    """The documents of a folder by their whole keys, for whoever makes these of :func:`segment`."""

    def _key(self, name: str) -> str:
        return check_key(name)

    def _keys_for(self, pattern: str) -> str:
        return check_pattern(pattern)

    def _names(self, keys: cabc.Iterable[str]) -> dict[str, str]:
        return {key: key for key in keys}


class StorageErrors:
    """Raises StorageError for what the site's own storage raises; the text may quote what a visitor wrote."""

    def __enter__(self) -> None: ...

    def __exit__(self, _kind: object, error: BaseException | None, _traceback: object) -> None:
        # Names and documents were checked before: a ValueError is of the storage, too, as of JSON that it cannot read.
        if isinstance(error, Exception) and not isinstance(error, ChatMemoryError):
            raise StorageError(f"the storage failed ({type(error).__name__})") from error
