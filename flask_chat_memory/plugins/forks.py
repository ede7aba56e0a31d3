"""Over a fork: the child must not get a lock, or a half-done change, of a thread that it does not have."""

from __future__ import annotations

import os
import threading
import typing as t
import weakref

PATIENCE = 2.0
"""Seconds that a fork waits for work under a lock to end."""


class Forkable(t.Protocol):
    """What is shared by the threads of a process and must survive a fork."""

    lock: threading.RLock

    def after_fork(self) -> None:
        """Start afresh in the child."""


# One fork at a time; held from before the fork until after it.
_forking = threading.Lock()
_known: weakref.WeakSet[Forkable] = weakref.WeakSet()
_resting: list[Forkable] = []


def rest_in_forks(shared: Forkable) -> None:
    """Let an object finish what it does under its lock before the process forks."""
    with _forking:
        _known.add(shared)


def _before() -> None:
    _forking.acquire()
    for shared in sorted(_known, key=id):
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
