"""Slow requests that save an old session."""

from __future__ import annotations

import typing as t

import pytest

from .apps import SESSIONS
from .apps import THREADS
from .conftest import MakeSite


@pytest.mark.scenario("S180")
@SESSIONS
@THREADS
@pytest.mark.parametrize("each_request", [True, False])
def test_a_slow_request_that_saves_an_old_session_does_not_undo_a_reset(
    new_site: MakeSite, sessions: str, threads: str, each_request: bool
) -> None:
    site = new_site(
        sessions=sessions,
        permanent=True,
        CHAT_MEMORY_OPTIONS={"threads": threads},
        SESSION_REFRESH_EACH_REQUEST=each_request,
    )
    browser = site.browser()
    old = browser.ask("old").json
    assert old is not None
    with site.slow_request(browser):
        browser.reset()
    assert browser.texts() == []
    new = browser.ask("new").json
    assert new is not None and new["thread_id"] != old["thread_id"]
    assert browser.texts() == ["new", "You said: new"]
    assert [message["content"] for message in site.sent[-1]] == ["new"]


def test_the_slow_request_of_these_tests_really_brings_back_an_old_session(new_site: MakeSite) -> None:
    for sessions in ("cookie", "files"):
        site = new_site(sessions=sessions, permanent=True)
        browser = site.browser()
        browser.ask("old")
        before = browser.kept()
        with site.slow_request(browser):
            browser.reset()
            assert browser.kept() != before
        assert browser.kept() == before


@SESSIONS
@THREADS
def test_an_old_session_with_a_reservation_does_not_hide_the_thread_that_came_of_it(
    new_site: MakeSite, sessions: str, threads: str
) -> None:
    site = new_site(sessions=sessions, permanent=True, CHAT_MEMORY_OPTIONS={"threads": threads})
    browser = site.browser()
    browser.ask("before")
    reserved = browser.reset()
    with site.slow_request(browser):
        assert thread_of(browser.ask("first")) == reserved
    assert browser.texts() == ["first", "You said: first"]
    browser.ask("second")
    assert [message["content"] for message in site.sent[-1]] == ["first", "You said: first", "second"]


@SESSIONS
@THREADS
def test_an_old_session_with_a_reservation_does_not_revive_a_deleted_id(
    new_site: MakeSite, sessions: str, threads: str
) -> None:
    site = new_site(sessions=sessions, permanent=True, CHAT_MEMORY_OPTIONS={"threads": threads})
    browser = site.browser()
    browser.ask("before")
    reserved = browser.reset()
    with site.slow_request(browser):
        browser.ask("to be deleted", thread_id=reserved)
        browser.reset(thread_id=reserved)
    assert browser.texts() == []
    browser.ask("new")
    assert browser.texts() == ["new", "You said: new"]


@pytest.mark.parametrize("sessions", ["cookie", "files"])
def test_a_slow_first_visit_does_not_hide_a_conversation_begun_meanwhile(new_site: MakeSite, sessions: str) -> None:
    site = new_site(sessions=sessions, permanent=True, login=True)
    browser = site.browser()
    browser.login("ann")
    with site.slow_request(browser):
        browser.ask("hello")
    assert browser.texts() == ["hello", "You said: hello"]


def thread_of(response: t.Any) -> str:
    assert response.status_code == 200, response.text
    return t.cast(str, response.json["thread_id"])
