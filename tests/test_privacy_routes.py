"""The routes with which visitors download and delete what is stored of them."""

from __future__ import annotations

import json
import typing as t

import pytest
import werkzeug.test

from flask_chat_memory import ConfigurationError
from flask_chat_memory.plugins.records import FORGOTTEN

from .apps import Browser
from .apps import make_app
from .apps import Site
from .conftest import MakeSite
from .five_methods import FiveMethodsPlugin

EXPORT, DELETE = "/chat-memory/privacy/export", "/chat-memory/privacy/delete"
CONFIRMED = {"confirm": True}


@pytest.fixture
def site(new_site: MakeSite) -> Site:
    return new_site(login=True, CHAT_MEMORY_PRIVACY="users")


def export(browser: Browser, **query: str) -> werkzeug.test.TestResponse:
    return browser.client.get(EXPORT, query_string=query)


def delete(browser: Browser, body: object = CONFIRMED, **more: t.Any) -> werkzeug.test.TestResponse:
    return browser.client.post(DELETE, json=body, **more)


def visitor(site: Site, text: str, name: str | None = None) -> Browser:
    browser = site.browser()
    if name is not None:
        browser.login(name)
    assert browser.ask(text).status_code == 200
    return browser


@pytest.mark.parametrize(
    ("format", "kind", "name"),
    [
        ("json", "application/jsonl", "my-data.jsonl"),
        ("md", "text/markdown", "my-data.md"),
        ("html", "text/html", "my-data.html"),
    ],
)
def test_a_user_downloads_what_is_theirs(site: Site, format: str, kind: str, name: str) -> None:
    browser = visitor(site, "of amber", "amber")
    visitor(site, "of basil", "basil")
    response = export(browser, format=format)
    assert (response.status_code, response.mimetype) == (200, kind)
    assert response.headers["Content-Disposition"] == f'attachment; filename="{name}"'
    assert response.headers["Cache-Control"] == "private, no-store"
    assert response.headers["X-Content-Type-Options"] == "nosniff"
    assert "sandbox" in response.headers["Content-Security-Policy"]
    assert "You said: of amber" in response.text
    assert "basil" not in response.text


def test_a_user_deletes_what_is_theirs(site: Site) -> None:
    amber, basil = visitor(site, "of amber", "amber"), visitor(site, "of basil", "basil")
    response = delete(amber)
    assert response.status_code == 200
    deleted = t.cast(t.Any, response.json)["deleted"]
    assert (deleted["conversation"], deleted["usage"]) == (1, 1)
    assert (amber.texts(), amber.kept()) == ([], {})
    assert len(basil.texts()) == 2
    with site.app.app_context():
        assert site.memory.usage("user:amber") == []
        assert len(site.memory.usage(FORGOTTEN)) == 1
    assert delete(amber).status_code == 200
    assert amber.ask("a new beginning").status_code == 200
    assert len(amber.texts()) == 2


@pytest.mark.parametrize("body", [{}, {"confirm": "true"}, {"confirm": 1}, {"confirm": False}, [], "confirm", None])
def test_nothing_is_deleted_without_being_confirmed(site: Site, body: object) -> None:
    browser = visitor(site, "hello", "amber")
    assert delete(browser, body).status_code == 400
    assert len(browser.texts()) == 2


def test_another_site_cannot_delete(site: Site) -> None:
    browser = visitor(site, "hello", "amber")
    for headers in ({"Sec-Fetch-Site": "cross-site"}, {"Origin": "https://evil.example"}):
        assert delete(browser, headers=headers).status_code == 403
    assert browser.client.get(DELETE).status_code == 405
    assert len(browser.texts()) == 2


def test_who_is_not_logged_in_is_asked_to(site: Site) -> None:
    browser = visitor(site, "hello")
    for response in (export(browser), delete(browser)):
        assert (response.status_code, response.json) == (401, {"error": "Please log in first."})
    assert len(browser.texts()) == 2


