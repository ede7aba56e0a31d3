"""Regenerate, edit, switch and undo, as a page asks for them."""

from __future__ import annotations

import pathlib
import typing as t

import pytest

from flask_chat_memory import ChatMemory
from flask_chat_memory import Turn

from .apps import Browser
from .apps import echo
from .apps import make_app
from .apps import PLUGINS
from .apps import said
from .apps import Site
from .apps import THREADS
from .conftest import MakeSite
from .conversations import events
from .five_methods import FiveMethodsPlugin

CHANGES = ("edit", "regenerate", "switch", "undo")


@pytest.fixture(params=["in_memory", "sqlalchemy"])
def site(request: pytest.FixtureRequest, new_site: MakeSite) -> Site:
    return new_site(CHAT_MEMORY_PLUGIN=request.param)


def ask(browser: Browser, text: str, chatbot: str = "default", **body: t.Any) -> dict[str, t.Any]:
    response = browser.ask(text, chatbot, **body)
    assert response.status_code == 200, response.text
    return t.cast("dict[str, t.Any]", response.json)


def change(browser: Browser, how: str, chatbot: str = "default", **body: t.Any) -> dict[str, t.Any]:
    response = browser.post(f"{chatbot}/{how}", body)
    assert response.status_code == 200, response.text
    return t.cast("dict[str, t.Any]", response.json)


def versions(browser: Browser, **query: t.Any) -> list[tuple[str, int, list[int]]]:
    messages = browser.history(**query)["messages"]
    return [(item["text"], item["version"], item["versions"]) for item in messages if "versions" in item]


@pytest.mark.scenario("S094")
def test_a_new_answer_takes_the_place_of_the_old_one_also_after_a_reload(site: Site) -> None:
    browser = site.browser()
    ask(browser, "one")
    before = ask(browser, "two")
    site.answer = lambda turn: "another"
    answer = change(browser, "regenerate")
    assert site.sent[-1] == site.sent[-2]
    assert answer["text"] == "another" and answer["thread_id"] == before["thread_id"]
    assert answer["answer_id"] != before["answer_id"]
    assert browser.texts() == [*said("one"), "two", "another"]
    assert before["answer_id"] not in [message["id"] for message in browser.history()["messages"]]
    assert "You said: two" not in browser.client.get("/").text
    assert versions(browser) == [("two", 5, [3, 5])]


def test_an_edit_is_answered_as_a_question_is(site: Site) -> None:
    browser = site.browser()
    first = ask(browser, "one")
    ask(browser, "two")
    body = {"question_id": first["question_id"], "text": "eins", "key": "k", "thread_id": first["thread_id"]}
    response = browser.client.post("/chat-memory/default/edit", json=body)
    assert events(response) == [{"text": "You said: eins"}, "[DONE]"]
    shown = browser.history()["messages"]
    ids = [response.headers[f"Chat-Memory-{name}"] for name in ("Question", "Answer")]
    assert ids == [message["id"] for message in shown]
    assert response.headers["Chat-Memory-Thread"] == first["thread_id"]
    assert response.headers["Cache-Control"] == "private, no-store"
    assert [message["content"] for message in site.sent[-1]] == ["eins"]
    # The ids are those that edit finds, at once.
    change(browser, "edit", question_id=ids[0], text="un")
    assert browser.texts() == said("un")
    assert versions(browser) == [("un", 7, [1, 5, 7])]


def test_a_line_is_switched_back_to(site: Site) -> None:
    browser = site.browser()
    first = ask(browser, "one")
    ask(browser, "two")
    change(browser, "edit", question_id=first["question_id"], text="eins")
    assert change(browser, "switch", version=1) == {"thread_id": first["thread_id"]}
    assert browser.texts() == said("one", "two")
    assert versions(browser) == [("one", 1, [1, 5])]
    page = browser.client.get("/bubbles").json
    assert isinstance(page, list) and page[0]["versions"] == [1, 5]
    assert "version" not in page[1]
    ask(browser, "three")
    assert [message["content"] for message in site.sent[-1]] == [*said("one", "two"), "three"]


def test_a_question_is_taken_back_with_its_answer(site: Site) -> None:
    browser = site.browser()
    first = ask(browser, "one")
    second = ask(browser, "two")
    assert change(browser, "undo", question_id=second["question_id"]) == {"thread_id": first["thread_id"]}
    assert browser.texts() == said("one")
    assert browser.post("default/undo", {"question_id": second["question_id"]}).status_code == 404
    ask(browser, "three")
    assert [message["content"] for message in site.sent[-1]] == [*said("one"), "three"]
    # What was asked since stays.
    change(browser, "undo", question_id=first["question_id"], thread_id=first["thread_id"])
    assert browser.texts() == said("three")


