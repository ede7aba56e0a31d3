"""Any storage, with its documents hidden from whoever reads the store; their keys are in clear."""

from __future__ import annotations

import builtins
import collections.abc as cabc
import typing as t

from ..encryption import Cipher
from ..encryption import place_of
from ..errors import ConfigurationError
from ..plugins.base import Clock
from ..plugins.options import CheckedOptions
from ..plugins.options import Option
from ..plugins.reports import StoreReport
from .base import Storage
from .choice import choose_storage
from .rules import check_key
from .rules import decode
from .rules import Document
from .rules import encode
from .rules import plain_document

if t.TYPE_CHECKING:
    from ..plugins.sql.schema import Schema

HIDDEN = "encrypted"
"""The only name in a document as the wrapped storage keeps it."""


class EncryptedStorage(Storage):
    """Encrypts what the wrapped storage keeps, each document bound to its key."""

    id = "encrypted"

    class Options(CheckedOptions, frozen=True, kw_only=True):
        """The wrapped storage and the keys."""

        storage: t.Annotated[
            t.Any,
            Option(
                label="Storage",
                help="Where the documents are, as for CHAT_MEMORY_STORAGE.",
                secret=True,
                app_bound="storage",
            ),
        ]
        keys: t.Annotated[
            list[str],
            Option(
                label="Keys", help="Base64 of 32 random bytes each. The first one encrypts, all decrypt.", secret=True
            ),
        ]

        def __post_init__(self) -> None:
            if self.storage is None:
                raise ConfigurationError("storage is None; name the storage that keeps what is encrypted")
            if choose_storage(self.storage, "storage").is_of(EncryptedStorage):
                raise ConfigurationError("storage is 'encrypted' itself; name the storage that keeps the documents")
            Cipher(self.keys)

    def __init__(self, options: CheckedOptions | cabc.Mapping[str, t.Any]) -> None:
        if not isinstance(options, self.Options):
            given = t.cast("cabc.Mapping[str, t.Any]", options)
            options = self.Options.make(given, f"options of the storage {self.id}")
        self.options = options
        self._cipher = Cipher(options.keys)
        chosen = choose_storage(options.storage, "storage")
        self._storage = chosen.make()
        self._is_own = self._storage is not chosen.storage

    @property
    def clock(self) -> Clock:
        """The clock of the wrapped storage."""
        return t.cast(Clock, t.cast(t.Any, self._storage).clock)

    @clock.setter
    def clock(self, clock: Clock) -> None:
        t.cast(t.Any, self._storage).clock = clock

    def save(self, key: str, document: cabc.Mapping[str, t.Any]) -> None:
        self._storage.save(key, self._encrypted(key, document))

    def create(self, key: str, document: cabc.Mapping[str, t.Any]) -> bool:
        return self._storage.create(key, self._encrypted(key, document))

    def exchange(self, key: str, document: cabc.Mapping[str, t.Any], other: cabc.Mapping[str, t.Any]) -> bool:
        encrypted, stored = self._encrypted(key, other), self._storage.load(key)
        if stored is None or self._decrypted(key, stored) != plain_document(document):
            return False
        return self._storage.exchange(key, stored, encrypted)

    def rewrap(self, key: str, *, write: bool = True) -> bool | None:
        """Encrypt the document of a key with the first of the keys, unless it is; tell whether it was not.

        :param write: False only tells.
        :return: None if it has changed meanwhile.
        :raises DecryptionFailed: if it cannot be read.
        """
        stored = self._storage.load(key)
        if stored is None:
            return None
        document = self._decrypted(key, stored)
        if self._cipher.is_current(stored[HIDDEN]):
            return False
        return True if not write or self._storage.exchange(key, stored, self._encrypted(key, document)) else None

    def load(self, key: str) -> Document | None:
        stored = self._storage.load(key)
        return None if stored is None else self._decrypted(key, stored)

    def load_all(self, pattern: str = "*") -> builtins.list[tuple[str, Document]]:
        return [(key, self._decrypted(key, stored)) for key, stored in self._storage.load_all(pattern)]

    def _encrypted(self, key: str, document: cabc.Mapping[str, t.Any]) -> Document:
        return {HIDDEN: self._cipher.encrypt(encode(document), place_of("document", check_key(key)))}

    def _decrypted(self, key: str, stored: t.Any) -> Document:
        hidden = stored.get(HIDDEN) if isinstance(stored, dict) else None
        name = f"the stored document {key!r}"
        return decode(self._cipher.decrypt(hidden, place_of("document", key), name), key)

    def delete(self, key: str) -> bool:
        return self._storage.delete(key)

    def list(self, pattern: str = "*") -> builtins.list[str]:
        return self._storage.list(pattern)

    def exists(self, key: str) -> bool:
        return self._storage.exists(key)

    def clean_up(self, before: float, pattern: str = "*") -> int:
        if type(self._storage).clean_up is Storage.clean_up:
            # It would look for the time in what is hidden from it.
            return super().clean_up(before, pattern)
        return self._storage.clean_up(before, pattern)

    def stored_times(self, pattern: str = "*") -> dict[str, float | None]:
        if type(self._storage).stored_times is Storage.stored_times:
            return super().stored_times(pattern)
        return self._storage.stored_times(pattern)

    def examine_store(self) -> StoreReport | None:
        return self._storage.examine_store()

    def schemas(self) -> tuple[Schema, ...]:
        return self._storage.schemas()

    def ping(self) -> None:
        self._storage.ping()

    def close(self) -> None:
        if self._is_own:
            self._storage.close()
