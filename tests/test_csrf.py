"""The routes under Flask-WTF's CSRFProtect."""

from __future__ import annotations

import re

import flask_wtf
import pytest

from .apps import Browser
from .apps import Site
from .conftest import MakeSite


@pytest.fixture
def guarded(new_site: MakeSite) -> Site:
    site = new_site(login=True, CHAT_MEMORY_OPTIONS={"threads": "many"})
    flask_wtf.CSRFProtect(site.app)
    return site


def token(browser: Browser) -> str:
    found = re.search(r'data-csrf-token="([^"]+)"', browser.client.get("/").text)
    assert found is not None
    return found[1]


QUESTION = {"messages": [{"role": "user", "text": "hello"}]}


@pytest.mark.parametrize("path", ["default/messages", "default/reset", "default/threads"])
def test_the_token_of_the_widget_lets_the_routes_pass(guarded: Site, path: str) -> None:
    browser = guarded.browser()
    headers = {"X-CSRFToken": token(browser), "Accept": "application/json"}
    assert browser.client.post(f"/chat-memory/{path}", json=QUESTION, headers=headers).status_code == 200


@pytest.mark.parametrize("path", ["default/messages", "default/reset", "default/threads", "default/threads/x/open"])
@pytest.mark.parametrize("headers", [{}, {"X-CSRFToken": "forged"}])
def test_without_the_token_a_request_is_refused_in_a_sentence(
    guarded: Site, path: str, headers: dict[str, str]
) -> None:
    browser = guarded.browser()
    token(browser)
    response = browser.client.post(f"/chat-memory/{path}", json=QUESTION, headers=headers)
    assert response.status_code == 400
    assert response.json is not None and "CSRF" in response.json["error"]
    assert response.headers["Cache-Control"] == "private, no-store"
    assert guarded.rows() == 0
    assert guarded.sent == []


def test_the_token_of_another_visitor_is_refused(guarded: Site) -> None:
    stolen = token(guarded.browser())
    browser = guarded.browser()
    token(browser)
    headers = {"X-CSRFToken": stolen}
    assert browser.client.post("/chat-memory/default/messages", json=QUESTION, headers=headers).status_code == 400


def test_the_token_of_the_page_stays_good_after_a_reset(guarded: Site) -> None:
    browser = guarded.browser()
    headers = {"X-CSRFToken": token(browser)}
    for path in ("messages", "reset", "messages", "reset"):
        response = browser.client.post(f"/chat-memory/default/{path}", json=QUESTION, headers=headers, buffered=True)
        assert response.status_code == 200
    assert browser.texts() == []


def test_a_page_without_csrf_protection_has_no_token(site: Site) -> None:
    assert "data-csrf-token" not in site.app.test_client().get("/").text


def test_a_thread_is_changed_and_deleted_with_the_token_only(guarded: Site) -> None:
    browser = guarded.browser()
    headers = {"X-CSRFToken": token(browser), "Accept": "application/json"}
    answer = browser.client.post("/chat-memory/default/messages", json=QUESTION, headers=headers).json
    assert answer is not None
    path = f"/chat-memory/default/threads/{answer['thread_id']}"
    for refused in (browser.client.patch(path, json={"title": "x"}), browser.client.delete(path)):
        assert refused.status_code == 400
        assert refused.headers["Chat-Memory-Token"]
    assert [thread["title"] for thread in browser.threads()] == ["hello"]
    assert browser.client.patch(path, json={"title": "x"}, headers=headers).status_code == 200
    assert browser.client.delete(path, headers=headers).status_code == 200
    assert browser.threads() == []
