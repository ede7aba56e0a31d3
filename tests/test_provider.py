from __future__ import annotations

import collections.abc as cabc
import functools
import pathlib
import typing as t

import flask
import flask_login
import pytest

from flask_chat_memory import ChatMemory
from flask_chat_memory import ChatMessage
from flask_chat_memory import Scope
from flask_chat_memory import Turn
from flask_chat_memory import Usage
from flask_chat_memory.response import FAILED

from .conversations import body
from .conversations import BUILT_IN
from .conversations import events
from .conversations import OWNER
from .conversations import Site
from .conversations import told


@pytest.fixture(params=BUILT_IN)
def site(request: pytest.FixtureRequest, tmp_path: pathlib.Path) -> Site:
    return Site(tmp_path, request.param)


class Pieces:
    def __init__(self, *pieces: str) -> None:
        self._pieces = iter(pieces)
        self.closed = False

    def __iter__(self) -> Pieces:
        return self

    def __next__(self) -> str:
        return next(self._pieces)

    def close(self) -> None:
        self.closed = True


class Response:
    """Is iterable without being an iterator, like the streams of providers' clients."""

    def __init__(self, *pieces: str) -> None:
        self._pieces = pieces
        self.closed = False

    def __iter__(self) -> cabc.Iterator[str]:
        yield from self._pieces

    def close(self) -> None:
        self.closed = True


def text(turn: Turn) -> str:
    return f"You said: {turn.text}"


def message(turn: Turn) -> ChatMessage:
    return ChatMessage("assistant", f"You said: {turn.text}")


def generator(turn: Turn) -> cabc.Iterator[str]:
    yield "You said: "
    yield turn.text


def a_list(turn: Turn) -> list[str]:
    return ["You said: ", turn.text]


def iterator(turn: Turn) -> Pieces:
    return Pieces("You said: ", turn.text)


def iterable(turn: Turn) -> Response:
    return Response("You said: ", turn.text)


async def async_text(turn: Turn) -> str:
    return f"You said: {turn.text}"


async def async_message(turn: Turn) -> ChatMessage:
    return ChatMessage("assistant", f"You said: {turn.text}")


async def async_list(turn: Turn) -> list[str]:
    return ["You said: ", turn.text]


FORMS = [text, message, generator, a_list, iterator, iterable, async_text, async_message, async_list]


@pytest.mark.parametrize("provider", [*FORMS, functools.partial(text)])
def test_a_provider_answers_in_any_form(provider: t.Any, site: Site) -> None:
    site.memory.provider(provider)
    pieces = [event["text"] for event in events(site.post("hi")) if event != "[DONE]"]
    assert "".join(pieces) == "You said: hi"
    response = site.post("again", accept="application/json")
    assert response.json is not None
    assert response.json["text"] == "You said: again"
    assert site.start().send("from a worker").text == "You said: from a worker"
    assert told(site.start().history())[1::2] == [
        ("assistant", f"You said: {asked}", "complete") for asked in ("hi", "again", "from a worker")
    ]


@pytest.mark.parametrize("make", [Pieces, Response])
@pytest.mark.parametrize("read", [1, 2])
def test_what_the_provider_opened_is_closed_when_the_reader_leaves(make: t.Any, read: int, site: Site) -> None:
    opened = make("a", "b", "c")
    site.memory.provider(lambda turn: opened)
    response = site.app.test_client().post("/chat-memory/default/messages", json=body("hi"), buffered=False)
    pieces = iter(response.response)
    # The first thing that comes is no piece.
    for _ in range(1 + read):
        next(pieces)
    response.close()
    assert opened.closed
    assert told(site.start().history())[1] == ("assistant", "ab"[:read], "partial")


def test_a_provider_is_not_called_for_a_reader_that_left_at_once(site: Site) -> None:
    called = []

    @site.memory.provider
    def answer(turn: Turn) -> str:
        called.append(turn)
        return "x"

    site.leave_at_once("/chat-memory/default/messages", json=body("hi"))
    assert called == []
    assert told(site.start().history()) == [("user", "hi", None), ("assistant", None, "partial")]


def test_the_question_is_stored_before_the_provider_is_called(site: Site) -> None:
    found = []

    @site.memory.provider
    def answer(turn: Turn) -> str:
        found.append(site.stored(turn.thread_id))
        return "fine"

    site.post("hi").get_data()
    site.start().send("again")
    assert [[message.text for message in messages] for messages in found] == [["hi"], ["hi", "fine", "again"]]


