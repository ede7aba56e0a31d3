"""Threads as files of JSON lines in a folder of a local disk."""

from __future__ import annotations

import collections.abc as cabc
import os
import time
import typing as t

from ..disk.files import DiskErrors
from ..disk.locks import Locks
from ..errors import ConfigurationError
from ..message import ChatMessage
from .abilities import MovesThreads
from .abilities import Reseals
from .base import ChatMemoryPlugin
from .base import Clock
from .file_.appending import Batch
from .file_.lines import Entry
from .file_.messages import FileMessages
from .file_.moving import move
from .file_.names import Names
from .file_.restoring import FileRestoring
from .file_.threads import Threads
from .file_.turns import FileTurns
from .options import Option
from .options import PluginOptions
from .records import Appended
from .records import Scope
from .registry import chat_memory_plugin
from .reports import report_of_folder
from .reports import StoreReport
from .rules import check_append
from .rules import is_thread_id
from .rules import new_id


@chat_memory_plugin(
    "file",
    label="Files",
    description="Conversations as readable files in a folder of a local disk.",
)
class FilePlugin(FileMessages, FileTurns, FileRestoring, ChatMemoryPlugin, MovesThreads):
    """Keeps each thread in a file of its own."""

    storage = "file"
    shared_by_processes = True

    class Options(PluginOptions, frozen=True, kw_only=True):
        """Where the files are."""

        folder: t.Annotated[
            str | None,
            Option(
                label="Folder",
                help="On a local disk. A relative path is in the instance folder.",
                app_bound="folder",
            ),
        ] = None

        def __post_init__(self) -> None:
            if self.folder is not None and (not self.folder or "\0" in self.folder):
                raise ConfigurationError(f"file: folder {self.folder!r} is no path")

    options: Options

    def __init__(
        self, options: PluginOptions | cabc.Mapping[str, t.Any] | None = None, *, clock: Clock = time.time
    ) -> None:
        super().__init__(options, clock=clock)
        if self.options.folder is None:
            raise ConfigurationError("file: outside an app, give folder")
        self._names = Names(os.path.abspath(self.options.folder))
        self._locks = Locks(self._names.locks)
        self._errors = DiskErrors("the folder of the conversations")

    def create_thread_id(self) -> str:
        return new_id()

    def has_thread(self, scope: Scope, thread_id: str) -> bool:
        if not is_thread_id(thread_id):
            return False

        def has(threads: Threads) -> bool:
            with threads.find(scope, thread_id) as thread:
                return thread is not None

        return self._read(scope, has)

    def save_messages(self, scope: Scope, thread_id: str, messages: cabc.Sequence[ChatMessage]) -> None:
        check_append(thread_id, None)
        batch = list(zip(messages, Entry.all_of(messages), strict=True))
        with self._writing(scope) as writer:
            writer.replace(scope, thread_id, batch)

    def delete_thread(self, scope: Scope, thread_id: str) -> bool:
        if not is_thread_id(thread_id):
            return False
        with self._writing(scope) as writer:
            return writer.delete(scope, thread_id)

    def append_messages(
        self,
        scope: Scope,
        thread_id: str,
        messages: cabc.Sequence[ChatMessage],
        *,
        key: str | None = None,
        reply_to: str | None = None,
        only_into: str | None = None,
    ) -> Appended | None:
        check_append(thread_id, key)
        batch = Batch(messages, key=key, reply_to=reply_to, only_into=only_into)
        with self._writing(scope) as writer:
            return writer.append(scope, thread_id, batch)

    def clear_messages(self, scope: Scope, thread_id: str) -> None:
        if is_thread_id(thread_id):
            with self._writing(scope) as writer:
                writer.clear(scope, thread_id)

    def move_threads(self, source: Scope, target: Scope, *, reseal: Reseals | None = None) -> int:
        if source == target:
            return 0
        with self._writing(source, target) as writer:
            return move(writer, source, target, reseal)

    def store_identity(self) -> object:
        return self.id, os.path.realpath(t.cast(str, self.options.folder))

    def examine_store(self) -> StoreReport:
        return report_of_folder(t.cast(str, self.options.folder))

    def after_fork(self) -> None:
        super().after_fork()
        self._locks.after_fork()
