from __future__ import annotations

import collections.abc as cabc
import logging
import pathlib
import typing as t

import flask
import pytest
import sqlalchemy as sa
from flask_sqlalchemy import SQLAlchemy

from flask_chat_memory import ChatMessage
from flask_chat_memory import Conversation
from flask_chat_memory.response import FAILED
from flask_chat_memory.response import NOT_STORED

from .conversations import BUILT_IN
from .conversations import events
from .conversations import FragilePlugin
from .conversations import Site
from .conversations import Source
from .conversations import told


@pytest.fixture(params=BUILT_IN)
def site(request: pytest.FixtureRequest, tmp_path: pathlib.Path) -> Site:
    return Site(tmp_path, request.param)


@pytest.fixture
def conversation(site: Site) -> Conversation:
    return site.start()


def serve(site: Site, answer: t.Callable[[], t.Any]) -> flask.Flask:
    """Add the site's own view."""

    @site.app.route("/chat", methods=["GET", "POST"])
    def chat() -> flask.Response:
        return site.memory.conversation().turn("hi").response(answer())

    return site.app


def stored_of(site: Site) -> list[tuple[str, t.Any, str | None]]:
    return told(site.start().history())


def test_a_view_streams_events(site: Site) -> None:
    response = serve(site, lambda: ["a", "", "b"]).test_client().post("/chat")
    assert events(response) == [{"text": "a"}, {"text": "b"}, "[DONE]"]
    assert response.content_type == "text/event-stream"
    assert response.headers["Cache-Control"] == "private, no-store"
    question, answer = site.start().history()
    assert response.headers["Chat-Memory-Thread"] == site.start().thread_id
    assert response.headers["Chat-Memory-Question"] == question.id
    assert response.headers["Chat-Memory-Answer"] == answer.id
    assert answer.text == "ab"


@pytest.mark.parametrize("answer", ["ab", ["a", "b"], ChatMessage("assistant", "ab", metadata={"a": 1})])
def test_a_client_that_wants_json_gets_json(answer: t.Any, site: Site) -> None:
    response = serve(site, lambda: answer).test_client().post("/chat", headers={"Accept": "application/json"})
    question, stored = site.start().history()
    assert response.json == {
        "thread_id": site.start().thread_id,
        "question_id": question.id,
        "answer_id": stored.id,
        "role": "ai",
        "text": "ab",
        "status": "complete",
    }
    assert stored.metadata == ({"a": 1} if isinstance(answer, ChatMessage) else {})


def test_a_message_as_answer_keeps_what_it_carries(site: Site) -> None:
    message = ChatMessage(
        "assistant",
        [{"type": "text", "text": "see"}, {"type": "image_url", "image_url": {"url": "data:,x"}}],
        usage={"input": 3},
        model="m-1",
        metadata={"a": 1},
        id="of the provider",
    )
    response = serve(site, lambda: message).test_client().post("/chat")
    assert events(response) == [{"text": "see"}, "[DONE]"]
    stored = site.start().history()[-1]
    assert (stored.content, stored.usage, stored.model, stored.metadata) == (
        message.content,
        message.usage,
        "m-1",
        {"a": 1},
    )
    assert stored.id == response.headers["Chat-Memory-Answer"]
    assert stored.status == "complete"


@pytest.mark.scenario("S084")
@pytest.mark.parametrize("read", [0, 1, 2])
def test_a_client_that_leaves_keeps_the_part(read: int, site: Site) -> None:
    app = serve(site, lambda: ["a", "b", "c"])
    if read == 0:
        site.leave_at_once("/chat")
    else:
        response = app.test_client().post("/chat", buffered=False)
        body = iter(response.response)
        # The first thing that comes is no piece.
        for _ in range(1 + read):
            next(body)
        response.close()
    assert stored_of(site) == [("user", "hi", None), ("assistant", "ab"[:read] or None, "partial")]


def test_a_head_request_leaves_a_note(site: Site) -> None:
    with serve(site, lambda: ["a"]).test_client().head("/chat") as response:
        assert response.data == b""
    assert stored_of(site) == [("user", "hi", None), ("assistant", None, "partial")]