def test_a_provider_may_read_request_session_and_user_while_it_streams(tmp_path: pathlib.Path) -> None:
    app = flask.Flask("site", instance_path=str(tmp_path))
    app.config.update(SECRET_KEY="secret", CHAT_MEMORY_PLUGIN="sqlalchemy")
    login = flask_login.LoginManager(app)
    memory = ChatMemory(app)

    class User(flask_login.UserMixin):  # type: ignore[misc]
        id = "7"

    login.user_loader(lambda user_id: User())

    @app.post("/login")
    def log_in() -> str:
        flask.session["colour"] = "red"
        flask_login.login_user(User())
        return ""

    @memory.provider
    def answer(turn: Turn) -> cabc.Iterator[str]:
        yield flask.request.path
        yield str(flask.session["colour"])
        yield str(flask_login.current_user.get_id())
        yield str(turn.owner)

    client = app.test_client()
    client.post("/login")
    response = client.post("/chat-memory/default/messages", json=body("hi"))
    texts = [event["text"] for event in events(response)[:-1]]
    assert texts == ["/chat-memory/default/messages", "red", "7", "user:7"]


@pytest.mark.scenario("S085", "S087")
@pytest.mark.parametrize("before", [[], ["a", "b"]])
def test_a_provider_that_fails_leaves_its_part_and_no_error_text(before: list[str], site: Site) -> None:
    @site.memory.provider
    def answer(turn: Turn) -> cabc.Iterator[str]:
        yield from before
        raise RuntimeError("key sk-secret is wrong")

    response = site.post("hi")
    assert events(response) == [*({"text": piece} for piece in before), {"error": FAILED}, "[DONE]"]
    with pytest.raises(RuntimeError, match="sk-secret"):
        site.start().send("again")
    history = site.start().history()
    assert told(history)[1::2] == [("assistant", "".join(before) or None, "failed")] * 2
    assert "sk-secret" not in str([message.to_dict() for message in history])


@pytest.mark.parametrize("accept", ["text/event-stream", "application/json"])
@pytest.mark.parametrize("before", [[], ["a"]])
def test_a_repeat_of_a_failed_turn_gets_the_same_reply(before: list[str], accept: str, site: Site) -> None:
    calls = []

    @site.memory.provider
    def answer(turn: Turn) -> cabc.Iterator[str]:
        calls.append(turn.id)
        yield from before
        raise RuntimeError

    first, second = site.post("hi", "k", accept), site.post("hi", "k", accept)
    assert (second.status_code, second.get_data()) == (first.status_code, first.get_data())
    assert second.headers["Chat-Memory-Answer"] == first.headers["Chat-Memory-Answer"]
    assert len(calls) == 1
    assert len(site.start().history()) == 2


@pytest.mark.parametrize("accept", ["text/event-stream", "application/json"])
def test_a_repeat_of_a_finished_turn_calls_no_model(accept: str, site: Site) -> None:
    calls = []

    @site.memory.provider
    def answer(turn: Turn) -> str:
        calls.append(turn.id)
        return "fine"

    replies = [site.post("hi", "k", accept) for _ in range(4)]
    assert len({reply.get_data() for reply in replies}) == 1
    assert len({reply.headers["Chat-Memory-Answer"] for reply in replies}) == 1
    assert len(calls) == 1
    assert site.post("bye", "k", accept).status_code == 409


@pytest.mark.parametrize(
    "value",
    [
        None,
        5,
        b"bytes",
        {"role": "assistant"},
        ["a", None],
        ChatMessage("user", "x"),
        ChatMessage("tool", "x", tool_call_id="c1"),
    ],
)
def test_an_answer_of_the_wrong_type_is_a_failed_turn_and_no_crash(value: t.Any, site: Site) -> None:
    site.memory.provider(lambda turn: value)
    response = site.post("hi")
    assert response.status_code == 200
    assert events(response)[-2:] == [{"error": FAILED}, "[DONE]"]
    assert told(site.start().history())[1:] == [("assistant", "a" if isinstance(value, list) else None, "failed")]


@pytest.mark.scenario("S098", "A13")
def test_a_streaming_provider_tells_usage_model_and_tools(site: Site) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}

    @site.memory.provider
    def answer(turn: Turn) -> cabc.Iterator[str]:
        turn.record(ChatMessage("assistant", None, tool_calls=[call]))
        turn.record(ChatMessage("tool", "42", tool_call_id="c1"))
        yield "it is "
        turn.model = "m-1"
        turn.usage = {"prompt_tokens": 3}
        yield "42"

    site.post("hi").get_data()
    history = site.start().history()
    assert [message.role for message in history] == ["user", "assistant", "tool", "assistant"]
    assert (history[-1].text, history[-1].model, history[-1].usage) == ("it is 42", "m-1", Usage(input=3))
    assert {message.turn for message in history} == {history[0].turn}


def test_a_provider_may_end_the_turn_itself(site: Site) -> None:
    @site.memory.provider
    def answer(turn: Turn) -> str:
        return turn.finish("mine", model="m-1").text

    assert events(site.post("hi")) == [{"text": "mine"}, "[DONE]"]
    history = site.plugin.load_messages(Scope(OWNER), site.start().thread_id)
    assert told(history) == [("user", "hi", None), ("assistant", "mine", "complete")]
    assert history[-1].model == "m-1"
