"""Searching one's own conversations: in code and as a page asks for it."""

from __future__ import annotations

import pathlib
import typing as t

import pytest

from flask_chat_memory import ChatMessage
from flask_chat_memory import ConfigurationError
from flask_chat_memory import Conversation
from flask_chat_memory import RequestRefused
from flask_chat_memory import Scope
from flask_chat_memory.search import excerpt
from flask_chat_memory.search import Hit

from .apps import Browser
from .apps import ManualClock
from .apps import Site as WebSite
from .conftest import MakeSite
from .conversations import ask
from .conversations import BUILT_IN
from .conversations import OWNER
from .conversations import Site
from .five_methods import FiveMethodsPlugin


@pytest.fixture(params=BUILT_IN)
def site(request: pytest.FixtureRequest, tmp_path: pathlib.Path) -> Site:
    site = Site(tmp_path, request.param, OPTIONS={"threads": "many"})
    site.plugin.clock = ManualClock()
    return site


def talk(site: Site, *exchanges: tuple[str, str], owner: str = OWNER) -> Conversation:
    """Begin a thread, later than those before."""
    site.plugin.clock.advance(1)
    conversation = site.start(owner)
    for question, answer in exchanges:
        ask(conversation, question, answer)
    return conversation


def test_messages_are_found_thread_by_thread_the_newest_first(site: Site) -> None:
    older = talk(site, ("Where is my Übergröße?", "On its way."), ("And the UBERGROSSE?", "Also."))
    talk(site, ("hello", "hi"))
    newer = talk(site, ("An order", "It has an übergroße."))
    hits = site.start().search("übergrosse")
    assert [(hit.thread_id, hit.title, hit.text, hit.role) for hit in hits.found] == [
        (newer.thread_id, "An order", "It has an übergroße.", "assistant"),
        (older.thread_id, "Where is my Übergröße?", "And the UBERGROSSE?", "user"),
        (older.thread_id, "Where is my Übergröße?", "Where is my Übergröße?", "user"),
    ]
    assert hits.complete
    stored = {message.id for message in [*older.history(), *newer.history()]}
    assert {hit.message_id for hit in hits.found} <= stored


def test_a_title_is_found_where_no_message_is(site: Site) -> None:
    first = talk(site, ("the zurich one", "1"))
    second = talk(site, ("two", "2"))
    for conversation in (first, second):
        conversation.update_thread(str(conversation.thread_id), title="Café in Zürich")
    hits = site.start().search("ZURICH")
    assert hits.found[0] == Hit(str(second.thread_id), "Café in Zürich")
    assert [hit.thread_id for hit in hits.found[1:]] == [first.thread_id]
    assert hits.found[1].text == "the zurich one"


def test_text_is_taken_literally_and_found_in_scripts_without_spaces(site: Site) -> None:
    talk(site, ("100% of_it *\\", "今日は良い天気です"))
    found = {text: len(site.start().search(text).found) for text in ("%", "0%", "f_i", "*\\", "良い天", "x%", "o%i")}
    assert found == {"%": 1, "0%": 1, "f_i": 1, "*\\": 1, "良い天": 1, "x%": 0, "o%i": 0}


@pytest.mark.scenario("S205")
def test_only_ones_own_conversations_with_the_chatbot_are_searched(tmp_path: pathlib.Path) -> None:
    site = Site(tmp_path, OPTIONS={"threads": "many"}, CHATBOTS={"a": {}, "b": {}})
    for owner in (OWNER, "user:2", "user:10"):
        for chatbot in ("a", "b"):
            ask(site.start(owner, chatbot), f"secret of {owner} with {chatbot}")
    assert [hit.text for hit in site.start(OWNER, "a").search("secret").found] == [f"secret of {OWNER} with a"]
    assert not site.start("user:3", "a").search("secret").found


def test_what_is_hidden_or_deleted_is_not_found(site: Site) -> None:
    conversation = talk(site, ("needle", "fine"))
    conversation.update_thread(str(conversation.thread_id), title=None)
    conversation.edit(str(conversation.history()[0].id), "other").finish("fine")
    assert conversation.search("needle").found == []
    assert conversation.switch(1)
    assert len(conversation.search("needle").found) == 1
    conversation.delete_thread(str(conversation.thread_id))
    assert site.start().search("needle").found == []


def test_more_than_the_limit_is_told(site: Site) -> None:
    for number in range(3):
        talk(site, (f"question {number}", f"needle {number}"))
    hits = site.start().search("needle", limit=2)
    assert ([hit.text for hit in hits.found], hits.complete) == (["needle 2", "needle 1"], False)
    hits = site.start().search("needle", limit=3)
    assert (len(hits.found), hits.complete) == (3, True)
    with pytest.raises(ValueError, match="at least 1"):
        site.start().search("needle", limit=0)


