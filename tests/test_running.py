"""Turns that are being answered: stopped, and followed to their end, by others than those who asked."""

from __future__ import annotations

import collections.abc as cabc
import pathlib
import threading
import typing as t

import flask
import pytest

from flask_chat_memory import ChatMessage
from flask_chat_memory import RequestRefused
from flask_chat_memory import Turn
from flask_chat_memory.following import Following
from flask_chat_memory.live import LEASE
from flask_chat_memory.live import LeaseKeeper

from .apps import ManualClock
from .apps import PATIENCE
from .conversations import body
from .conversations import BUILT_IN
from .conversations import events
from .conversations import OWNER
from .conversations import Site
from .conversations import Source
from .conversations import told

STOPS: dict[str, cabc.Callable[[Turn], dict[str, t.Any]]] = {
    "the thread": lambda turn: {},
    "the shown thread": lambda turn: {"thread_id": turn.thread_id},
    "the turn": lambda turn: {"turn": turn.id},
    "the question": lambda turn: {"question_id": turn.question.id},
    "the key": lambda turn: {"key": "k", "thread_id": None},
}


@pytest.fixture(params=BUILT_IN)
def site(request: pytest.FixtureRequest, tmp_path: pathlib.Path) -> Site:
    return Site(tmp_path, request.param)


@pytest.fixture(autouse=True)
def keeper(monkeypatch: pytest.MonkeyPatch) -> LeaseKeeper:
    """Renew only when a test says so."""
    keeper = LeaseKeeper(interval=3600)
    monkeypatch.setattr("flask_chat_memory.turn.leases", keeper)
    return keeper


@pytest.mark.scenario("S086")
@pytest.mark.parametrize("threads", ["one", "many"])
@pytest.mark.parametrize("named", STOPS)
def test_stop_ends_the_turn_at_its_next_piece(
    named: str, threads: str, tmp_path: pathlib.Path, keeper: LeaseKeeper
) -> None:
    site = Site(tmp_path, OPTIONS={"threads": threads})
    with site.app.test_request_context():
        turn = site.memory.conversation().turn(body("hi", key="k", thread_id=None))
        names = STOPS[named](turn)
        source = Source(["a", "b", "c"])
        stream = turn.stream(source)
        assert next(stream) == "a"
        other = site.memory.conversation()
        if threads == "many" and "thread_id" not in names:
            names["thread_id"] = turn.thread_id
        assert other.stop(**names) is True
        keeper.renew()
        assert list(stream) == []
    assert source.closed
    assert source.given == 1
    assert told(site.stored(turn.thread_id)) == [("user", "hi", None), ("assistant", "a", "stopped")]
    stream.close()
    turn.finish("from beyond")
    assert len(site.stored(turn.thread_id)) == 2


def test_a_piece_that_comes_after_the_wish_is_dropped(site: Site, keeper: LeaseKeeper) -> None:
    conversation = site.start()
    turn = conversation.turn("hi")

    def pieces() -> cabc.Iterator[str]:
        yield "a"
        assert conversation.stop()
        keeper.renew()
        yield "b"

    assert list(turn.stream(pieces())) == ["a"]
    assert told(site.stored(turn.thread_id))[1] == ("assistant", "a", "stopped")


def test_a_silent_provider_is_not_waited_for(site: Site, keeper: LeaseKeeper) -> None:
    turn = site.start().turn("hi")
    stream = turn.stream(["a", "b"])
    next(stream)
    assert site.start().stop()
    keeper.renew()
    assert len(site.stored(turn.thread_id)) == 1
    keeper.renew()
    assert told(site.stored(turn.thread_id))[1] == ("assistant", "a", "stopped")
    assert list(stream) == []
    assert turn.finish("late").text == "a"
    assert len(site.stored(turn.thread_id)) == 2


def test_a_reader_that_leaves_after_its_wish_has_stopped_the_turn(site: Site, keeper: LeaseKeeper) -> None:
    turn = site.start().turn("hi")
    stream = turn.stream(["a", "b"])
    next(stream)
    site.start().stop()
    keeper.renew()
    stream.close()
    assert told(site.stored(turn.thread_id))[1] == ("assistant", "a", "stopped")


