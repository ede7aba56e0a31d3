"""Leases of running turns: while the process lives and the turn is not over, nobody else ends it."""

from __future__ import annotations

import collections.abc as cabc
import dataclasses
import logging
import os
import threading
import typing as t
import weakref

from .message import ChatMessage
from .message import timestamp
from .plugins.abilities import KeepsLiveTurns
from .plugins.base import ChatMemoryPlugin
from .plugins.records import Scope

LEASE = 30.0
"""Seconds that a turn counts as running after its last sign of life."""
INTERVAL = 1.0
"""Seconds between two signs of life."""

logger = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True)
class Settled:
    """What became of turns without an answer.

    :param running: ids of those that are being answered.
    :param ended: some were dead and have been ended, so that there are new messages.
    """

    running: frozenset[str] = frozenset()
    ended: bool = False


def settle(plugin: ChatMemoryPlugin, scope: Scope, thread_id: str, messages: cabc.Iterable[ChatMessage]) -> Settled:
    """End the turns among these messages whose process has died.

    Costs nothing unless one of the messages is a question without its answer.
    """
    open_turns: set[str] = set()
    for message in messages:
        if message.turn is not None and message.role == "user":
            open_turns.add(message.turn)
        elif message.turn is not None and message.status is not None:
            open_turns.discard(message.turn)
    if not open_turns or not isinstance(plugin, KeepsLiveTurns):
        return Settled()
    live = plugin.live_turns(scope, thread_id)
    dead = [record for record in live if record.lease <= plugin.clock()]
    for record in dead:
        now = timestamp(plugin.clock())
        note = ChatMessage("assistant", None, id=record.answer_id, turn=record.turn, status="partial", created_at=now)
        plugin.end_turn(scope, thread_id, record.turn, [note], key=f"answer:{record.turn}", reply_to=record.question_id)
    running = {record.turn for record in live} - {record.turn for record in dead}
    return Settled(frozenset(running), bool(dead))


class Leased(t.Protocol):
    """A turn whose lease is renewed for as long as the object exists and is not over."""

    @property
    def lease(self) -> tuple[KeepsLiveTurns, Scope, str, str] | None:
        """The plugin, and what names the turn there: scope, thread id, turn id."""


class LeaseKeeper:
    """Renews the leases of all turns of the process, from one thread.

    Turns are held weakly: one that was dropped without being ended is left to its lease.
    """

    def __init__(self, interval: float = INTERVAL) -> None:
        self._interval = interval
        self.forget()

    def forget(self) -> None:
        """Start with no turn and no thread: after a fork, the parent goes on renewing what it has begun."""
        self._turns: weakref.WeakSet[Leased] = weakref.WeakSet()
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._idle = False

    def hold(self, turn: Leased) -> None:
        with self._changed:
            self._turns.add(turn)
            if self._thread is None:
                self._thread = threading.Thread(target=self._keep, name="chat-memory-leases", daemon=True)
                self._thread.start()
            if self._idle:
                self._changed.notify()

    def release(self, turn: Leased) -> None:
        with self._changed:
            self._turns.discard(turn)

    def renew(self) -> None:
        """Renew all leases, one call for each plugin; a store that is down does not stop the others."""
        with self._changed:
            turns = list(self._turns)
        by_plugin: dict[int, tuple[t.Any, list[tuple[Scope, str, str]]]] = {}
        for turn in turns:
            if turn.lease is None:
                continue
            plugin, scope, thread_id, turn_id = turn.lease
            by_plugin.setdefault(id(plugin), (plugin, []))[1].append((scope, thread_id, turn_id))
        for plugin, names in by_plugin.values():
            try:
                plugin.renew_turns(names, plugin.clock() + LEASE)
            except Exception:
                # Whatever a plugin does, the thread must go on for the turns of the others.
                logger.exception("the leases of %d running turns could not be renewed", len(names))

    def _keep(self) -> None:
        changed = self._changed
        while True:
            with changed:
                while not self._turns:
                    self._idle = True
                    changed.wait()
                self._idle = False
                changed.wait(self._interval)
            self.renew()


leases = LeaseKeeper()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=leases.forget)