@pytest.mark.scenario("S157")
@pytest.mark.parametrize("accept", ["text/event-stream", "application/json"])
@pytest.mark.parametrize("before", [[], ["a"]])
def test_a_client_learns_of_a_failure_in_a_safe_sentence(before: list[str], accept: str, site: Site) -> None:
    source = Source([*before, RuntimeError("postgres://name:password@host")])
    response = serve(site, lambda: source).test_client().post("/chat", headers={"Accept": accept})
    assert "postgres" not in response.get_data(as_text=True)
    if accept == "application/json":
        assert response.status_code == 502
        assert response.json is not None
        assert response.json["error"] == FAILED
        assert "text" not in response.json
    else:
        assert events(response) == [*({"text": piece} for piece in before), {"error": FAILED}, "[DONE]"]
    assert stored_of(site)[1] == ("assistant", "".join(before) or None, "failed")


@pytest.mark.parametrize("answer", [None, 5, b"ab", {"text": "ab"}])
def test_an_answer_of_the_wrong_type_is_an_error_and_a_failed_turn(answer: t.Any, site: Site) -> None:
    app = serve(site, lambda: answer)
    assert app.test_client().post("/chat").status_code == 500
    assert stored_of(site)[1] == ("assistant", None, "failed")


@pytest.mark.parametrize("accept", ["text/event-stream", "application/json"])
def test_a_piece_that_no_client_can_read_is_cleaned(accept: str, site: Site) -> None:
    app = serve(site, lambda: ["a\ud83d", "\x00b"])
    response = app.test_client().post("/chat", headers={"Accept": accept}, buffered=True)
    assert stored_of(site)[1] == ("assistant", "a\ufffd\ufffdb", "complete")
    if accept == "application/json":
        assert response.json is not None
        assert response.json["text"] == "a\ufffd\ufffdb"
    else:
        assert events(response) == [{"text": "a\ufffd"}, {"text": "\ufffdb"}, "[DONE]"]


@pytest.mark.parametrize("accept", ["text/event-stream", "application/json"])
def test_a_store_that_fails_at_the_end_is_told(
    accept: str, tmp_path: pathlib.Path, caplog: pytest.LogCaptureFixture
) -> None:
    site = Site(tmp_path, FragilePlugin)

    def pieces() -> cabc.Iterator[str]:
        yield "a"
        site.plugin.down = True

    with caplog.at_level(logging.CRITICAL):
        response = serve(site, pieces).test_client().post("/chat", headers={"Accept": accept})
    assert "password" not in response.get_data(as_text=True)
    if accept == "application/json":
        assert response.status_code == 503
        assert response.json is not None
        assert response.json["error"] == NOT_STORED
    else:
        assert events(response) == [{"text": "a"}, {"error": NOT_STORED}, "[DONE]"]


def test_a_store_that_fails_when_the_reader_leaves_breaks_no_server(
    tmp_path: pathlib.Path, caplog: pytest.LogCaptureFixture
) -> None:
    site = Site(tmp_path, FragilePlugin)
    response = serve(site, lambda: ["a", "b"]).test_client().post("/chat", buffered=False)
    next(iter(response.response))
    site.plugin.down = True
    with caplog.at_level(logging.CRITICAL):
        response.close()
    site.plugin.down = False
    assert stored_of(site)[0] == ("user", "hi", None)


@pytest.mark.scenario("S179")
def test_a_stream_that_goes_on_after_its_request_needs_nothing_of_it(tmp_path: pathlib.Path) -> None:
    db = SQLAlchemy()
    site = Site(tmp_path, "sqlalchemy", OPTIONS={"engine": db})
    site.app.config["SQLALCHEMY_DATABASE_URI"] = f"sqlite:///{tmp_path}/site.db"
    db.init_app(site.app)
    torn_down: list[bool] = []
    site.app.teardown_request(lambda _error: torn_down.append(True))

    def pieces() -> cabc.Iterator[str]:
        yield str(flask.has_app_context())
        yield str(torn_down)

    @site.app.post("/chat")
    def chat() -> flask.Response:
        db.session.execute(sa.text("SELECT 1"))
        return flask.Response(site.memory.conversation().turn("hi").stream(pieces()))

    site.app.test_client().post("/chat", buffered=True)
    assert stored_of(site) == [("user", "hi", None), ("assistant", "False[True]", "complete")]
    with site.app.app_context():
        assert t.cast(sa.QueuePool, db.engine.pool).checkedout() == 0
        db.engine.dispose()
