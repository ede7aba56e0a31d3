"""Passing an answer on: as a stream, or as the response to the request that asked."""

from __future__ import annotations

import collections.abc as cabc
import types
import typing as t

import flask

from .finishing import FinishingStream
from .following import Following
from .message import ChatMessage
from .response import add_headers
from .response import Answered
from .response import event_response
from .response import json_response
from .response import wants_json
from .stream import AnswerStream
from .stream import Ending


class Answering(Answered, Ending):
    """A turn as those see it who pass its answer on; whichever way that ends, the turn ends with it."""

    _following: Following | None
    _finishes: bool
    _reply: ChatMessage | None = None
    _streaming = False

    @property
    def is_idle(self) -> bool:
        """Whether the turn waits for an answer that nobody is passing on."""
        return self.answer is None and not self._streaming and not self.repeated

    def stream(self, pieces: cabc.Iterable[str]) -> AnswerStream:
        """Pass the pieces of the answer through; the answer is stored when they end, fail, or ``close()`` is called."""
        return AnswerStream(self, self._told(pieces), source=pieces)

    def response(self, answer: str | ChatMessage | cabc.Iterable[str]) -> flask.Response:
        """Answer the request that asked: a stream of server-sent events, or JSON for a client that accepts only that.

        :param answer: the text, an assistant message, or the pieces of the text.
        """
        try:
            pieces = self.pieces(answer)
        except TypeError as error:
            self.fail(error, "")
            raise
        if wants_json():
            response = json_response(self, self.stream(pieces))
        elif self._finishes and not self.repeated and flask.request.method != "HEAD":
            response = event_response(self, FinishingStream(self.stream(pieces)))
        else:
            # What yields the pieces may read the request, as the view could.
            told = self._told(flask.stream_with_context(iter(pieces)))
            response = event_response(self, AnswerStream(self, told, source=pieces))
        return add_headers(self, response)

    def pieces(self, answer: object) -> cabc.Iterable[str]:
        """Return the text of whatever a provider gave, as pieces."""
        if isinstance(answer, str):
            return [answer]
        if isinstance(answer, ChatMessage) and answer.role == "assistant":
            # It carries more than text, which is stored when the stream has ended.
            self._reply = answer
            return [answer.text]
        if isinstance(answer, cabc.Iterable) and not isinstance(answer, (bytes, cabc.Mapping)):
            return answer
        raise TypeError(f"a provider gives str, ChatMessage or an iterable of str, not {type(answer).__name__}")

    def __enter__(self) -> t.Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: types.TracebackType | None
    ) -> None:
        if isinstance(error, Exception):
            self.fail(error, "")
        elif error is not None or not self._streaming:
            self.leave("")

    def _told(self, pieces: cabc.Iterable[str]) -> cabc.Iterable[str]:
        self._streaming = True
        if self.answer is None and self._following is not None:
            return self._followed(self._following)
        return [self.answer.text] if self.repeated and self.answer else pieces

    def _followed(self, following: Following) -> cabc.Iterator[str]:
        yield from following
        self.answer = following.answer
