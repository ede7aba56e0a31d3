"""Over a fork: the child must not get a lock, or a half-done change, of a thread that it does not have."""

from __future__ import annotations

import os
import threading
import typing as t
import weakref

PATIENCE = 2.0
"""Seconds that a fork waits for work under a lock to end."""


class Holdable(t.Protocol):
    """A lock that can be waited for."""

    def acquire(self, *, timeout: float) -> bool: ...

    def release(self) -> None: ...


class Forkable(t.Protocol):
    """What is shared by the threads of a process and must survive a fork."""

    @property
    def lock(self) -> Holdable: ...

    def after_fork(self) -> None:
        """Start afresh in the child."""


class ReadersGate:
    """A lock that any number may pass at once, until a fork holds it."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._changed = threading.Condition(self._lock)
        self._inside = 0
        self._held = False

    def __enter__(self) -> None:
        with self._lock:
            while self._held:
                self._changed.wait()
            self._inside += 1

    def __exit__(self, *_error: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._held and not self._inside:
                self._changed.notify_all()

    def acquire(self, *, timeout: float) -> bool:
        with self._changed:
            self._held = True
            if self._changed.wait_for(lambda: not self._inside, timeout):
                return True
            self._held = False
            self._changed.notify_all()
            return False

    def release(self) -> None:
        with self._changed:
            self._held = False
            self._changed.notify_all()


# One fork at a time; held from before the fork until after it.
_forking = threading.Lock()
_known: weakref.WeakSet[Forkable] = weakref.WeakSet()
_inner: weakref.WeakSet[Forkable] = weakref.WeakSet()
_resting: list[Forkable] = []


def rest_in_forks(shared: Forkable, *, inner: bool = False) -> None:
    """Let an object finish what it does under its lock before the process forks.

    :param inner: others use it while they hold their own locks, which must be free before its lock is taken.
    """
    with _forking:
        _known.add(shared)
        if inner:
            _inner.add(shared)


def _before() -> None:
    _forking.acquire()
    for shared in sorted(_known, key=lambda shared: (shared in _inner, id(shared))):
        # Not for ever: the holder may itself be waiting for something that the forking thread holds.
        if shared.lock.acquire(timeout=PATIENCE):
            _resting.append(shared)


def _in_parent() -> None:
    for shared in _resting:
        shared.lock.release()
    _resting.clear()
    _forking.release()


def _in_child() -> None:
    _resting.clear()
    for shared in list(_known):
        shared.after_fork()
    _forking.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_in_parent, after_in_child=_in_child)
