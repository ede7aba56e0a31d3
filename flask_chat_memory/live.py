"""Leases of running turns: while the process lives and the turn is not over, nobody else ends it."""

from __future__ import annotations

import collections.abc as cabc
import itertools
import logging
import os
import threading
import typing as t
import weakref

import msgspec

from .errors import StorageError
from .events import log_event
from .message import ChatMessage
from .message import timestamp
from .place import Place
from .plugins.abilities import KeepsLiveTurns
from .plugins.records import LiveTurn
from .plugins.records import Renewal
from .plugins.records import Scope
from .signals import turn_finished
from .usage import Usage

LEASE = 30.0
"""Seconds that a turn counts as running after its last sign of life."""
INTERVAL = 1.0
"""Seconds between two signs of life."""
OFTEN = 4
"""How many times as often the text of a turn that is followed is told."""

logger = logging.getLogger(__name__)


class Settled(msgspec.Struct, frozen=True):
    """What became of turns without an answer.

    :param running: ids of those that are being answered.
    :param ended: some were dead and have been ended, so that there are new messages.
    """

    running: frozenset[str] = frozenset()
    ended: bool = False


def settle(place: Place, messages: cabc.Iterable[ChatMessage]) -> Settled:
    """End the turns of a thread whose process has died.

    Costs nothing unless one of these messages is a question without its answer.
    """
    open_turns: set[str] = set()
    for message in messages:
        if message.turn is not None and message.role == "user":
            open_turns.add(message.turn)
        elif message.turn is not None and message.status is not None:
            open_turns.discard(message.turn)
    if not open_turns or not isinstance(place.plugin, KeepsLiveTurns):
        return Settled()
    live = place.plugin.live_turns(place.scope, place.thread_id)
    dead = [record for record in live if record.lease <= place.plugin.clock()]
    for record in dead:
        _end(place, record)
    running = {record.turn for record in live} - {record.turn for record in dead}
    return Settled(frozenset(running), bool(dead))


def _end(place: Place, record: LiveTurn) -> None:
    part = ChatMessage("assistant", record.text or None, status="partial")
    part = part.replace(id=record.answer_id, turn=record.turn, created_at=timestamp(place.plugin.clock()))
    appended = place.end(record.turn, record.question_id, [part])
    if appended is None or appended.repeated:
        return
    place.announce(
        turn_finished,
        owner=place.scope.owner,
        chatbot=place.scope.chatbot,
        thread_id=place.thread_id,
        turn_id=record.turn,
        status=part.status,
        model=None,
        usage=Usage.sum([]),
        seconds=None,
        stored=True,
    )


class Leased(t.Protocol):
    """A turn whose lease is renewed for as long as the object exists and is not over."""

    @property
    def lease(self) -> tuple[KeepsLiveTurns, Scope, str, str] | None:
        """The plugin, and what names the turn there: scope, thread id, turn id."""

    @property
    def text_so_far(self) -> str:
        """The answer as far as it came."""

    @property
    def is_followed(self) -> bool:
        """Whether others are likely to follow the answer, so that what is new is told four times as often."""

    def stop(self) -> None:
        """Hear that the turn is to end; said again at each renewal until it has."""


class LeaseKeeper:
    """Renews the leases of all turns of the process, from one thread, and carries what is told of them to and fro.

    Turns are held weakly: one that was dropped without being ended is left to its lease.
    """

    def __init__(self, interval: float = INTERVAL) -> None:
        self._interval = interval
        self.forget()

    def forget(self) -> None:
        """Start with no turn and no thread: after a fork, the parent goes on renewing what it has begun."""
        self._turns: weakref.WeakSet[Leased] = weakref.WeakSet()
        self._told: weakref.WeakKeyDictionary[Leased, str] = weakref.WeakKeyDictionary()
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

    def renew(self, only_news: bool = False) -> None:
        """Renew leases, one call for each plugin; a store that is down does not stop the others.

        :param only_news: only of turns that are followed and have something new to tell.
        """
        with self._changed:
            turns = list(self._turns)
        by_plugin: dict[int, tuple[t.Any, list[tuple[Leased, Renewal]]]] = {}
        for turn in turns:
            text = turn.text_so_far
            is_new = text != self._told.get(turn, "")
            if turn.lease is None or (only_news and not (turn.is_followed and is_new)):
                continue
            plugin, scope, thread_id, turn_id = turn.lease
            renewal = Renewal(scope, thread_id, turn_id, text if is_new else None)
            by_plugin.setdefault(id(plugin), (plugin, []))[1].append((turn, renewal))
        for plugin, renewed in by_plugin.values():
            try:
                self._renew(plugin, renewed)
            except Exception as error:
                # Whatever a plugin does, the thread must go on for the turns of the others.
                log_event(
                    logger, logging.ERROR, "the leases of running turns could not be renewed", error, turns=len(renewed)
                )

    def _renew(self, plugin: t.Any, renewed: list[tuple[Leased, Renewal]]) -> None:
        unwanted = plugin.renew_turns([renewal for _, renewal in renewed], plugin.clock() + LEASE)
        for turn, renewal in renewed:
            if renewal.text is not None:
                self._told[turn] = renewal.text
            if renewal.turn in unwanted:
                _stop(turn)

    def _keep(self) -> None:
        changed = self._changed
        for count in itertools.count(1):
            with changed:
                while not self._turns:
                    self._idle = True
                    changed.wait()
                self._idle = False
                changed.wait(self._interval / OFTEN)
            self.renew(only_news=count % OFTEN != 0)


def _stop(turn: Leased) -> None:
    try:
        turn.stop()
    except StorageError as error:
        # The others are to stop, too.
        log_event(logger, logging.ERROR, "the end of a running turn was not stored", error)


leases = LeaseKeeper()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=leases.forget)