@PLUGINS
@THREADS
def test_a_page_changes_the_thread_that_it_shows(new_site: MakeSite, plugin: str, threads: str) -> None:
    site = new_site(CHAT_MEMORY_PLUGIN=plugin, CHAT_MEMORY_OPTIONS={"threads": threads})
    browser = site.browser()
    first = ask(browser, "one", thread_id=None)
    shown = first["thread_id"]
    other = browser.new_chat() if threads == "many" else None
    if other is not None:
        ask(browser, "elsewhere", thread_id=other)
    change(browser, "edit", question_id=first["question_id"], text="eins", thread_id=shown)
    assert browser.texts(thread_id=shown) == said("eins")
    change(browser, "regenerate", thread_id=shown)
    if other is not None:
        ask(browser, "elsewhere", thread_id=other)
    assert change(browser, "switch", version=1, thread_id=shown) == {"thread_id": shown}
    assert browser.texts(thread_id=shown) == said("one")
    assert change(browser, "undo", question_id=first["question_id"], thread_id=shown) == {"thread_id": shown}
    assert browser.texts(thread_id=shown) == []
    if other is not None:
        assert browser.texts(thread_id=other) == said("elsewhere", "elsewhere")
        foreign = {"question_id": first["question_id"], "text": "x", "thread_id": other}
        assert browser.post("default/edit", foreign).status_code == 404


@PLUGINS
@THREADS
def test_a_page_that_is_out_of_date_changes_nothing(new_site: MakeSite, plugin: str, threads: str) -> None:
    site = new_site(CHAT_MEMORY_PLUGIN=plugin, CHAT_MEMORY_OPTIONS={"threads": threads})
    browser = site.browser()
    first = ask(browser, "one", thread_id=None)
    gone = first["thread_id"]
    browser.reset(thread_id=gone)
    ask(browser, "two")
    change(browser, "regenerate")
    for shown in (gone, None):
        assert browser.post("default/regenerate", {"thread_id": shown}).status_code == 404
        assert browser.post("default/switch", {"version": 1, "thread_id": shown}).status_code == 404
        body = {"question_id": first["question_id"], "thread_id": shown}
        assert browser.post("default/undo", body).status_code == 404
    assert versions(browser) == [("two", 3, [1, 3])]


@pytest.mark.scenario("S092")
def test_a_question_whose_answer_never_came_is_asked_once_more(site: Site) -> None:
    browser = site.browser()

    def fail(turn: Turn) -> str:
        raise RuntimeError("the model is gone")

    site.answer = fail
    assert browser.ask("one").status_code == 502
    assert browser.post("default/regenerate", {}).status_code == 502
    site.answer = echo
    change(browser, "regenerate")
    assert browser.texts() == said("one")


def test_a_repeat_calls_no_model(site: Site) -> None:
    browser = site.browser()
    first = ask(browser, "one")
    for how, body in (
        ("edit", {"question_id": first["question_id"], "text": "eins", "key": "a"}),
        ("regenerate", {"key": "b"}),
    ):
        answer = change(browser, how, **body)
        calls = len(site.sent)
        assert change(browser, how, **body) == answer
        assert len(site.sent) == calls
    other = {"question_id": first["question_id"], "text": "zwei", "key": "a"}
    assert browser.post("default/edit", other).status_code == 409


def test_the_questions_own_posting_can_be_repeated_after_its_edit(site: Site) -> None:
    browser = site.browser()
    first = ask(browser, "one", key="k")
    change(browser, "edit", question_id=first["question_id"], text="eins")
    assert ask(browser, "one", key="k") == first
    assert browser.texts() == said("eins")


BAD: list[tuple[str, t.Any, int]] = [
    ("edit", [], 400),
    ("edit", {}, 400),
    ("edit", {"question_id": 1, "text": "x"}, 400),
    ("edit", {"question_id": "{question}"}, 400),
    ("edit", {"question_id": "{question}", "text": 1}, 400),
    ("edit", {"question_id": "{question}", "text": " "}, 400),
    ("edit", {"question_id": "{question}", "text": "x", "key": ""}, 400),
    ("edit", {"question_id": "{question}", "text": "x" * 32_001}, 413),
    ("edit", {"question_id": "{answer}", "text": "x"}, 400),
    ("edit", {"question_id": "unknown", "text": "x"}, 404),
    ("edit", {"question_id": "x" * 10_000, "text": "x", "key": "k"}, 404),
    ("regenerate", "x", 400),
    ("regenerate", {"key": 1}, 400),
    ("regenerate", {"key": "x" * 101}, 400),
    ("switch", [], 400),
    ("switch", {}, 400),
    ("switch", {"version": "1"}, 400),
    ("switch", {"version": True}, 400),
    ("switch", {"version": 1.5}, 400),
    ("switch", {"version": 3}, 404),
    ("switch", {"version": -1}, 404),
    ("switch", {"version": 10**30}, 404),
    ("undo", [], 400),
    ("undo", {}, 400),
    ("undo", {"question_id": 1}, 400),
    ("undo", {"question_id": "{answer}"}, 400),
    ("undo", {"question_id": "unknown"}, 404),
    ("undo", {"question_id": "x" * 10_000}, 404),
]


