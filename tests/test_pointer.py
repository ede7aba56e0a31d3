"""What the session keeps is a hint, and nobody else's."""

from __future__ import annotations

import collections.abc as cabc
import logging
import typing as t

import flask
import pytest

from flask_chat_memory import ChatMemoryError
from flask_chat_memory import Scope
from flask_chat_memory import Turn

from .apps import SESSIONS
from .apps import THREADS
from .conftest import MakeSite

GONE = ["../../etc/passwd", "", "a\x00b", "x" * 10_000, "\ud800", "' or '1'='1", "%", "default", "ż🙂"]


def session_cookies(response: t.Any) -> list[str]:
    return [cookie for cookie in response.headers.getlist("Set-Cookie") if cookie.startswith("session=")]


@pytest.mark.scenario("S170", "D3", "A19")
@SESSIONS
def test_reading_writes_no_cookie_no_row_and_no_thread(new_site: MakeSite, sessions: str) -> None:
    site = new_site(sessions=sessions)
    browser = site.browser()
    for path in ["/", "/bubbles", "/plain", "/chat-memory/default/history"] * 5:
        response = browser.client.get(path)
        assert response.status_code == 200
        assert response.headers.getlist("Set-Cookie") == []
    assert site.rows("thread") == site.rows("message") == site.rows("live") == 0


@SESSIONS
def test_reading_writes_nothing_when_there_is_a_conversation_either(new_site: MakeSite, sessions: str) -> None:
    site = new_site(sessions=sessions)
    browser = site.browser()
    browser.ask("hello")
    kept = browser.kept()
    for path in ("/", "/bubbles", "/chat-memory/default/history"):
        browser.client.get(path)
    assert browser.kept() == kept
    if sessions == "cookie":
        assert session_cookies(browser.client.get("/")) == []
    assert site.rows("thread") == 1
    assert site.rows() == 2


@pytest.mark.scenario("S177", "S183", "D2", "D4")
@SESSIONS
def test_the_first_message_of_a_stream_is_found_again_by_the_second(new_site: MakeSite, sessions: str) -> None:
    site = new_site(sessions=sessions)
    browser = site.browser()
    for text in ("first", "second"):
        body = {"messages": [{"role": "user", "text": text}]}
        response = browser.client.post("/chat-memory/default/messages", json=body, buffered=True)
        assert response.mimetype == "text/event-stream"
    assert browser.texts() == ["first", "You said: first", "second", "You said: second"]
    assert [message["content"] for message in site.sent[1]] == ["first", "You said: first", "second"]


@pytest.mark.scenario("S176", "S183")
@SESSIONS
def test_what_the_view_put_in_the_session_survives_the_stream(new_site: MakeSite, sessions: str) -> None:
    site = new_site(sessions=sessions)

    @site.app.post("/own")
    def own() -> flask.Response:
        flask.session["basket"] = 3
        turn = site.memory.conversation().turn("hello")
        return turn.response(flask.stream_with_context(piece for piece in ("a", str(flask.session["basket"]))))

    browser = site.browser()
    announced = browser.client.post("/own", buffered=True).headers["Chat-Memory-Thread"]
    with browser.client.session_transaction() as session:
        assert session["basket"] == 3
    assert browser.history()["thread_id"] == announced
    assert browser.texts() == ["hello", "a3"]


@SESSIONS
@THREADS
@pytest.mark.parametrize("gone", GONE)
def test_a_pointer_to_nothing_becomes_a_new_thread(new_site: MakeSite, sessions: str, threads: str, gone: str) -> None:
    site = new_site(sessions=sessions, CHAT_MEMORY_OPTIONS={"threads": threads})
    browser = site.browser()
    browser.ask("hello")
    kept = browser.kept()
    browser.reset()
    if gone != "\ud800" or sessions == "cookie":
        browser.keep({**kept, "threads": {"default": gone}, "reserved": {}})
    assert browser.history()["messages"] == []
    assert browser.client.get("/").status_code == 200
    answer = browser.ask("hello again")
    assert answer.status_code == 200
    assert answer.json is not None and answer.json["thread_id"] not in (gone, kept["threads"]["default"])
    assert browser.texts() == ["hello again", "You said: hello again"]


