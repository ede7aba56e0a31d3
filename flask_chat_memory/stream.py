"""A streamed answer: the pieces pass through, and whichever way the stream ends, the turn ends with it."""

from __future__ import annotations

import collections.abc as cabc
import logging
import typing as t

import msgspec

from .errors import StorageError
from .values import clean

if t.TYPE_CHECKING:
    from .turn import Turn

logger = logging.getLogger(__name__)

FAILED = "The answer could not be completed. Please try again."
NOT_STORED = "The answer could not be stored."


class AnswerStream:
    """Iterates over the pieces of an answer and stores what came.

    An object and no generator: a generator that never started would run no ``finally``.

    :param source: where the pieces come from; its ``close()`` is called when the stream ends early.
    """

    def __init__(self, turn: Turn, pieces: cabc.Iterable[str], source: object) -> None:
        self._turn = turn
        self._source = source
        self._pieces = iter(pieces)
        self._texts: list[str] = []

    def __iter__(self) -> AnswerStream:
        return self

    def __next__(self) -> str:
        try:
            piece = next(self._pieces)
            if not isinstance(piece, str):
                raise TypeError(f"a provider yields str, not {type(piece).__name__}")
        except StopIteration:
            self._turn.finish("".join(self._texts))
            raise
        except Exception as error:
            self._turn.fail(error, "".join(self._texts))
            self._close_source()
            raise
        piece = clean(piece)
        self._texts.append(piece)
        return piece

    def close(self) -> None:
        """End the turn with what came so far, if it has not ended: the reader has left."""
        try:
            self._close_source()
        finally:
            self._turn.leave("".join(self._texts))

    def _close_source(self) -> None:
        for source in (self._pieces, self._source):
            close = getattr(source, "close", None)
            if close is not None:
                close()


class EventStream:
    """The pieces of an answer as server-sent events: ``{"text"}``, ``{"error"}`` and ``[DONE]``.

    :param failed_before: the answer is the stored one of a turn that failed, so an error follows it again.
    """

    def __init__(self, stream: AnswerStream, failed_before: bool = False) -> None:
        self._stream = stream
        self._failed_before = failed_before
        self._events = self._encode()

    def _encode(self) -> cabc.Generator[bytes]:
        try:
            for piece in self._stream:
                if piece:
                    yield _event({"text": piece})
            if self._failed_before:
                yield _event({"error": FAILED})
        except StorageError:
            logger.exception("the answer was not stored")
            yield _event({"error": NOT_STORED})
        except Exception:
            # The turn has logged it.
            yield _event({"error": FAILED})
        yield b"data: [DONE]\n\n"

    def __iter__(self) -> EventStream:
        return self

    def __next__(self) -> bytes:
        return next(self._events)

    def close(self) -> None:
        try:
            self._events.close()
        finally:
            try:
                self._stream.close()
            except StorageError:
                logger.exception("the part of an answer was not stored")


def _event(data: dict[str, str]) -> bytes:
    return b"data: " + msgspec.json.encode(data) + b"\n\n"