def test_a_turn_whose_thread_was_reset_does_not_go_on_for_nobody(site: Site, keeper: LeaseKeeper) -> None:
    conversation = site.start()
    turn = conversation.turn("hi")
    source = Source(["a", "b", "c"])
    stream = turn.stream(source)
    next(stream)
    site.start().reset()
    keeper.renew()
    assert list(stream) == []
    assert source.closed
    assert source.given == 1
    assert turn.answer is not None and turn.answer.status == "stopped"
    assert site.start().history() == []


def test_a_silent_provider_of_a_thread_that_is_gone_is_not_waited_for(site: Site, keeper: LeaseKeeper) -> None:
    turn = site.start().turn("hi")
    next(turn.stream(["a", "b"]))
    site.start().reset()
    for _ in range(2):
        assert turn.answer is None
        keeper.renew()
    assert turn.answer is not None
    site.plugin.renew_turns = lambda turns, lease: pytest.fail("renewed")
    keeper.renew()


def test_a_turn_that_somebody_else_has_ended_stops_and_leaves_others_alone(
    site: Site, keeper: LeaseKeeper, caplog: pytest.LogCaptureFixture
) -> None:
    clock = site.plugin.clock = ManualClock()
    first, second = site.start().turn("1"), site.start().turn("2")
    clock.advance(LEASE)
    assert site.start().page(10).running == frozenset()
    keeper.renew()
    assert (first.answer, second.answer) == (None, None)
    keeper.renew()
    for turn in (first, second):
        assert turn.answer is not None and turn.answer.status == "stopped"
    assert caplog.text.count("the end of a running turn was not stored") == 2
    assert [message.status for message in site.stored(first.thread_id)] == [None, None, "partial", "partial"]


def test_there_is_nothing_to_stop(site: Site) -> None:
    conversation = site.start()
    assert conversation.stop() is False
    turn = conversation.turn(body("hi", key="k"))
    for names in ({"turn": "x"}, {"question_id": "x"}, {"key": "x"}):
        assert conversation.stop(**names) is False
    assert site.start("user:2").stop(turn.thread_id, turn.id) is False
    turn.finish("hello")
    assert conversation.stop() is False
    assert conversation.stop(key="k") is False


def test_only_the_turn_that_is_named_stops(site: Site, keeper: LeaseKeeper) -> None:
    first, second = site.start().turn("one"), site.start().turn("two")
    assert site.start().stop(turn=second.id)
    keeper.renew()
    assert (first.stopping, second.stopping) == (False, True)


def serve(site: Site, answer: t.Callable[[], t.Any]) -> flask.Flask:
    site.memory.provider(lambda turn: answer())
    return site.app


def test_the_stream_tells_that_it_was_stopped(site: Site, keeper: LeaseKeeper) -> None:
    def pieces() -> cabc.Iterator[str]:
        yield "a"
        stopped = site.app.test_client().post("/chat-memory/default/stop", json={})
        assert stopped.json == {"stopped": True}
        keeper.renew()
        yield "b"

    serve(site, pieces)
    assert events(site.post("hi")) == [{"text": "a"}, {"text": "", "status": "stopped"}, "[DONE]"]
    repeated = site.app.test_client().post("/chat-memory/default/stop", json={})
    assert repeated.json == {"stopped": False}


@pytest.mark.parametrize("sent", [{"key": 5}, {"key": "x" * 101}, {"key": "\0"}, {"question_id": ["x"]}])
def test_a_stop_of_the_wrong_shape_is_refused(sent: dict[str, object], site: Site) -> None:
    refused = site.app.test_client().post("/chat-memory/default/stop", json=sent)
    assert refused.status_code == 400
    assert refused.json is not None and refused.json["error"]