def test_anonymous_visitors_may_where_the_site_says_so(new_site: MakeSite) -> None:
    site = new_site(login=True, CHAT_MEMORY_PRIVACY="visitors")
    browser, other = visitor(site, "of mine"), visitor(site, "of others")
    assert "of mine" in export(browser).text and "of others" not in export(browser).text
    assert delete(browser).status_code == 200
    assert (browser.kept(), browser.texts()) == ({}, [])
    assert len(other.texts()) == 2
    for response in (export(browser), delete(browser)):
        assert (response.status_code, response.json) == (404, {"error": "Nothing is stored of you."})
    stranger = site.browser()
    assert export(stranger).status_code == 404
    assert stranger.client.get_cookie("session") is None


def test_what_waits_to_be_adopted_goes_too(new_site: MakeSite) -> None:
    site = new_site(login=True, CHAT_MEMORY_PRIVACY="users")
    browser = visitor(site, "first")
    anonymous = f"anon:{browser.kept()['anonymous']}"
    with site.app.app_context():
        turn = site.memory.start_conversation(anonymous).turn("still running")
    browser.login("amber")
    assert delete(browser).status_code == 200
    turn.finish("too late")
    plugin: t.Any = site.plugin
    assert list(plugin.all_threads()) == []


@pytest.mark.parametrize("path", [EXPORT, DELETE])
def test_the_routes_are_off_unless_the_site_wants_them(new_site: MakeSite, path: str) -> None:
    browser = visitor(new_site(login=True), "hello", "amber")
    assert browser.client.get(path).status_code == 404
    assert browser.client.post(path, json=CONFIRMED).status_code in (404, 405)
    assert len(browser.texts()) == 2


def test_an_unknown_format_is_refused(site: Site) -> None:
    assert export(visitor(site, "hello", "amber"), format="pdf").status_code == 400


@pytest.mark.parametrize("value", ["", "everybody", True, "None"])
def test_a_wrong_choice_fails_at_the_start(tmp_path: t.Any, value: object) -> None:
    from flask_chat_memory import ChatMemory

    with pytest.raises(ConfigurationError, match="CHAT_MEMORY_PRIVACY is .*None or 'users' or 'visitors'"):
        ChatMemory(make_app(tmp_path, CHAT_MEMORY_PRIVACY=value))


def test_a_store_that_is_down_is_told_of_before_the_file_begins(site: Site) -> None:
    browser = visitor(site, "hello", "amber")
    with site.store_down():
        for response in (export(browser), delete(browser)):
            assert response.status_code == 503
    assert export(browser).status_code == 200


def test_a_file_that_is_cut_off_can_be_told_from_a_whole_one(site: Site) -> None:
    browser = visitor(site, "hello", "amber")
    assert json.loads(export(browser).text.splitlines()[-1])["kind"] == "end"


def test_a_plugin_that_cannot_is_named_in_the_log(new_site: MakeSite, caplog: pytest.LogCaptureFixture) -> None:
    site = new_site(login=True, CHAT_MEMORY_PRIVACY="users", CHAT_MEMORY_PLUGIN=FiveMethodsPlugin)
    browser = visitor(site, "hello", "amber")
    assert export(browser).status_code == 503
    assert "lacks" in caplog.text


def test_history_in_the_browser_leaves_what_is_remembered(new_site: MakeSite) -> None:
    stores = {"user_memory": "in_memory"}
    site = new_site(login=True, CHAT_MEMORY_PRIVACY="users", CHAT_MEMORY_PLUGIN=None, CHAT_MEMORY_STORAGES=stores)
    browser = site.browser()
    browser.login("amber")
    with site.app.app_context():
        site.memory.user_memories("user:amber").add("likes dots")
    assert "likes dots" in export(browser).text
    assert delete(browser).status_code == 200
    assert "likes dots" not in export(browser).text
