"""Turns whose request failed before anybody could answer."""

from __future__ import annotations

import logging
import typing as t

import flask

from .errors import StorageError

if t.TYPE_CHECKING:
    from .turn import Turn

logger = logging.getLogger(__name__)

_KEY = "_chat_memory_turns"


def watch(turn: Turn) -> None:
    """Remember a turn for the end of the current request."""
    flask.g.setdefault(_KEY, []).append(turn)


def end_failed_turns(error: BaseException | None) -> None:
    """End the turns of a request that failed: its response is not sent, so nothing else would."""
    for turn in flask.g.pop(_KEY, []):
        if error is not None:
            try:
                turn.fail(error)
            except StorageError:
                logger.exception("the end of turn %s was not stored", turn.id)
