"""Threads as files of JSON lines in a folder of a local disk."""

from __future__ import annotations

import collections.abc as cabc
import contextlib
import os
import time
import typing as t

from ..disk.files import DiskErrors
from ..disk.locks import Locks
from ..errors import ConfigurationError
from ..errors import CorruptRecord
from ..message import ChatMessage
from .abilities import CurrentThread
from .abilities import KeepsLiveTurns
from .abilities import MovesThreads
from .abilities import Reseals
from .base import ChatMemoryPlugin
from .base import Clock
from .file_.lines import Entry
from .file_.listing import FileThreads
from .file_.moving import move
from .file_.names import Names
from .file_.names import scope_name
from .file_.threads import Threads
from .file_.usage import FileUsage
from .file_.writing import Writer
from .options import Option
from .options import PluginOptions
from .records import Appended
from .records import LiveTurn
from .records import Renewal
from .records import Scope
from .registry import chat_memory_plugin
from .rules import check_append
from .rules import check_range
from .rules import is_thread_id
from .rules import new_id

T = t.TypeVar("T")


@chat_memory_plugin(
    "file",
    label="Files",
    description="Conversations as readable files in a folder of a local disk.",
)
class FilePlugin(FileThreads, FileUsage, ChatMemoryPlugin, CurrentThread, KeepsLiveTurns, MovesThreads):
    """Keeps each thread in a file of its own. Reading takes no lock."""

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

    def load_messages(
        self,
        scope: Scope,
        thread_id: str,
        *,
        limit: int | None = None,
        before: int | None = None,
        after: int | None = None,
    ) -> list[ChatMessage]:
        check_range(limit, before, after)
        if not is_thread_id(thread_id):
            return []

        def load(threads: Threads) -> list[ChatMessage]:
            with threads.find(scope, thread_id) as thread:
                return [] if thread is None else thread.body.messages(limit, before, after)

        return self._read(scope, load)

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
        batch = Entry.all_of(messages)
        with self._writing(scope) as writer:
            answer = messages if reply_to is not None else ()
            return writer.append(scope, thread_id, batch, key, reply_to, only_into, answer=answer)

    def clear_messages(self, scope: Scope, thread_id: str) -> None:
        if is_thread_id(thread_id):
            with self._writing(scope) as writer:
                writer.clear(scope, thread_id)

    def current_thread(self, scope: Scope) -> str | None:
        def find(threads: Threads) -> str | None:
            with threads.find_current(scope) as thread:
                return None if thread is None else thread.thread_id

        return self._read(scope, find)

    def load_current(self, scope: Scope, *, limit: int | None = None) -> tuple[str | None, list[ChatMessage]]:
        check_range(limit, None, None)

        def load(threads: Threads) -> tuple[str | None, list[ChatMessage]]:
            with threads.find_current(scope) as thread:
                return (None, []) if thread is None else (thread.thread_id, thread.body.messages(limit, None, None))

        return self._read(scope, load)

    def start_turn(
        self,
        scope: Scope,
        thread_id: str,
        question: ChatMessage,
        *,
        key: str,
        live: LiveTurn,
        only_into: str | None = None,
    ) -> Appended:
        check_append(thread_id, key)
        batch = Entry.all_of([question])
        with self._writing(scope) as writer:
            return t.cast(Appended, writer.append(scope, thread_id, batch, key, None, only_into, started=live))

    def renew_turns(self, turns: cabc.Collection[Renewal], lease: float) -> set[str]:
        of_threads: dict[tuple[Scope, str], dict[str, str | None]] = {}
        for scope, thread_id, turn, text in turns:
            of_threads.setdefault((scope, thread_id), {})[turn] = text
        unwanted: set[str] = set()
        for (scope, thread_id), told in of_threads.items():
            with self._writing(scope) as writer:
                unwanted |= writer.renew(scope, thread_id, told, lease)
        return unwanted

    def stop_turn(self, scope: Scope, thread_id: str, turn: str) -> bool:
        if not is_thread_id(thread_id):
            return False
        with self._writing(scope) as writer:
            return writer.stop(scope, thread_id, turn)

    def end_turn(
        self,
        scope: Scope,
        thread_id: str,
        turn: str,
        messages: cabc.Sequence[ChatMessage],
        *,
        key: str,
        reply_to: str,
        only_into: str | None = None,
    ) -> Appended | None:
        check_append(thread_id, key)
        batch = Entry.all_of(messages)
        with self._writing(scope) as writer:
            return writer.append(scope, thread_id, batch, key, reply_to, only_into, ended=turn, answer=messages)

    def live_turns(self, scope: Scope, thread_id: str) -> list[LiveTurn]:
        if not is_thread_id(thread_id):
            return []

        def live(threads: Threads) -> list[LiveTurn]:
            with threads.find(scope, thread_id) as thread:
                return [] if thread is None else [turn.record() for turn in thread.live]

        return self._read(scope, live)

    def move_threads(self, source: Scope, target: Scope, *, reseal: Reseals | None = None) -> int:
        if source == target:
            return 0
        with self._writing(source, target) as writer:
            return move(writer, source, target, reseal)

    def after_fork(self) -> None:
        super().after_fork()
        self._locks.after_fork()

    def _read(self, scope: Scope, read: cabc.Callable[[Threads], T]) -> T:
        with self._errors:
            try:
                return read(Threads(self._names, self.options, self.clock()))
            except CorruptRecord:
                # A reader may meet a torn batch while a writer cuts it off.
                with self._writing(scope) as writer:
                    return read(writer)

    @contextlib.contextmanager
    def _writing(self, *scopes: Scope) -> cabc.Iterator[Writer]:
        with self._errors, self._locks.hold(self.lock, *map(scope_name, scopes)):
            yield Writer(self._names, self.options, self.clock())
