"""Plugins over a fork: the child must not get a lock, or a half-done change, of a thread that it does not have."""

from __future__ import annotations

import os
import threading
import typing as t
import weakref


class Forkable(t.Protocol):
    """What is shared by the threads of a process and must survive a fork."""

    lock: threading.RLock

    def after_fork(self) -> None:
        """Start afresh in the child."""


_known: weakref.WeakSet[Forkable] = weakref.WeakSet()
_resting: list[Forkable] = []


def rest_in_forks(plugin: Forkable) -> None:
    """Let a plugin finish what it does under its lock before the process forks."""
    _known.add(plugin)


def _before() -> None:
    _resting[:] = sorted(_known, key=id)
    for plugin in _resting:
        plugin.lock.acquire()


def _in_parent() -> None:
    for plugin in _resting:
        plugin.lock.release()
    _resting.clear()


def _in_child() -> None:
    for plugin in _resting:
        plugin.after_fork()
    _resting.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_in_parent, after_in_child=_in_child)
