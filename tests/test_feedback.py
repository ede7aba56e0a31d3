"""What a visitor thinks of a message."""

from __future__ import annotations

import pathlib
import typing as t

import pytest

from flask_chat_memory import RequestRefused

from .apps import Browser
from .apps import Site as WebSite
from .conftest import MakeSite
from .conversations import ask
from .conversations import BUILT_IN
from .conversations import Site
from .five_methods import FiveMethodsPlugin


@pytest.fixture(params=BUILT_IN)
def site(request: pytest.FixtureRequest, new_site: MakeSite) -> WebSite:
    return new_site(CHAT_MEMORY_PLUGIN=request.param, CHAT_MEMORY_OPTIONS={"threads": "many"})


def asked(browser: Browser, text: str = "hello", **body: t.Any) -> dict[str, t.Any]:
    response = browser.ask(text, **body)
    assert response.status_code == 200
    return t.cast("dict[str, t.Any]", response.json)


def marks(browser: Browser, **query: t.Any) -> list[tuple[str, int | None, str | None]]:
    messages = browser.history(**query)["messages"]
    return [
        (message["id"], message.get("rating"), message.get("comment"))
        for message in messages
        if "rating" in message or "comment" in message
    ]


@pytest.mark.scenario("S010", "S199")
def test_feedback_comes_back_with_the_thread(site: WebSite) -> None:
    browser = site.browser()
    answer = asked(browser)
    body = {"thread_id": answer["thread_id"], "message_id": answer["answer_id"], "rating": -1, "comment": " wrong "}
    response = browser.post("default/feedback", body)
    assert (response.status_code, response.json) == (
        200,
        {"message_id": answer["answer_id"], "rating": -1, "comment": "wrong"},
    )
    assert marks(browser) == [(answer["answer_id"], -1, "wrong")]
    page = browser.client.get("/bubbles").json
    assert isinstance(page, list) and page[1]["rating"] == -1 and "rating" not in page[0]


@pytest.mark.scenario("S104")
def test_the_ids_of_a_stream_are_those_that_feedback_finds(site: WebSite) -> None:
    browser = site.browser()
    body = {"messages": [{"role": "user", "text": "hello"}]}
    stream = browser.client.post("/chat-memory/default/messages", json=body)
    assert "[DONE]" in stream.text
    answer_id = stream.headers["Chat-Memory-Answer"]
    assert browser.post("default/feedback", {"message_id": answer_id, "rating": 1}).status_code == 200
    assert marks(browser) == [(answer_id, 1, None)]


@pytest.mark.scenario("S199")
def test_feedback_replaces_what_was_given_before_and_is_taken_back(site: WebSite) -> None:
    browser = site.browser()
    name = {"message_id": asked(browser)["answer_id"]}
    shown = []
    for given in ({"rating": 1}, {"comment": "fine"}, {"rating": -1, "comment": " "}, {"rating": None}, {}):
        assert browser.post("default/feedback", {**name, **given}).status_code == 200
        shown.append([mark[1:] for mark in marks(browser)])
    assert shown == [[(1, None)], [(None, "fine")], [(-1, None)], [], []]


BAD: list[t.Any] = [
    ({"rating": 0}, 400),
    ({"rating": 2}, 400),
    ({"rating": True}, 400),
    ({"rating": 1.0}, 400),
    ({"rating": "1"}, 400),
    ({"rating": [1]}, 400),
    ({"rating": 1, "comment": 1}, 400),
    ({"comment": "x" * 2001}, 400),
    ({"message_id": None, "rating": 1}, 400),
    ({"message_id": 7, "rating": 1}, 400),
    ({"message_id": "unknown", "rating": 1}, 404),
    ({"message_id": "x" * 10_000, "rating": 1}, 404),
    ({"message_id": "\x00", "rating": 1}, 404),
    ({"thread_id": None, "rating": 1}, 404),
    ({"thread_id": "unknown", "rating": 1}, 404),
    ([], 400),
]


@pytest.mark.parametrize(("body", "code"), BAD)
def test_bad_feedback_is_refused_and_changes_nothing(site: WebSite, body: t.Any, code: int) -> None:
    browser = site.browser()
    answer_id = asked(browser)["answer_id"]
    browser.post("default/feedback", {"message_id": answer_id, "rating": -1, "comment": "wrong"})
    response = browser.post("default/feedback", {"message_id": answer_id, **body} if isinstance(body, dict) else body)
    assert response.status_code == code
    assert response.json is not None and response.json["error"].endswith(".")
    assert marks(browser) == [(answer_id, -1, "wrong")]


@pytest.mark.scenario("S137")
def test_a_message_of_another_thread_or_another_owner_is_not_found(site: WebSite) -> None:
    browser, stranger = site.browser(), site.browser()
    first = asked(browser, "one")
    second = asked(browser, "two", thread_id=None)
    asked(stranger)
    wrong = {"thread_id": first["thread_id"], "message_id": second["answer_id"], "rating": 1}
    assert browser.post("default/feedback", wrong).status_code == 404
    for intruder in (stranger, site.browser()):
        right = {"thread_id": first["thread_id"], "message_id": first["answer_id"], "rating": 1}
        assert intruder.post("default/feedback", right).status_code == 404
    for thread in (first, second):
        assert marks(browser, thread_id=thread["thread_id"]) == []


def test_another_site_gives_no_feedback(site: WebSite) -> None:
    browser = site.browser()
    body = {"message_id": asked(browser)["answer_id"], "rating": 1}
    headers = {"Sec-Fetch-Site": "cross-site"}
    assert browser.client.post("/chat-memory/default/feedback", json=body, headers=headers).status_code == 403
    assert marks(browser) == []


def test_a_mark_stays_with_its_line(site: WebSite) -> None:
    browser = site.browser()
    answer = asked(browser)
    browser.post("default/feedback", {"message_id": answer["answer_id"], "rating": -1})
    assert browser.post("default/regenerate", {}).status_code == 200
    assert marks(browser) == []
    assert browser.post("default/switch", {"version": 1}).status_code == 200
    assert marks(browser) == [(answer["answer_id"], -1, None)]


@pytest.mark.parametrize("plugin", [None, FiveMethodsPlugin])
def test_where_nothing_is_kept_the_page_is_told(new_site: MakeSite, plugin: t.Any) -> None:
    browser = new_site(CHAT_MEMORY_PLUGIN=plugin).browser()
    asked(browser)
    response = browser.post("default/feedback", {"message_id": "x", "rating": 1})
    assert (response.status_code, response.json) == (400, {"error": "This conversation keeps no feedback."})


@pytest.mark.parametrize("plugin", BUILT_IN)
def test_feedback_in_code(tmp_path: pathlib.Path, plugin: str) -> None:
    site = Site(tmp_path, plugin)
    conversation = site.start()
    assert conversation.mark("x", 1) is False
    turn = ask(conversation, "hello")
    assert conversation.mark(turn.answer_id, 1, "good")
    assert conversation.page(10).marks[turn.answer_id].comment == "good"
    assert conversation.mark(turn.answer_id)
    assert conversation.page(10).marks == {}
    with pytest.raises(RequestRefused):
        conversation.mark(turn.answer_id, t.cast(t.Any, 5))
    conversation.reset()
    assert conversation.page(10).marks == {}
