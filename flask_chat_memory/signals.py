"""Signals of what has happened, sent by the app: ids and numbers, nothing that was said."""

from __future__ import annotations

import logging
import typing as t

import blinker

from .events import log_event

if t.TYPE_CHECKING:
    import flask

logger = logging.getLogger(__name__)

_signals = blinker.Namespace()
thread_created = _signals.signal("thread_created", "The first question of a thread was stored.")
turn_started = _signals.signal("turn_started", "A question was taken; its answer is to come.")
turn_finished = _signals.signal("turn_finished", "A turn ended, whichever way.")
thread_deleted = _signals.signal("thread_deleted", "A visitor or the site deleted a thread.")
thread_adopted = _signals.signal("thread_adopted", "A thread of a visitor who logged in became the user's.")
storage_unavailable = _signals.signal("storage_unavailable", "A question or an answer could not be stored.")


class Announce(t.Protocol):
    """Tells the receivers of a signal."""

    def __call__(self, signal: blinker.NamedSignal, **facts: object) -> None: ...


class Announcer:
    """Sends signals in the name of an app; a receiver that fails is logged and changes nothing."""

    def __init__(self, app: flask.Flask) -> None:
        self._app = app

    def __call__(self, signal: blinker.NamedSignal, **facts: object) -> None:
        for receiver in signal.receivers_for(self._app):
            try:
                receiver(self._app, **facts)
            except Exception as error:
                log_event(logger, logging.ERROR, "a receiver of a signal failed", error, signal=signal.name)


def nobody(signal: blinker.NamedSignal, **facts: object) -> None:
    """Tell nobody."""
