"""A streamed answer: the pieces pass through, and whichever way the stream ends, the turn ends with it."""

from __future__ import annotations

import collections.abc as cabc
import contextlib
import logging
import typing as t

from .events import log_event
from .values import clean

logger = logging.getLogger(__name__)


class Ending(t.Protocol):
    """What a stream needs of a turn: to begin the answer, and the ways to end it, each with the text that came."""

    stopping: bool

    def active(self) -> contextlib.AbstractContextManager[object]: ...

    def begin(self, texts: list[str]) -> None: ...

    def finish(self, text: str) -> object: ...

    def fail(self, error: Exception, text: str) -> object: ...

    def leave(self, text: str) -> object: ...


class AnswerStream:
    """Iterates over the pieces of an answer and stores what came.

    An object and no generator: a generator that never started would run no ``finally``.

    :param source: where the pieces come from; its ``close()`` is called when the stream ends early.
    """

    def __init__(self, turn: Ending, pieces: cabc.Iterable[str], source: object) -> None:
        self._turn = turn
        self._source = source
        self._pieces = iter(pieces)
        self._texts: list[str] = []

    def __iter__(self) -> AnswerStream:
        return self

    def __next__(self) -> str:
        self._turn.begin(self._texts)
        self._heed_stop()
        try:
            with self._turn.active():
                piece = next(self._pieces)
            if not isinstance(piece, str):
                raise TypeError(f"a provider yields str, not {type(piece).__name__}")
            # Of a subclass, as Markup is one, only the text counts.
            piece = clean(str.__str__(piece))
        except StopIteration:
            self._turn.finish("".join(self._texts))
            raise
        except Exception as error:
            self._turn.fail(error, "".join(self._texts))
            self._close_source()
            raise
        except BaseException:
            # The process is about to end.
            self.close()
            raise
        # The wish may have come while the piece was being made.
        self._heed_stop()
        self._texts.append(piece)
        return piece

    def close(self) -> None:
        """End the turn with what came so far, if it has not ended: the reader has left."""
        try:
            self._close_source()
        finally:
            self._turn.leave("".join(self._texts))

    def _heed_stop(self) -> None:
        if self._turn.stopping:
            self.close()
            raise StopIteration

    def _close_source(self) -> None:
        for source in (self._pieces, self._source):
            close_quietly(source)


def close_quietly(source: object) -> None:
    """Close what can be closed; a failure is logged, for it says nothing of the answer."""
    close = getattr(source, "close", None)
    if close is None:
        return
    try:
        close()
    except Exception as error:
        log_event(logger, logging.ERROR, "the source of an answer could not be closed", error)
