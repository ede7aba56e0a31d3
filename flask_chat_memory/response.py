"""An answer as a HTTP response: server-sent events, or JSON."""

from __future__ import annotations

import collections.abc as cabc
import logging
import typing as t

import flask
import msgspec

from .errors import StorageError
from .message import ChatMessage
from .stream import AnswerStream

logger = logging.getLogger(__name__)

THREAD_HEADER = "Chat-Memory-Thread"
QUESTION_HEADER = "Chat-Memory-Question"
ANSWER_HEADER = "Chat-Memory-Answer"
NOTICE_HEADER = "Chat-Memory-Notice"
NOT_STORED_NOTICE = "not-stored"
TEMPORARY_NOTICE = "temporary"
FAILED = "The answer could not be completed. Please try again."
NOT_STORED = "The answer could not be stored."


class Answered(t.Protocol):
    """What a response tells of a turn."""

    question: ChatMessage
    answer: ChatMessage | None
    answer_id: str
    notice: str | None

    @property
    def thread_id(self) -> str | None: ...

    @property
    def failed_before(self) -> bool: ...


def wants_json() -> bool:
    """Tell whether the client of the current request accepts JSON rather than a stream."""
    kinds = ["text/event-stream", "application/json"]
    return flask.request.accept_mimetypes.best_match(kinds) == "application/json"


def event_response(turn: Answered, stream: AnswerStream) -> flask.Response:
    """Return a response that streams the pieces; the session is saved before the first one is made."""
    response = flask.Response(EventStream(stream, turn.failed_before), content_type="text/event-stream")
    response.headers["X-Accel-Buffering"] = "no"
    return response


def json_response(turn: Answered, stream: AnswerStream) -> flask.Response:
    """Wait for the whole answer and return it, or 502 or 503 with a sentence."""
    code, error = (502, FAILED) if turn.failed_before else (200, None)
    try:
        for _ in stream:
            pass
    except StorageError:
        logger.exception("an answer was not stored")
        code, error = 503, NOT_STORED
    except Exception:
        # The turn has logged it.
        code, error = 502, FAILED
    body = {"thread_id": turn.thread_id, "question_id": turn.question.id, "answer_id": turn.answer_id}
    if error is not None:
        body["error"] = error
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
