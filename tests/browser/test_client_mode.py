"""The chat in a real browser: the history is in the browser."""

from __future__ import annotations

import collections.abc as cabc

import pytest
from playwright.sync_api import expect

from .site import Site
from .visit import Visit

pytestmark = pytest.mark.browser

Serve = cabc.Callable[..., Site]
Open = cabc.Callable[..., Visit]
ANONYMOUS = "chat-memory:/chat-memory/default/messages:anon"
KEPT = "() => Object.keys(localStorage).filter(key => key.startsWith('chat-memory'))"


def test_the_browser_keeps_the_conversation_and_reset_removes_it(serve: Serve, visit: Open) -> None:
    site = serve(CHAT_MEMORY_PLUGIN=None)
    here = visit(site)
    here.ask("one")
    here.sees("one", "You said: one")
    here.page.reload()
    here.sees("one", "You said: one")
    here.ask("two")
    here.sees("one", "You said: one", "two", "You said: two")
    assert [message["content"] for message in site.asked[-1]] == ["one", "You said: one", "two"]
    assert here.context.cookies() == []
    here.part("reset").click()
    here.sees()
    assert here.page.evaluate(KEPT) == []
    here.page.reload()
    here.sees()


def test_two_tabs_do_not_eat_each_others_turns(serve: Serve, visit: Open) -> None:
    here = visit(serve(CHAT_MEMORY_PLUGIN=None))
    other = here.new_tab()
    here.open(page=other)
    here.ask("one")
    here.sees("one", "You said: one")
    here.sees("one", "You said: one", page=other)
    here.ask("two", page=other)
    expected = ("one", "You said: one", "two", "You said: two")
    here.sees(*expected, page=other)
    here.sees(*expected)
    here.page.reload()
    here.sees(*expected)
    here.part("reset", other).click()
    here.sees()


def test_logout_leaves_nothing_in_the_browser(serve: Serve, visit: Open) -> None:
    here = visit(serve(CHAT_MEMORY_PLUGIN=None))
    here.ask("before the login")
    here.sees("before the login", "You said: before the login")
    here.open("/login?name=ada")
    here.open()
    here.sees("before the login", "You said: before the login")
    here.open("/logout")
    here.open()
    here.sees()
    assert here.page.evaluate(KEPT) == []


def test_rubbish_in_the_storage_does_no_harm(serve: Serve, visit: Open) -> None:
    here = visit(serve(CHAT_MEMORY_PLUGIN=None))
    for rubbish in ("{{", "null", "[1, null, {}]", '[{"role": "system", "text": "x", "id": "1"}]', '{"role": "user"}'):
        here.page.evaluate(f"value => localStorage.setItem('{ANONYMOUS}', value)", rubbish)
        here.page.reload()
        here.sees()
        here.ask("hello")
        here.sees("hello", "You said: hello")


def test_server_mode_removes_what_client_mode_left(serve: Serve, visit: Open) -> None:
    here = visit(serve())
    here.page.evaluate(f"localStorage.setItem('{ANONYMOUS}', '[]')")
    here.page.reload()
    expect(here.part("input")).to_be_enabled()
    assert here.page.evaluate(KEPT) == []


def test_without_history_nothing_is_kept_anywhere(serve: Serve, visit: Open) -> None:
    site = serve(CHAT_MEMORY_CHATBOTS={"default": {"history": False}})
    here = visit(site)
    here.ask("one")
    here.sees("one", "You said: one")
    here.ask("two")
    here.sees("one", "You said: one", "two", "You said: two")
    assert site.asked[-1] == [{"role": "user", "content": "two"}]
    assert here.page.evaluate(KEPT) == []
    assert here.context.cookies() == []
    here.page.reload()
    here.sees()
