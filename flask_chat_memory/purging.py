"""Purges in the background, after every so many requests."""

from __future__ import annotations

import collections.abc as cabc
import itertools
import logging
import threading

import flask

from .events import log_event
from .retention import Counts
from .retention import THREADS

logger = logging.getLogger(__name__)

NAME = "chat-memory-purge"
"""Of the thread."""
MOST = 1_000
"""Threads after which a purge leaves the rest to the next one."""


class BackgroundPurge:
    """Purges once in so many requests of the process, after the response and in a thread; never twice at a time.

    :param batches: begins a purge, and tells after each batch what went with it.
    """

    def __init__(self, app: flask.Flask, every: int, batches: cabc.Callable[[], cabc.Iterator[Counts]]) -> None:
        self._app = app
        self._every = every
        self._batches = batches
        self._requests = itertools.count(1)
        self._thread: threading.Thread | None = None

    def after_request(self, response: flask.Response) -> flask.Response:
        if next(self._requests) % self._every == 0:
            response.call_on_close(self._start)
        return response

    def _start(self) -> None:
        # In a forked process a thread of its parent counts as ended.
        if self._thread is not None and self._thread.is_alive():
            return
        self._thread = threading.Thread(target=self._run, name=NAME, daemon=True)
        try:
            self._thread.start()
        except RuntimeError as error:
            log_event(logger, logging.WARNING, "nothing is purged, for the process is ending", error)

    def _run(self) -> None:
        try:
            with self._app.app_context():
                removed = 0
                for counts in self._batches():
                    removed += counts.get(THREADS, 0)
                    if removed >= MOST:
                        break
        except Exception as error:
            log_event(logger, logging.ERROR, "what is expired was not purged; the next purge goes on", error)