def follow(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("flask_chat_memory.asking.INTERVAL", 0.001)
    serve(site, lambda: pytest.fail("a model was called"))


def said(pieces: cabc.Iterable[t.Any]) -> list[t.Any]:
    return [piece for piece in pieces if piece]


@pytest.mark.parametrize("ending", ["finish", "fail", "leave", "stop", "die"])
def test_a_repeat_follows_the_running_turn_to_its_end(
    ending: str, site: Site, monkeypatch: pytest.MonkeyPatch, keeper: LeaseKeeper
) -> None:
    follow(site, monkeypatch)
    clock = site.plugin.clock = ManualClock()
    turn = site.start().turn(body("hi", key="k"))
    stream = turn.stream(["as far ", "as this"])
    next(stream)
    keeper.renew()
    repeat = site.start().turn(body("hi", key="k"))
    assert (repeat.repeated, repeat.answer, repeat.answer_id) == (True, None, turn.answer_id)
    reader = iter(repeat.stream([]))
    assert next(reader) == "as far "
    assert next(reader) == ""
    next(stream)
    keeper.renew()
    assert next(piece for piece in reader if piece) == "as this"
    if ending == "finish":
        turn.finish("as far as this, and on")
    elif ending == "fail":
        turn.fail("down", "as far as this, and")
    elif ending == "leave":
        stream.close()
    elif ending == "stop":
        site.start().stop()
        keeper.renew()
        keeper.renew()
    else:
        keeper.release(turn)
        clock.advance(LEASE)
    more = {"finish": [", and on"], "fail": [", and"]}.get(ending, [])
    assert said(reader) == more
    status = {"finish": "complete", "fail": "failed", "stop": "stopped"}.get(ending, "partial")
    assert repeat.answer is not None
    assert (repeat.answer.id, repeat.answer.status) == (turn.answer_id, status)
    assert told(site.stored(turn.thread_id))[1:] == [("assistant", "as far as this" + "".join(more), status)]


def test_who_follows_a_turn_never_ends_it(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    follow(site, monkeypatch)
    turn = site.start().turn(body("hi", key="k"))
    repeat = site.start().turn(body("hi", key="k"))
    stream = repeat.stream([])
    next(stream)
    stream.close()
    with site.start().turn(body("hi", key="k")) as another:
        another.finish("by hand")
    assert len(site.stored(turn.thread_id)) == 1
    turn.finish("hello")
    assert told(site.stored(turn.thread_id))[1:] == [("assistant", "hello", "complete")]


def test_a_thread_that_goes_while_it_is_followed_ends_the_reading(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    follow(site, monkeypatch)
    turn = site.start().turn(body("hi", key="k"))
    repeat = site.start().turn(body("hi", key="k"))
    reader = iter(repeat.stream([]))
    next(reader)
    site.start().reset(turn.thread_id)
    assert said(reader) == []
    assert repeat.answer is not None and repeat.answer.status == "partial"
    assert site.start().history() == []


def resume(site: Site, **query: t.Any) -> t.Any:
    return site.app.test_client().get("/chat-memory/default/resume", query_string=query, buffered=True)


@pytest.mark.scenario("S088")
def test_a_page_goes_on_with_an_answer(site: Site, monkeypatch: pytest.MonkeyPatch, keeper: LeaseKeeper) -> None:
    follow(site, monkeypatch)
    turn = site.start().turn("hi")
    keeper.renew()
    threading.Timer(0.02, lambda: turn.finish("hello")).start()
    response = resume(site, question_id=turn.question.id)
    lines = [line for line in response.text.split("\n\n") if line.startswith("data")]
    assert lines == ['data: {"text":"hello"}', "data: [DONE]"]
    assert response.headers["Chat-Memory-Question"] == turn.question.id
    assert response.headers["Chat-Memory-Answer"] == turn.answer_id
    assert response.headers["Cache-Control"] == "private, no-store"
    again = resume(site, question_id=turn.question.id)
    assert events(again) == [{"text": "hello"}, "[DONE]"]


def test_a_part_is_told_with_its_status(site: Site) -> None:
    turn = site.start().turn("hi")
    turn.leave("as far")
    assert events(resume(site, question_id=turn.question.id)) == [
        {"text": "as far"},
        {"text": "", "status": "partial"},
        "[DONE]",
    ]


@pytest.mark.parametrize(("query", "code"), [({}, 400), ({"question_id": ""}, 400), ({"question_id": "x"}, 404)])
def test_an_unknown_question_is_refused(query: dict[str, str], code: int, site: Site) -> None:
    site.start().turn("hi").finish("hello")
    assert resume(site, **query).status_code == code


@pytest.mark.scenario("S139")
def test_the_question_of_somebody_else_is_unknown(site: Site) -> None:
    turn = site.start("user:2").turn("secret")
    with pytest.raises(RequestRefused) as caught:
        site.start().resume(str(turn.question.id), turn.thread_id)
    assert caught.value.code == 404
    assert OWNER != "user:2"


@pytest.fixture(params=BUILT_IN)
def finishing(request: pytest.FixtureRequest, tmp_path: pathlib.Path) -> Site:
    return Site(tmp_path, request.param, CHATBOTS={"default": {"on_disconnect": "finish"}})


def wait_for_answer(site: Site, count: int = 2) -> list[tuple[str, t.Any, str | None]]:
    pause = threading.Event()
    for _ in range(int(PATIENCE / 0.01)):
        if len(site.start().history()) >= count:
            break
        pause.wait(0.01)
    return told(site.start().history())


@pytest.mark.scenario("D37")
@pytest.mark.parametrize("read", [0, 1])
def test_an_answer_is_finished_without_its_reader(read: int, finishing: Site) -> None:
    release = threading.Event()
    paths = []

    def pieces() -> cabc.Iterator[str]:
        yield "a"
        assert release.wait(PATIENCE)
        paths.append(flask.request.path)
        yield "b"

    app = serve(finishing, pieces)
    path, json = "/chat-memory/default/messages", body("hi")
    if read:
        response = app.test_client().post(path, json=json, buffered=False)
        chunks = iter(response.response)
        assert [next(chunks), next(chunks)] == [b":\n\n", b'data: {"text":"a"}\n\n']
        response.close()
    else:
        finishing.leave_at_once(path, json=json)
    release.set()
    assert wait_for_answer(finishing) == [("user", "hi", None), ("assistant", "ab", "complete")]
    assert paths == [path]


def test_a_reader_who_stays_reads_all_of_it(finishing: Site) -> None:
    serve(finishing, lambda: (str(number) for number in range(100)))
    assert events(finishing.post("hi")) == [*({"text": str(number)} for number in range(100)), "[DONE]"]
    assert told(finishing.start().history())[1][2] == "complete"


def test_a_failure_without_or_with_a_reader_is_a_failed_turn(finishing: Site) -> None:
    serve(finishing, lambda: Source(["a", RuntimeError("postgres://name:password@host")]))
    assert events(finishing.post("hi"))[0] == {"text": "a"}
    assert told(finishing.start().history())[1] == ("assistant", "a", "failed")
    finishing.leave_at_once("/chat-memory/default/messages", json=body("again"))
    assert wait_for_answer(finishing, 4)[3] == ("assistant", "a", "failed")


def test_a_message_as_answer_keeps_what_it_carries(finishing: Site) -> None:
    serve(finishing, lambda: ChatMessage("assistant", "a", model="m-1"))
    finishing.post("hi")
    assert finishing.start().history()[1].model == "m-1"


def test_what_is_finished_can_be_stopped(finishing: Site, keeper: LeaseKeeper) -> None:
    serve(finishing, lambda: pieces())
    begun, release = threading.Event(), threading.Event()

    def pieces() -> cabc.Iterator[str]:
        yield "a"
        begun.set()
        assert release.wait(PATIENCE)
        yield "b"

    finishing.leave_at_once("/chat-memory/default/messages", json=body("hi"))
    assert begun.wait(PATIENCE)
    assert finishing.start().stop()
    keeper.renew()
    release.set()
    assert wait_for_answer(finishing)[1] == ("assistant", "a", "stopped")


def test_a_head_request_makes_no_answer(finishing: Site) -> None:
    @finishing.app.route("/chat")
    def chat() -> flask.Response:
        return finishing.memory.conversation().turn("hi").response(iter(["a"]))

    with finishing.app.test_client().head("/chat") as response:
        assert response.data == b""
    assert told(finishing.start().history())[1] == ("assistant", None, "partial")


def test_an_interval_is_shorter_where_answers_are_finished(finishing: Site) -> None:
    finishing.start().turn(body("hi", key="k"))
    following = finishing.start().turn(body("hi", key="k"))._following
    assert isinstance(following, Following)
    assert following._interval == 0.25
