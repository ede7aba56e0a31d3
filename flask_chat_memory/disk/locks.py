"""A fixed number of lock files: one writer at a time of each name, among threads and among processes."""

from __future__ import annotations

import collections.abc as cabc
import contextlib
import fcntl
import os
import threading

from .files import make_folder

COUNT = 64


class Locks:
    """Locks of a folder.

    Every holder opens the file for itself, so the lock holds between the threads of a process, too. The system
    releases what a killed process held.
    """

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._held: set[int] = set()

    @contextlib.contextmanager
    def hold(self, guard: threading.RLock, *names: str) -> cabc.Iterator[None]:
        """Wait for the locks of the names and hold them.

        :param guard: a lock without which the process does not fork.
        :param names: hexadecimal digests.
        """
        descriptors: list[int] = []
        try:
            # Always in the same order, so that two who need both never wait for each other.
            for number in sorted({int(name, 16) % COUNT for name in names}):
                with guard:
                    descriptors.append(self._open(f"{number:02}"))
                    self._held.add(descriptors[-1])
                fcntl.flock(descriptors[-1], fcntl.LOCK_EX)
            yield
        finally:
            for descriptor in reversed(descriptors):
                with guard:
                    self._held.discard(descriptor)
                    # A forked process may have a copy of the descriptor: closing it would not be enough.
                    fcntl.flock(descriptor, fcntl.LOCK_UN)
                    os.close(descriptor)

    def after_fork(self) -> None:
        """Let go, in a child process, of what threads of the parent hold; they go on holding it."""
        for descriptor in self._held:
            os.close(descriptor)
        self._held.clear()

    def _open(self, name: str) -> int:
        path = os.path.join(self._folder, name)
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
        try:
            return os.open(path, flags, 0o600)
        except FileNotFoundError:
            make_folder(self._folder)
            return os.open(path, flags, 0o600)