@THREADS
def test_a_pointer_to_another_owners_thread_counts_for_nothing(new_site: MakeSite, threads: str) -> None:
    site = new_site(CHAT_MEMORY_OPTIONS={"threads": threads})
    victim, intruder = site.browser(), site.browser()
    victim.ask("mine")
    intruder.ask("hello")
    kept = intruder.kept()
    foreign = victim.kept()["threads"]["default"]
    intruder.keep({**kept, "threads": {"default": foreign}})
    assert "mine" not in intruder.texts()
    intruder.ask("let me in")
    intruder.reset(thread_id=foreign)
    intruder.keep({**kept, "threads": {"default": foreign}, "reserved": {"default": foreign}})
    assert "mine" not in intruder.texts()
    intruder.ask("let me in")
    intruder.reset()
    assert "mine" not in str(site.sent[1:])
    assert victim.texts() == ["mine", "You said: mine"]


@pytest.mark.scenario("N4")
@pytest.mark.parametrize(
    "value",
    [None, "text", 7, [], {}, {"threads": 5}, {"threads": []}, {"reserved": "x"}, {"anonymous": 5}, {"anonymous": ""}],
)
def test_a_session_of_the_wrong_shape_is_as_none(new_site: MakeSite, value: object) -> None:
    site = new_site()
    browser = site.browser()
    browser.keep(value)
    assert browser.history()["messages"] == []
    assert browser.ask("hello").status_code == 200
    assert browser.texts() == ["hello", "You said: hello"]


@pytest.mark.parametrize("thread_id", [5, None, ["x"], {"a": 1}, "x" * 10_000])
def test_thread_ids_of_the_wrong_shape_in_the_session_are_unknown(new_site: MakeSite, thread_id: object) -> None:
    site = new_site(CHAT_MEMORY_OPTIONS={"threads": "many"})
    browser = site.browser()
    browser.ask("hello")
    for hint in ("reserved", "threads"):
        browser.keep({**browser.kept(), "threads": {}, "reserved": {}, hint: {"default": thread_id}})
        if not isinstance(thread_id, str):
            assert browser.history()["thread_id"] is None
        assert browser.texts() == []
    assert browser.ask("again").status_code == 200


@pytest.mark.scenario("S147", "N4")
def test_a_forged_cookie_is_nobodys(new_site: MakeSite) -> None:
    site = new_site()
    victim = site.browser()
    victim.ask("mine")
    cookie = victim.client.get_cookie("session")
    assert cookie is not None
    other_key = new_site(SECRET_KEY="another key").browser()
    other_key.keep(victim.kept())
    forged = other_key.client.get_cookie("session")
    assert forged is not None
    for value in (forged.value, cookie.value[:-3] + "abc", cookie.value[:40], "x" * 10_000, "{}"):
        forging = {"HTTP_COOKIE": f"session={value}"}
        read = site.app.test_client(use_cookies=False).get("/chat-memory/default/history", environ_base=forging)
        assert read.json is not None and read.json["messages"] == []
        asked = site.app.test_client(use_cookies=False).post(
            "/chat-memory/default/messages",
            json={"messages": [{"role": "user", "text": "hello"}]},
            environ_base=forging,
            buffered=True,
        )
        assert asked.status_code == 200
        assert "mine" not in str(site.sent[-1])


@pytest.mark.scenario("S032")
def test_many_chats_leave_the_cookie_small(new_site: MakeSite) -> None:
    site = new_site(CHAT_MEMORY_OPTIONS={"threads": "many"})
    browser = site.browser()
    for number in range(50):
        browser.new_chat()
        newest = thread_of(browser.ask(f"chat {number}"))
    cookie = browser.client.get_cookie("session")
    assert cookie is not None and len(cookie.value) < 600
    assert browser.history()["thread_id"] == newest


def test_without_a_secret_key_the_visitor_gets_a_sentence_and_the_log_the_cure(
    new_site: MakeSite, caplog: pytest.LogCaptureFixture
) -> None:
    site = new_site(SECRET_KEY=None)
    browser = site.browser()
    assert browser.client.get("/").status_code == 200
    assert browser.history()["messages"] == []
    with caplog.at_level(logging.ERROR):
        answer = browser.ask("hello")
    assert answer.status_code == 503
    assert "SECRET_KEY" not in answer.text
    assert "SECRET_KEY" in caplog.text
    assert browser.post("default/reset").status_code == 503
    assert site.rows() == 0
    assert site.sent == []


