"""Reset: what it deletes and what it does not."""

from __future__ import annotations

import collections.abc as cabc
import typing as t

import pytest

from flask_chat_memory import Turn

from .apps import background
from .apps import Browser
from .apps import PATIENCE
from .apps import PLUGINS
from .apps import said
from .apps import SESSIONS
from .apps import Site
from .apps import THREADS
from .conftest import MakeSite


def ask(browser: Browser, text: str, chatbot: str = "default", **body: t.Any) -> str:
    """Ask and return the id of the thread that the message went to."""
    response = browser.ask(text, chatbot, **body)
    assert response.status_code == 200, response.text
    return t.cast("dict[str, str]", response.json)["thread_id"]


@pytest.mark.scenario("S149", "D19", "D21")
@SESSIONS
@PLUGINS
@THREADS
def test_a_reset_empties_the_page_and_what_the_model_sees(
    new_site: MakeSite, sessions: str, plugin: str, threads: str
) -> None:
    site = new_site(sessions=sessions, CHAT_MEMORY_PLUGIN=plugin, CHAT_MEMORY_OPTIONS={"threads": threads})
    browser = site.browser()
    old = ask(browser, "old")
    reserved = browser.reset(thread_id=old)
    assert reserved != old
    assert browser.history() == {
        "mode": "server",
        "thread_id": reserved,
        "messages": [],
        "has_more": False,
        "cursor": None,
    }
    assert ask(browser, "new", thread_id=reserved) == reserved
    assert site.sent[-1] == [{"role": "user", "content": "new"}]
    assert browser.texts() == said("new")


@THREADS
def test_a_reserved_id_is_used_for_the_first_message_of_a_page_that_tells_none(
    new_site: MakeSite, threads: str
) -> None:
    browser = new_site(CHAT_MEMORY_OPTIONS={"threads": threads}).browser()
    ask(browser, "old")
    assert browser.reset() == ask(browser, "new")


@pytest.mark.scenario("D20")
@THREADS
def test_a_reset_can_be_repeated(new_site: MakeSite, threads: str) -> None:
    site = new_site(CHAT_MEMORY_OPTIONS={"threads": threads})
    browser = site.browser()
    assert browser.reset() != browser.reset()
    old = ask(browser, "old")
    ids = [browser.reset(thread_id=old) for _ in range(3)]
    assert len({old, *ids}) == 4
    assert site.rows("thread") == site.rows("message") == 0


def test_a_repeated_reset_does_not_delete_what_came_after_the_first(site: Site) -> None:
    browser = site.browser()
    old = ask(browser, "old")
    browser.reset(thread_id=old)
    new = ask(browser, "new")
    assert browser.reset(thread_id=old) == new
    assert browser.texts() == said("new")


@THREADS
def test_the_reset_of_a_stale_tab_deletes_only_its_own_thread(new_site: MakeSite, threads: str) -> None:
    site = new_site(CHAT_MEMORY_OPTIONS={"threads": threads})
    browser = site.browser()
    stale = ask(browser, "old")
    browser.reset(thread_id=stale)
    current = ask(browser, "new")
    browser.reset(thread_id=stale)
    assert browser.texts(thread_id=current) == said("new")


@THREADS
@pytest.mark.parametrize("gone", ["never-made", "", "x" * 10_000, 5, ["x"], None])
def test_the_reset_of_an_unknown_thread_deletes_nothing(new_site: MakeSite, threads: str, gone: object) -> None:
    site = new_site(CHAT_MEMORY_OPTIONS={"threads": threads})
    browser = site.browser()
    current = ask(browser, "hello")
    returned = browser.reset(thread_id=gone)
    assert (returned == current) == (threads == "one")
    assert browser.texts(thread_id=current) == said("hello")


def test_a_reset_without_a_body_deletes_the_ongoing_thread(site: Site) -> None:
    browser = site.browser()
    ask(browser, "hello")
    assert browser.client.post("/chat-memory/default/reset").status_code == 200
    assert browser.texts() == []


BODIES = [
    (b"{", "application/json"),
    (b"null", "application/json"),
    (b"[]", "application/json"),
    (b'"x"', "application/json"),
    (b"7", "application/json"),
    (b"\xff", "application/json"),
    (b"[" * 100_000, "application/json"),
    (b'{"thread_id": "x"}', "text/plain"),
    (b"thread_id=x", "application/x-www-form-urlencoded"),
]


@pytest.mark.parametrize(("data", "content_type"), BODIES, ids=map(str, range(len(BODIES))))
def test_a_reset_whose_body_is_no_json_object_is_refused(site: Site, data: bytes, content_type: str) -> None:
    site.app.config["PROPAGATE_EXCEPTIONS"] = False
    browser = site.browser()
    ask(browser, "hello")
    response = browser.client.post("/chat-memory/default/reset", data=data, content_type=content_type)
    assert response.status_code == 400
    assert browser.texts() == said("hello")


@pytest.mark.scenario("D22")
@PLUGINS
@THREADS
def test_a_late_answer_neither_revives_the_reset_thread_nor_lands_in_the_next(
    new_site: MakeSite, plugin: str, threads: str
) -> None:
    site = new_site(CHAT_MEMORY_PLUGIN=plugin, CHAT_MEMORY_OPTIONS={"threads": threads})
    browser = site.browser()
    old = ask(browser, "before")
    twin = browser.twin()

    def pieces(turn: Turn) -> cabc.Iterator[str]:
        yield "be"
        if turn.text == "slow":
            site.entered.set()
            assert site.release.wait(PATIENCE)
        yield "lated"

    site.answer = pieces
    with background(lambda: twin.ask("slow", thread_id=old)):
        assert site.entered.wait(PATIENCE)
        new = browser.reset(thread_id=old)
        assert ask(browser, "quick", thread_id=new) == new
        site.release.set()
    assert browser.texts() == browser.texts(thread_id=new) == ["quick", "belated"]
    assert threads == "one" or browser.texts(thread_id=old) == []
    assert len(site.sent[-1]) == 1


@pytest.mark.scenario("D22")
def test_a_late_answer_does_not_come_back_without_a_next_thread_either(site: Site) -> None:
    browser = site.browser()
    old = ask(browser, "before")

    def answer(turn: Turn) -> str:
        browser.twin().reset(thread_id=old)
        return "belated"

    site.answer = answer
    browser.ask("slow")
    assert browser.texts() == []
    assert site.rows("thread") == site.rows("message") == site.rows("live") == 0
