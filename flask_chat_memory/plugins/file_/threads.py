"""The threads of a folder: finding, making and removing them."""

from __future__ import annotations

import collections.abc as cabc
import contextlib
import os

import msgspec

from ...disk import files as disk
from ...errors import CorruptRecord
from .. import records
from ..options import PluginOptions
from ..records import Scope
from . import heads
from .batches import encode
from .body import Body
from .lines import Line
from .lines import Live
from .lines import State
from .names import Names
from .names import ThreadFiles


class Thread:
    """An open thread that is not expired; a context that closes it.

    :ivar live: its turns, with the leases as they were renewed.
    """

    def __init__(self, thread_id: str, body: Body, live: tuple[Live, ...]) -> None:
        self.thread_id = thread_id
        self.body = body
        self.files = body.files
        self.live = live

    def __enter__(self) -> Thread:
        return self

    def __exit__(self, *_: object) -> None:
        self.body.close()


Found = Thread | contextlib.nullcontext[None]
"""A thread, or the context of None."""


class Threads:
    """The threads of a folder at one moment. Who changes something holds the lock of the scope.

    :param now: UNIX time in seconds.
    """

    def __init__(self, names: Names, options: PluginOptions, now: float) -> None:
        self.names = names
        self.options = options
        self.now = now

    def find(self, scope: Scope, thread_id: str, writing: bool = False) -> Found:
        return self._open(self.names.thread(scope, thread_id), thread_id, writing)

    def find_current(self, scope: Scope, writing: bool = False) -> Found:
        current = heads.read_current(self.names.current(scope))
        return contextlib.nullcontext() if current is None else self.find(scope, current, writing)

    def open_unnamed(self, files: ThreadFiles) -> Found:
        """Open a thread whose id only its head tells."""
        return self._open(files, None, writing=False)

    def stored(self, files: ThreadFiles, expired: bool = False) -> tuple[Scope, records.Thread] | None:
        """Return what head and state tell of a thread; None if there is none.

        :param expired: also of one that is expired.
        """
        try:
            body = Body(files)
        except FileNotFoundError:
            return None
        with contextlib.closing(body):
            if not expired and self._is_expired(body, _renewed(body)):
                return None
            head = heads.read_head(files)
            scope = head.scope
            if self.names.thread(scope, head.thread_id) != files:
                raise CorruptRecord(f"the head of {files.shown} is that of another thread")
            return scope, head.record(body.state)

    def running(self, thread: Thread) -> list[Live]:
        return [live for live in thread.live if live.lease > self.now]

    def create(
        self, scope: Scope, thread_id: str, lines: cabc.Sequence[Line], state: State, title: str | None = None
    ) -> None:
        """Make a thread in the place of whatever was left of one."""
        files = self.names.thread(scope, thread_id)
        self.remove(files)
        disk.make_folder(files.folder)
        try:
            heads.write(files.head, heads.Head.of(scope, thread_id, state, title))
            # Until the thread is there the entry counts as none, so this cannot leave a thread without it.
            self.make_current(scope, thread_id)
            disk.sync_folder(files.folder)
            disk.replace_file(files.body, encode(lines, state))
            disk.sync_folder(files.folder)
        except BaseException:
            with contextlib.suppress(OSError):
                self.remove(files)
            raise
        self.limit(scope, files)
        # The one that went may have been the current one.
        if self.make_current(scope, thread_id):
            disk.sync_folder(files.folder)

    def has_current(self, scope: Scope) -> bool:
        """Tell whether the scope has a current thread; what cannot be read is there, and is not replaced."""
        try:
            with self.find_current(scope) as current:
                return current is not None
        except CorruptRecord:
            return True

    def make_current(self, scope: Scope, thread_id: str) -> bool:
        """Make the thread the current one if the scope has none; tell whether the folder is to be synced."""
        if self.is_current(scope, thread_id) or self.has_current(scope):
            return False
        heads.write(self.names.current(scope), heads.Current(thread_id))
        return True

    def delete(self, scope: Scope, thread_id: str) -> bool:
        """Remove the thread, also one that cannot be read; tell whether there was one."""
        try:
            with self.find(scope, thread_id) as thread:
                alive = thread is not None
        except CorruptRecord:
            alive = True
        self._remove_from(scope, thread_id)
        return alive

    def purge(self, scope: Scope, thread_id: str, before: float) -> int | None:
        """Do what :meth:`PurgesThreads.purge_thread` promises; what cannot be read stays."""
        files = self.names.thread(scope, thread_id)
        try:
            body = Body(files)
        except FileNotFoundError:
            return None
        with contextlib.closing(body):
            if body.state.at >= before or self._is_running(_renewed(body)):
                return None
        heads.read_head(files)
        self._remove_from(scope, thread_id)
        return body.state.count

    def forget_current(self, scope: Scope, thread_id: str) -> None:
        if self.is_current(scope, thread_id):
            disk.remove_file(self.names.current(scope))

    def is_current(self, scope: Scope, thread_id: str) -> bool:
        """Tell whether the entry of the current thread names the thread."""
        try:
            return heads.read_current(self.names.current(scope)) == thread_id
        except CorruptRecord:
            return False

    def remove(self, files: ThreadFiles) -> None:
        """Remove whatever there is of a thread, the body first: nothing can come back."""
        if os.path.lexists(files.body):
            disk.remove_file(files.body)
            disk.sync_folder(files.folder)
        for path in (files.lease, files.head):
            disk.remove_file(path)
        for path in (files.body, files.lease, files.head):
            disk.remove_file(path + disk.TEMPORARY)

    def tidy(self, scope: Scope) -> None:
        """Remove the folder of a scope that has no thread."""
        if not self.names.threads(scope):
            for path in self.names.remains(scope):
                disk.remove_file(path)
            with contextlib.suppress(OSError):
                os.rmdir(self.names.folder(scope))

    def limit(self, scope: Scope, newest: ThreadFiles) -> None:
        """Remove the threads that were idle longest, beyond ``max_threads``; one that cannot be read is left alone."""
        threads = self.names.threads(scope)
        excess = len(threads) - self.options.max_threads
        if excess <= 0:
            return
        idle = []
        for files in threads:
            with contextlib.suppress(CorruptRecord, OSError), contextlib.closing(Body(files)) as body:
                if files != newest and not self._is_running(_renewed(body)):
                    idle.append((body.state.at, files))
        for _, files in sorted(idle)[:excess]:
            self.remove(files)

    def _remove_from(self, scope: Scope, thread_id: str) -> None:
        self.remove(self.names.thread(scope, thread_id))
        self.forget_current(scope, thread_id)
        self.tidy(scope)

    def _is_expired(self, body: Body, live: cabc.Iterable[Live]) -> bool:
        expiry = self.options.expiry
        return expiry is not None and body.state.at < self.now - expiry and not self._is_running(live)

    def _is_running(self, live: cabc.Iterable[Live]) -> bool:
        return any(turn.lease > self.now for turn in live)

    def _open(self, files: ThreadFiles, thread_id: str | None, writing: bool) -> Found:
        try:
            body = Body(files, writing)
        except FileNotFoundError:
            return contextlib.nullcontext()
        try:
            live = _renewed(body)
            if not self._is_expired(body, live):
                return Thread(heads.read_head(files).thread_id if thread_id is None else thread_id, body, live)
        except BaseException:
            body.close()
            raise
        body.close()
        return contextlib.nullcontext()


def _renewed(body: Body) -> tuple[Live, ...]:
    """Return the turns of a thread with what they told since they began."""
    if not body.state.live:
        return ()
    signs = heads.read_leases(body.files)
    return tuple(
        msgspec.structs.replace(live, **msgspec.structs.asdict(signs[live.turn])) if live.turn in signs else live
        for live in body.state.live
    )