def test_a_known_owner_without_a_secret_key_leaves_no_question_that_nobody_answers(new_site: MakeSite) -> None:
    site = new_site(SECRET_KEY=None, extension={"owner_loader": lambda: "user:1"})
    browser = site.browser()
    answered = browser.ask("hello").status_code == 200
    assert site.rows() == (2 if answered else 0)
    assert site.rows("live") == 0


@pytest.mark.scenario("S066")
def test_two_first_messages_of_one_user_at_once_make_one_conversation(new_site: MakeSite) -> None:
    site = new_site(login=True)
    browser = site.browser()
    browser.login("ann")
    twin = browser.twin()

    def answer(turn: Turn) -> str:
        if turn.text == "nested":
            return "quick"
        twin.ask("nested")
        return "late"

    site.answer = answer
    browser.ask("outer")
    assert site.rows("thread") == 1
    assert browser.texts() == ["outer", "late", "nested", "quick"]


@pytest.mark.scenario("S182")
def test_each_chatbot_has_a_pointer_of_its_own(new_site: MakeSite) -> None:
    site = new_site(CHAT_MEMORY_CHATBOTS={"sales": {}, "support": {}}, CHAT_MEMORY_OPTIONS={"threads": "many"})
    browser = site.browser()
    sales = thread_of(browser.ask("price", "sales"))
    support = thread_of(browser.ask("broken", "support"))
    assert browser.kept()["threads"] == {"sales": sales, "support": support}
    browser.reset("sales")
    assert browser.texts("sales") == []
    assert browser.texts("support") == ["broken", "You said: broken"]
    assert browser.texts("support", thread_id=sales) == []


def test_nothing_of_a_visitor_is_in_a_readable_form_in_the_session(new_site: MakeSite) -> None:
    site = new_site(login=True)
    browser = site.browser()
    browser.login("ann@example.org")
    browser.ask("a secret question")
    assert "ann@" not in str(browser.kept())
    assert "secret" not in str(browser.kept())
    assert site.plugin.has_thread(Scope("user:ann@example.org"), browser.kept()["threads"]["default"])


def thread_of(response: t.Any) -> str:
    assert response.status_code == 200, response.text
    return t.cast(str, response.json["thread_id"])


def test_what_one_owner_was_promised_is_not_given_to_the_next(new_site: MakeSite) -> None:
    owner = {"now": "member:ann"}
    site = new_site(extension={"owner_loader": lambda: owner["now"]})
    browser = site.browser()
    browser.ask("hello")
    reserved = browser.reset()
    owner["now"] = "member:bob"
    assert browser.history()["thread_id"] is None
    assert thread_of(browser.ask("hello")) != reserved


@pytest.mark.scenario("S177")
def test_a_visitor_who_is_recognised_too_late_is_told_to_the_site(new_site: MakeSite) -> None:
    site = new_site()
    errors: list[ChatMemoryError] = []

    @site.app.post("/late")
    def late() -> flask.Response:
        conversation = site.memory.conversation()

        def pieces() -> cabc.Iterator[str]:
            try:
                conversation.turn("hello")
            except ChatMemoryError as error:
                errors.append(error)
            yield "done"

        return flask.Response(flask.stream_with_context(pieces()))

    assert site.browser().client.post("/late", buffered=True).status_code == 200
    assert "in the view" in str(errors[0])
    assert site.rows() == 0


@pytest.mark.scenario("D17")
@SESSIONS
def test_every_message_renews_the_session_that_leads_to_the_conversation(new_site: MakeSite, sessions: str) -> None:
    browser = new_site(sessions=sessions, permanent=True, PERMANENT_SESSION_LIFETIME=7 * 86_400).browser()
    browser.ask("first")
    for text in ("second", "third"):
        (cookie,) = browser.ask(text).headers.getlist("Set-Cookie")
        assert "Expires=" in cookie
    assert len(browser.texts()) == 6
