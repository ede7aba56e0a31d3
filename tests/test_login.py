"""Users that come and go in one browser."""

from __future__ import annotations

import collections.abc as cabc

import pytest

from flask_chat_memory import Scope
from flask_chat_memory import Turn

from .apps import PLUGINS
from .apps import said
from .apps import SESSIONS
from .apps import THREADS
from .conftest import MakeSite


@pytest.mark.scenario("S144", "D7", "D8")
@SESSIONS
@PLUGINS
@THREADS
def test_the_next_user_of_a_browser_sees_and_resets_nothing_of_the_first(
    new_site: MakeSite, sessions: str, plugin: str, threads: str
) -> None:
    site = new_site(sessions=sessions, login=True, CHAT_MEMORY_PLUGIN=plugin, CHAT_MEMORY_OPTIONS={"threads": threads})
    browser = site.browser()
    browser.login("ann")
    browser.ask("by ann")
    thread_id = browser.history()["thread_id"]
    browser.logout()
    assert browser.texts() == []
    assert browser.texts(thread_id=thread_id) == []
    browser.login("bob")
    page = browser.client.get("/")
    assert "by ann" not in page.text
    assert "no-store" in page.headers["Cache-Control"]
    assert browser.texts() == browser.texts(thread_id=thread_id) == []
    browser.ask("by bob", thread_id=thread_id)
    assert "ann" not in str(site.sent[-1])
    browser.reset(thread_id=thread_id)
    browser.reset()
    browser.logout()
    browser.login("ann")
    assert browser.texts(thread_id=thread_id) == said("by ann")


@pytest.mark.scenario("S145")
@SESSIONS
def test_logout_leaves_nothing_of_the_chat_in_the_session_and_the_rest_alone(new_site: MakeSite, sessions: str) -> None:
    site = new_site(sessions=sessions, login=True)
    browser = site.browser()
    browser.login("ann")
    browser.ask("hello")
    with browser.client.session_transaction() as session:
        session["basket"] = 3
    browser.logout()
    with browser.client.session_transaction() as session:
        assert "_chat_memory" not in session
        assert session["basket"] == 3


@pytest.mark.scenario("S146")
def test_an_anonymous_key_is_new_after_every_login_and_logout(new_site: MakeSite) -> None:
    site = new_site(login=True)
    browser = site.browser()
    keys = []
    for _ in range(3):
        browser.ask("hello")
        keys.append(browser.kept()["anonymous"])
        browser.login("ann")
        browser.ask("hello")
        assert "anonymous" not in browser.kept()
        browser.logout()
    assert len(set(keys)) == 3


def test_a_planted_session_shows_the_planter_nothing(new_site: MakeSite) -> None:
    site = new_site(login=True)
    planter = site.browser()
    planter.ask("bait")
    victim = planter.twin()
    victim.login("ann")
    victim.ask("my secret")
    assert "my secret" not in planter.texts()
    victim.logout()
    victim.ask("as a guest")
    assert not {"my secret", "as a guest"} & set(planter.texts())


@SESSIONS
@THREADS
def test_a_slow_request_of_the_user_before_shows_the_next_one_nothing(
    new_site: MakeSite, sessions: str, threads: str
) -> None:
    site = new_site(sessions=sessions, login=True, permanent=True, CHAT_MEMORY_OPTIONS={"threads": threads})
    browser = site.browser()
    browser.login("ann")
    browser.ask("by ann")
    kept = browser.kept()
    with site.slow_request(browser):
        browser.logout()
    # The site's session is Ann's again, which is not ours to mend; whoever logs in next has nothing of hers.
    assert browser.kept() == kept
    browser.login("bob")
    assert browser.texts() == browser.texts(thread_id=kept["threads"]["default"]) == []
    browser.ask("by bob")
    assert "by ann" not in str(site.sent[-1])
    browser.reset()
    browser.logout()
    browser.login("ann")
    assert browser.texts(thread_id=kept["threads"]["default"]) == said("by ann")


@SESSIONS
@pytest.mark.parametrize("on_login", ["adopt", "leave"])
def test_a_slow_request_of_the_guest_does_not_hand_the_users_messages_to_the_guest(
    new_site: MakeSite, sessions: str, on_login: str
) -> None:
    site = new_site(sessions=sessions, login=True, permanent=True, CHAT_MEMORY_ON_LOGIN=on_login)
    browser = site.browser()
    browser.ask("as a guest")
    with site.slow_request(browser):
        browser.login("ann")
        browser.ask("as ann")
    assert "as ann" not in browser.texts()
    browser.ask("as a guest again")
    assert "as ann" not in str(site.sent[-1])
    browser.login("ann")
    assert ("as a guest again" in browser.texts()) == (on_login == "adopt")
    assert "as ann" in browser.texts()


@pytest.mark.scenario("S181")
@SESSIONS
def test_a_stream_that_outlives_the_logout_does_not_bring_the_session_back(new_site: MakeSite, sessions: str) -> None:
    site = new_site(sessions=sessions, login=True, permanent=True)
    browser = site.browser()
    browser.login("ann")

    def pieces(turn: Turn) -> cabc.Iterator[str]:
        yield "begun"
        browser.logout()
        yield ", ended"

    site.answer = pieces
    twin = browser.twin()
    assert twin.ask("hello").status_code == 200
    twin.client.get("/plain")
    assert browser.kept() == {}
    assert browser.texts() == []
    browser.login("ann")
    assert browser.texts() == ["hello", "begun, ended"]


def test_a_first_message_does_not_cost_a_remembered_visitor_the_login(new_site: MakeSite) -> None:
    site = new_site(login=True)
    site.app.login_manager.session_protection = "strong"  # type: ignore[attr-defined]
    browser = site.browser()
    browser.login("ann", remember=True)
    browser.client.delete_cookie("session")
    assert browser.ask("hello").status_code == 200
    thread_id = browser.kept()["threads"]["default"]
    assert site.plugin.has_thread(Scope("user:ann"), thread_id)
    assert browser.client.get_cookie("remember_token") is not None


@pytest.mark.scenario("S149")
def test_new_chat_keeps_the_owner(new_site: MakeSite) -> None:
    site = new_site(login=True, CHAT_MEMORY_OPTIONS={"threads": "many"})
    browser = site.browser()
    browser.login("ann")
    browser.ask("first chat")
    first = browser.history()["thread_id"]
    second = browser.new_chat()
    browser.ask("second chat", thread_id=second)
    elsewhere = site.browser()
    elsewhere.login("ann")
    assert elsewhere.texts(thread_id=first) == said("first chat")
    assert elsewhere.texts(thread_id=second) == said("second chat")
