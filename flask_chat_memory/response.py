"""An answer as a HTTP response: server-sent events, or JSON."""

from __future__ import annotations

import collections.abc as cabc
import logging
import typing as t

import flask
import msgspec

from .errors import StorageError
from .events import log_event
from .message import ChatMessage

logger = logging.getLogger(__name__)

THREAD_HEADER = "Chat-Memory-Thread"
QUESTION_HEADER = "Chat-Memory-Question"
ANSWER_HEADER = "Chat-Memory-Answer"
NOTICE_HEADER = "Chat-Memory-Notice"
NOT_STORED_NOTICE = "not-stored"
TEMPORARY_NOTICE = "temporary"
FAILED = "The answer could not be completed. Please try again."
NOT_STORED = "The answer could not be stored."
_SIGN = b":\n\n"
"""A comment, which clients pass over."""


class Answered(t.Protocol):
    """What a response tells of a turn."""

    question: ChatMessage
    answer: ChatMessage | None
    answer_id: str
    repeated: bool
    notice: str | None

    @property
    def thread_id(self) -> str | None: ...

    @property
    def failed_before(self) -> bool: ...


def wants_json() -> bool:
    """Tell whether the client of the current request accepts JSON rather than a stream."""
    kinds = ["text/event-stream", "application/json"]
    return flask.request.accept_mimetypes.best_match(kinds) == "application/json"


class Stream(t.Protocol):
    """The pieces of an answer, with somebody who learns that the reader has left."""

    def __iter__(self) -> cabc.Iterator[str]: ...

    def close(self) -> None: ...


def event_response(turn: Answered, stream: Stream) -> flask.Response:
    """Return a response that streams the pieces; the session is saved before the first one is made."""
    response = flask.Response(EventStream(turn, stream), content_type="text/event-stream")
    response.headers["X-Accel-Buffering"] = "no"
    return response


def json_response(turn: Answered, stream: Stream) -> flask.Response:
    """Wait for the whole answer and return it, or 502 or 503 with a sentence."""
    try:
        for _ in stream:
            pass
        code, sentence = (502, FAILED) if turn.failed_before else (200, None)
    except StorageError as error:
        log_event(logger, logging.ERROR, "an answer was not stored", error, answer_id=turn.answer_id)
        code, sentence = 503, NOT_STORED
    except Exception:
        # The turn has logged it.
        code, sentence = 502, FAILED
    body = {"thread_id": turn.thread_id, "question_id": turn.question.id, "answer_id": turn.answer_id}
    if sentence is not None:
        body["error"] = sentence
    else:
        answer = t.cast(ChatMessage, turn.answer)
        body |= {"role": "ai", "text": answer.text, "status": answer.status}
    response = flask.jsonify(body)
    response.status_code = code
    return response


def keep_private(response: flask.Response) -> flask.Response:
    """Keep a response out of all caches, that of the Back button included."""
    response.headers["Cache-Control"] = "private, no-store"
    return response


def add_headers(turn: Answered, response: flask.Response) -> flask.Response:
    """Announce the ids under which question and answer are stored, and keep the response out of caches."""
    keep_private(response)
    for header, value in (
        (THREAD_HEADER, turn.thread_id),
        (QUESTION_HEADER, turn.question.id),
        (ANSWER_HEADER, turn.answer_id),
        (NOTICE_HEADER, turn.notice),
    ):
        if value is not None:
            response.headers[header] = value
    return response


class EventStream:
    """The pieces of an answer as server-sent events: ``{"text"}``, ``{"error"}`` and ``[DONE]``.

    Before all there is a comment, which sends the headers, and with them the visitor's cookie, while the model is still
    silent. An answer that was stopped or cut off is followed by an event that tells its ``status``, with an empty text.
    """

    def __init__(self, turn: Answered, stream: Stream) -> None:
        self._turn = turn
        self._stream = stream
        self._events = self._encode()

    def _encode(self) -> cabc.Generator[bytes]:
        yield _SIGN
        try:
            for piece in self._stream:
                if piece:
                    yield _event({"text": piece})
                elif self._turn.repeated and self._turn.answer is None:
                    # By which the server notices a reader that has left.
                    yield _SIGN
            answer = self._turn.answer
            if self._turn.failed_before:
                yield _event({"error": FAILED})
            elif answer and answer.status in ("stopped", "partial"):
                yield _event({"text": "", "status": answer.status})
        except StorageError as error:
            log_event(logger, logging.ERROR, "an answer was not stored", error, answer_id=self._turn.answer_id)
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
            except StorageError as error:
                log_event(logger, logging.ERROR, "an answer was not stored", error, answer_id=self._turn.answer_id)


def _event(data: dict[str, str]) -> bytes:
    return b"data: " + msgspec.json.encode(data) + b"\n\n"