@pytest.mark.parametrize(("how", "body", "code"), BAD)
def test_bad_input_is_refused_and_changes_nothing(site: Site, how: str, body: t.Any, code: int) -> None:
    browser = site.browser()
    first = ask(browser, "one")
    if isinstance(body, dict) and isinstance(body.get("question_id"), str):
        known = {"{question}": first["question_id"], "{answer}": first["answer_id"]}
        body = {**body, "question_id": known.get(body["question_id"], body["question_id"])}
    before = browser.history()
    response = browser.post(f"default/{how}", body)
    assert response.status_code == code
    assert response.json is not None and response.json["error"].endswith(".")
    assert browser.history() == before
    assert len(site.sent) == 1


@pytest.mark.scenario("S137")
def test_what_is_foreign_is_not_found(site: Site) -> None:
    owner, knowing, stranger = site.browser(), site.browser(), site.browser()
    mine = ask(owner, "mine")
    ask(knowing, "hello")
    change(owner, "edit", question_id=mine["question_id"], text="meins")
    before = owner.history()
    for intruder in (knowing, stranger):
        body = {"question_id": before["messages"][0]["id"], "text": "yours", "thread_id": mine["thread_id"]}
        assert intruder.post("default/edit", body).status_code == 404
        assert intruder.post("default/undo", body).status_code == 404
    for how, sent in (("regenerate", {}), ("switch", {"version": 3})):
        assert stranger.post(f"default/{how}", {**sent, "thread_id": mine["thread_id"]}).status_code == 404
    assert knowing.post("default/switch", {"version": 3, "thread_id": mine["thread_id"]}).status_code == 404
    assert owner.history() == before
    assert len(site.sent) == 3


def test_an_empty_thread_has_nothing_to_regenerate(new_site: MakeSite) -> None:
    site = new_site(CHAT_MEMORY_PLUGIN="in_memory", CHAT_MEMORY_OPTIONS={"threads": "many"})
    browser = site.browser()
    assert browser.post("default/regenerate", {}).status_code == 404
    ask(browser, "one")
    assert browser.post("default/regenerate", {"thread_id": browser.new_chat()}).status_code == 404
    assert browser.post("default/regenerate", {"thread_id": None}).status_code == 404
    assert len(site.sent) == 1


@pytest.mark.parametrize("how", CHANGES)
def test_another_site_changes_nothing(site: Site, how: str) -> None:
    browser = site.browser()
    first = ask(browser, "one")
    body = {"question_id": first["question_id"], "text": "x", "version": 1}
    response = browser.client.post(f"/chat-memory/default/{how}", json=body, headers={"Sec-Fetch-Site": "cross-site"})
    assert response.status_code == 403
    assert browser.texts() == said("one")


@pytest.mark.parametrize("how", CHANGES)
@pytest.mark.parametrize("plugin", [None, FiveMethodsPlugin])
def test_where_nothing_can_be_hidden_the_page_is_told(new_site: MakeSite, plugin: t.Any, how: str) -> None:
    site = new_site(CHAT_MEMORY_PLUGIN=plugin)
    browser = site.browser()
    ask(browser, "one")
    response = browser.post(f"default/{how}", {"question_id": "x", "text": "x", "version": 1})
    assert (response.status_code, response.json) == (
        400,
        {"error": "What was said in this conversation cannot be changed."},
    )
    assert browser.post(f"nobody/{how}", {}).status_code == 404


def test_two_chatbots_have_lines_of_their_own(new_site: MakeSite) -> None:
    site = new_site(CHAT_MEMORY_PLUGIN="in_memory", CHAT_MEMORY_CHATBOTS={"a": {}, "b": {}})
    browser = site.browser()
    first = ask(browser, "one", "a")
    ask(browser, "two", "b")
    wrong = {"question_id": first["question_id"], "text": "x", "thread_id": first["thread_id"]}
    assert browser.post("b/edit", wrong).status_code == 404
    change(browser, "regenerate", "b")
    assert (browser.texts("a"), browser.texts("b")) == (said("one"), said("two"))


def test_where_nobody_can_answer_nothing_is_asked(tmp_path: pathlib.Path) -> None:
    app = make_app(tmp_path, CHAT_MEMORY_PLUGIN="in_memory")
    ChatMemory(app)
    browser = Browser(app)
    for how in ("edit", "regenerate"):
        assert browser.post(f"default/{how}", {"question_id": "x", "text": "x"}).status_code == 503
