"""A conversation that only the page keeps."""

from __future__ import annotations

import collections.abc as cabc
import typing as t

import pytest
from playwright.sync_api import expect
from playwright.sync_api import Locator

from .site import Site
from .test_safety import check
from .visit import Visit

pytestmark = pytest.mark.browser

Serve = cabc.Callable[..., Site]
Open = cabc.Callable[..., Visit]
ALLOWED = {"default": {"temporary": True}}


def toggle(here: Visit) -> Locator:
    return here.page.get_by_role("button", name="Temporary")


def begin(here: Visit) -> None:
    toggle(here).click()
    expect(toggle(here)).to_have_attribute("aria-pressed", "true")
    expect(here.part("status")).to_contain_text("Nothing of this conversation is kept.")
    here.sees()


def test_it_leaves_nothing_on_the_server_and_is_gone_after_a_reload(serve: Serve, visit: Open) -> None:
    site = serve(CHAT_MEMORY_CHATBOTS=ALLOWED, CHAT_MEMORY_OPTIONS={"threads": "many"})
    here = visit(site, "/?threads")
    begin(here)
    here.ask("one")
    here.sees("one", "You said: one")
    here.ask("two")
    here.sees("one", "You said: one", "two", "You said: two")
    assert [message["content"] for message in site.asked[-1]] == ["one", "You said: one", "two"]
    here.ask("wait")
    assert site.waiting.wait(10)
    here.part("stop").click()
    expect(here.page.locator("[data-status=stopped] .chat-memory-text")).to_have_text("part one,")
    assert here.page.request.get(f"{site.url}/chat-memory/default/threads").json()["threads"] == []
    assert here.page.evaluate("Object.keys(localStorage).length") == 0
    here.page.reload()
    here.sees()
    expect(toggle(here)).to_have_attribute("aria-pressed", "false")


def test_the_conversation_that_was_left_for_it_comes_back(serve: Serve, visit: Open) -> None:
    site = serve(CHAT_MEMORY_CHATBOTS=ALLOWED)
    here = visit(site)
    here.ask("kept")
    here.sees("kept", "You said: kept")
    begin(here)
    expect(here.part("reset")).to_be_hidden()
    here.ask("secret")
    here.sees("secret", "You said: secret")
    assert "kept" not in str(site.asked[-1])
    toggle(here).click()
    here.sees("kept", "You said: kept")
    expect(here.part("status")).to_contain_text("Nothing of it was kept.")
    here.ask("more")
    here.sees("kept", "You said: kept", "more", "You said: more")
    assert "secret" not in str(site.asked[-1])


def test_another_conversation_of_the_list_ends_it(serve: Serve, visit: Open) -> None:
    site = serve(CHAT_MEMORY_CHATBOTS=ALLOWED, CHAT_MEMORY_OPTIONS={"threads": "many"})
    here = visit(site, "/?threads")
    here.ask("kept")
    here.sees("kept", "You said: kept")
    expect(toggle(here)).to_be_hidden()
    here.part("new").click()
    begin(here)
    here.ask("secret")
    here.sees("secret", "You said: secret")
    here.page.locator("[data-act=open]", has_text="kept").click()
    here.sees("kept", "You said: kept")
    here.ask("more")
    here.sees("kept", "You said: kept", "more", "You said: more")
    here.page.reload()
    here.sees("kept", "You said: kept", "more", "You said: more")


@pytest.mark.parametrize("config", [{}, {"CHAT_MEMORY_PLUGIN": None, "CHAT_MEMORY_CHATBOTS": ALLOWED}])
def test_it_is_offered_only_where_the_server_would_keep_the_conversation(
    serve: Serve, visit: Open, config: dict[str, object]
) -> None:
    here = visit(serve(**config))
    expect(here.part("send")).to_be_enabled()
    expect(toggle(here)).to_have_count(0)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_is_accessible(serve: Serve, visit: Open, scheme: t.Any) -> None:
    site = serve(CHAT_MEMORY_CHATBOTS=ALLOWED, CHAT_MEMORY_OPTIONS={"threads": "many"})
    here = visit(site, "/?threads", color_scheme=scheme, viewport={"width": 390, "height": 844})
    check(here)
    begin(here)
    check(here)
    assert here.page.evaluate("document.documentElement.scrollWidth") <= 390
