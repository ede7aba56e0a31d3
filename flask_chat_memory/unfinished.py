"""Turns whose request failed before anybody could answer."""

from __future__ import annotations

import logging
import typing as t

import flask

from .errors import ChatMemoryError
from .errors import StorageError
from .events import log_event

if t.TYPE_CHECKING:
    from .turn import Turn

logger = logging.getLogger(__name__)

# In the environment, which copies of a request's context and streams share, and other requests do not.
_KEY = "flask_chat_memory.turns"


def watch(turn: Turn) -> None:
    """Remember a turn for the end of the current request."""
    flask.request.environ.setdefault(_KEY, []).append(turn)


def end_refused_turns(response: flask.Response) -> flask.Response:
    """End the turns of a request that is answered with an error and not with a stream of theirs."""
    if response.status_code >= 400:
        for turn in flask.request.environ.get(_KEY, []):
            if turn.is_idle:
                _fail(turn, ChatMemoryError(f"the request was answered with {response.status_code}"))
    return response


def end_failed_turns(error: BaseException | None) -> None:
    """End the turns of a request that failed: its response is not sent, so nothing else would."""
    for turn in flask.request.environ.pop(_KEY, []):
        # A stream keeps the context of its request, which is torn down with the error or the end of the stream, too.
        if isinstance(error, Exception) and not turn.begun:
            _fail(turn, error)


def _fail(turn: Turn, error: Exception) -> None:
    try:
        turn.fail(error)
    except StorageError as failure:
        log_event(logger, logging.ERROR, "the end of a turn was not stored", failure, turn_id=turn.id)
