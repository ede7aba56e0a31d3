"""An answer that is made to its end, whether or not anybody reads it."""

from __future__ import annotations

import threading

import flask

from .stream import AnswerStream


class FinishingStream:
    """Passes on the pieces of an answer that a thread of its own makes.

    The thread starts with the first piece that is wanted, or when the reader leaves, and has a copy of the request's
    context. It does not keep the process alive: what a restart cuts off, the next reader ends.
    """

    def __init__(self, stream: AnswerStream) -> None:
        self._stream = stream
        self._make = flask.copy_current_request_context(self._make_all)
        self._changed = threading.Condition()
        self._pieces: list[str] = []
        self._started = self._left = self._over = False
        self._error: BaseException | None = None

    def __iter__(self) -> FinishingStream:
        return self

    def __next__(self) -> str:
        self._start()
        with self._changed:
            self._changed.wait_for(lambda: self._pieces or self._over)
            if self._pieces:
                return self._pieces.pop(0)
        if self._error is not None:
            raise self._error
        raise StopIteration

    def close(self) -> None:
        """Let the answer be made without a reader."""
        self._start()
        with self._changed:
            self._left = True
            self._pieces.clear()

    def _start(self) -> None:
        if self._started:
            return
        self._started = True
        try:
            threading.Thread(target=self._make, name="chat-memory-answer", daemon=True).start()
        except RuntimeError:
            # The process is about to end.
            self._over = True
            self._stream.close()

    def _make_all(self) -> None:
        try:
            for piece in self._stream:
                with self._changed:
                    if not self._left:
                        self._pieces.append(piece)
                        self._changed.notify()
        except BaseException as error:
            # The turn has logged it; the reader, if there is one, is told.
            self._error = error
        finally:
            with self._changed:
                self._over = True
                self._changed.notify()