@pytest.mark.parametrize("threads", ["one", "many"])
def test_one_conversation_is_searched_like_many(tmp_path: pathlib.Path, threads: str) -> None:
    site = Site(tmp_path, OPTIONS={"threads": threads})
    ask(site.start(), "needle", "another needle")
    assert [hit.role for hit in site.start().search("needle").found] == ["assistant", "user"]


@pytest.mark.parametrize("text", ["", "  \n", "x" * 201])
def test_too_little_and_too_much_text_is_refused(site: Site, text: str) -> None:
    with pytest.raises(RequestRefused) as refused:
        site.start().search(text)
    assert refused.value.code == 400


def test_text_of_which_folding_leaves_nothing_finds_nothing(site: Site) -> None:
    talk(site, ("e\u0301", "fine"))
    assert site.start().search("\u0301").found == []


def test_a_plugin_that_cannot_search_says_so(tmp_path: pathlib.Path) -> None:
    with pytest.raises(ConfigurationError, match="must inherit SearchesMessages"):
        Site(tmp_path, FiveMethodsPlugin).start().search("x")


@pytest.mark.parametrize(
    ("text", "found", "shown"),
    [
        ("short", "short", "short"),
        ("two\n\n lines", "lines", "two lines"),
        ("a" * 200, "a", "a" * 120 + "…"),
        ("a" * 100 + "X" + "b" * 100, "x", "…" + "a" * 40 + "X" + "b" * 79 + "…"),
        ("a" * 200 + "X", "x", "…" + "a" * 119 + "X"),
        ("ß" * 100 + "X" + "ﬃ" * 100, "x", "…" + "ß" * 40 + "X" + "ﬃ" * 79 + "…"),
        ("e\u0301" * 100 + "X", "x", "…" + "e\u0301" * 59 + "X"),
        ("", "x", ""),
    ],
)
def test_the_text_around_a_hit(text: str, found: str, shown: str) -> None:
    assert excerpt(text, found) == shown


@pytest.fixture(params=["in_memory", "sqlalchemy"])
def web(request: pytest.FixtureRequest, new_site: MakeSite) -> WebSite:
    return new_site(CHAT_MEMORY_PLUGIN=request.param, CHAT_MEMORY_OPTIONS={"threads": "many"})


def search(browser: Browser, **query: t.Any) -> t.Any:
    response = browser.client.get("/chat-memory/default/search", query_string=query)
    assert response.status_code == 200, response.text
    assert response.headers["Cache-Control"] == "private, no-store"
    return response.json


def test_a_page_is_told_where_the_text_is(web: WebSite) -> None:
    browser = web.browser()
    thread_id = t.cast(t.Any, browser.ask("needle").json)["thread_id"]
    titled = t.cast(t.Any, browser.ask("hay", thread_id=None).json)["thread_id"]
    browser.change(titled, title="Needles")
    question, answer = browser.history(thread_id=thread_id)["messages"]
    common = {"thread_id": thread_id, "title": "needle"}
    assert search(browser, text=" needle ".strip()) == {
        "results": [
            {"thread_id": titled, "title": "Needles", "message_id": None, "text": None, "role": None},
            {**common, "message_id": answer["id"], "text": "You said: needle", "role": "ai"},
            {**common, "message_id": question["id"], "text": "needle", "role": "user"},
        ],
        "complete": True,
    }
    assert search(browser, text="nothing") == {"results": [], "complete": True}
    assert search(web.browser(), text="needle") == {"results": [], "complete": True}


@pytest.mark.parametrize("query", [{}, {"text": ""}, {"text": " "}, {"text": "x" * 201}])
def test_a_page_without_text_is_refused(web: WebSite, query: dict[str, str]) -> None:
    response = web.browser().client.get("/chat-memory/default/search", query_string=query)
    assert response.status_code == 400
    assert response.json is not None and response.json["error"].endswith(".")


def test_where_the_browser_keeps_the_history_nothing_is_found(new_site: MakeSite) -> None:
    browser = new_site(CHAT_MEMORY_PLUGIN=None).browser()
    assert search(browser, text="x") == {"results": [], "complete": True}


@pytest.mark.scenario("S139")
def test_a_session_of_somebody_else_finds_nothing(web: WebSite) -> None:
    owner = web.browser()
    owner.ask("needle")
    scope = Scope("anon:" + owner.kept()["anonymous"])
    web.plugin.append_messages(scope, "other", [ChatMessage("user", "needle, too", id="x")])
    other = web.browser()
    other.ask("hay")
    assert search(other, text="needle")["results"] == []
    assert len(search(owner, text="needle")["results"]) == 3
