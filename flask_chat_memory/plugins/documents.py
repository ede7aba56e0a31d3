"""Threads as documents in any storage, the site's own among them."""

from __future__ import annotations

import collections.abc as cabc
import contextlib
import os
import threading
import time
import typing as t

from ..errors import ConfigurationError
from ..storage.base import Storage
from ..storage.choice import choose_storage
from ..storage.domains import StorageErrors
from .base import Clock
from .documents_.threads import DocumentThreads
from .options import Option
from .options import PluginOptions
from .registry import chat_memory_plugin
from .reports import StoreReport
from .whole.plugin import WholeThreadsPlugin

if t.TYPE_CHECKING:
    from .sql.schema import Schema

_locks: dict[int, threading.RLock] = {}


@chat_memory_plugin(
    "documents",
    label="Documents",
    description="Each conversation as one document in a storage, which may be the site's own. For one process.",
)
class DocumentsPlugin(WholeThreadsPlugin):
    """Keeps each thread as a document, which is read and written as a whole."""

    class Options(PluginOptions, frozen=True, kw_only=True):
        """Where the documents are."""

        storage: t.Annotated[
            t.Any,
            Option(
                label="Storage",
                help="As CHAT_MEMORY_STORAGE. Without it, the storage of the domain 'conversation'.",
                secret=True,
                app_bound="storage",
            ),
        ] = None

        def __post_init__(self) -> None:
            if self.storage is not None:
                choose_storage(self.storage, "storage")

    options: Options

    def __init__(
        self, options: PluginOptions | cabc.Mapping[str, t.Any] | None = None, *, clock: Clock = time.time
    ) -> None:
        super().__init__(options, clock=clock)
        self.lock = _lock_of_process()
        if self.options.storage is None:
            raise ConfigurationError("documents: outside an app, give storage")
        self._storage = choose_storage(self.options.storage, "storage").make()
        # The clock may be set later.
        self._threads = DocumentThreads(self.options, lambda: self.clock(), self._storage)

    def examine_store(self) -> StoreReport | None:
        return self._storage.examine_store()

    @property
    def _reading(self) -> t.ContextManager[object]:
        # A document is read in one step; a slow storage keeps no others waiting.
        return contextlib.nullcontext()

    def schemas(self) -> tuple[Schema, ...]:
        return self._storage.schemas()

    def ping(self) -> None:
        with StorageErrors():
            self._storage.ping()

    def close(self) -> None:
        if not isinstance(self.options.storage, Storage):
            self._storage.close()

    def after_fork(self) -> None:
        self.lock = _lock_of_process()


def _lock_of_process() -> threading.RLock:
    """Return the lock of all instances: two of them may have the same storage."""
    return _locks.setdefault(os.getpid(), threading.RLock())
