"""The chat in a real browser: the history is on the server."""

from __future__ import annotations

import collections.abc as cabc
import pathlib
import runpy

import pytest
from flask_wtf.csrf import CSRFProtect
from playwright.sync_api import expect

from .site import Served
from .site import Site
from .visit import Visit

pytestmark = pytest.mark.browser

Serve = cabc.Callable[..., Site]
Open = cabc.Callable[..., Visit]


def test_a_conversation_survives_the_reload(serve: Serve, visit: Open) -> None:
    here = visit(serve())
    here.ask("hello")
    here.sees("hello", "You said: hello")
    here.page.reload()
    here.sees("hello", "You said: hello")


def test_the_ten_lines_of_the_readme_survive_a_reload(
    visit: Open, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The instance folder of a pasted file is below the current one.
    monkeypatch.chdir(tmp_path)
    readme = pathlib.Path(__file__).parents[2] / "README.md"
    source = readme.read_text().split("```python\n")[1].split("```")[0]
    pasted = tmp_path / "pasted.py"
    pasted.write_text(source)
    app = runpy.run_path(str(pasted))["app"]
    served = Served(app)
    try:
        here = visit(served)
        here.ask("hello")
        here.sees("hello", "You said: hello")
        here.page.reload()
        here.sees("hello", "You said: hello")
    finally:
        served.close()


def test_another_visitor_sees_nothing_of_it(serve: Serve, visit: Open) -> None:
    site = serve()
    here = visit(site)
    here.ask("my secret")
    here.sees("my secret", "You said: my secret")
    there = visit(site)
    there.sees()
    there.ask("hello")
    there.sees("hello", "You said: hello")
    assert "secret" not in str(site.asked[-1])


@pytest.mark.scenario("D25")
def test_reset_deletes_and_starts_anew(serve: Serve, visit: Open) -> None:
    site = serve(CHAT_MEMORY_CHATBOTS={"default": {"greeting": "Welcome!"}})
    here = visit(site)
    here.sees("Welcome!")
    here.ask("hello")
    here.sees("Welcome!", "hello", "You said: hello")
    here.part("reset").click()
    here.sees("Welcome!")
    here.page.reload()
    here.sees("Welcome!")
    here.ask("again")
    here.sees("Welcome!", "again", "You said: again")
    assert site.asked[-1] == [{"role": "user", "content": "again"}]


def test_stop_keeps_the_part_that_came(serve: Serve, visit: Open) -> None:
    site = serve()
    here = visit(site)
    here.ask("wait")
    expect(here.page.locator("[data-role=ai] .chat-memory-text")).to_have_text("part one,")
    assert site.waiting.wait(10)
    here.part("stop").click()
    here.sees("wait", "part one,")
    expect(here.part("input")).to_be_focused()
    site.release.set()
    here.ask("hello")
    here.sees("wait", "part one,", "hello", "You said: hello")
    for _ in range(2):
        expect(here.page.locator("[data-role=ai][data-status=stopped] .chat-memory-text")).to_have_text("part one,")
        here.page.reload()


def test_a_reload_in_mid_answer_goes_on_to_its_end(serve: Serve, visit: Open) -> None:
    site = serve(CHAT_MEMORY_CHATBOTS={"default": {"on_disconnect": "finish"}})
    here = visit(site)
    here.ask("wait")
    assert site.waiting.wait(10)
    here.page.reload()
    expect(here.page.locator(".chat-memory-text")).to_have_text(["wait", "part one,"])
    expect(here.part("stop")).to_be_visible()
    second = here.new_tab()
    here.open(page=second)
    expect(second.locator(".chat-memory-text")).to_have_text(["wait", "part one,"])
    site.release.set()
    for page in (here.page, second):
        here.sees("wait", "part one, part two", page=page)
        expect(page.locator("[data-role=ai]")).to_have_attribute("data-status", "complete")
    here.page.reload()
    here.sees("wait", "part one, part two")
    here.ask("hello")
    here.sees("wait", "part one, part two", "hello", "You said: hello")
    assert len(site.asked) == 2


def test_stop_from_a_second_tab(serve: Serve, visit: Open) -> None:
    site = serve()
    here = visit(site)
    here.ask("wait")
    assert site.waiting.wait(10)
    second = here.new_tab()
    here.open(page=second)
    expect(second.locator(".chat-memory-text")).to_have_text(["wait", "part one,"])
    here.part("stop", second).click()
    here.sees("wait", "part one,", page=second)
    site.release.set()
    here.sees("wait", "part one,")
    for page in (here.page, second):
        expect(page.locator("[data-role=ai]")).to_have_attribute("data-status", "stopped")
    here.page.reload()
    expect(here.page.locator("[data-role=ai]")).to_have_attribute("data-status", "stopped")


def test_stop_before_the_first_piece(serve: Serve, visit: Open) -> None:
    site = serve(CHAT_MEMORY_OPTIONS={"threads": "many"})
    here = visit(site)
    here.ask("hang")
    assert site.waiting.wait(10)
    here.part("stop").click()
    here.sees("hang", "")
    site.release.set()
    here.page.reload()
    expect(here.page.locator("[data-role=ai]")).to_have_attribute("data-status", "stopped")


def test_reset_in_the_middle_of_an_answer(serve: Serve, visit: Open) -> None:
    site = serve()
    here = visit(site)
    here.ask("wait")
    expect(here.page.locator("[data-role=ai] .chat-memory-text")).to_have_text("part one,")
    here.part("reset").click()
    here.sees()
    site.release.set()
    here.ask("hello")
    here.sees("hello", "You said: hello")
    here.page.reload()
    here.sees("hello", "You said: hello")


def test_a_failed_answer_is_marked_and_tells_nothing_of_the_cause(serve: Serve, visit: Open) -> None:
    here = visit(serve())
    here.ask("fail")
    here.sees("fail", "as far as this")
    expect(here.part("alert")).not_to_be_empty()
    assert "secret" not in here.page.content()
    here.page.reload()
    here.sees("fail", "as far as this")
    expect(here.page.locator("[data-status=failed]")).to_have_count(1)
    here.ask("hello")
    here.sees("fail", "as far as this", "hello", "You said: hello")


def test_a_question_that_did_not_arrive_can_be_sent_again(serve: Serve, visit: Open) -> None:
    here = visit(serve())
    here.context.set_offline(True)
    here.ask("hello")
    expect(here.part("alert")).not_to_be_empty()
    expect(here.part("input")).to_have_value("hello")
    here.context.set_offline(False)
    here.part("send").click()
    here.sees("hello", "You said: hello")
    here.page.reload()
    here.sees("hello", "You said: hello")


def test_a_refused_question_shows_the_sentence(serve: Serve, visit: Open) -> None:
    here = visit(serve(CHAT_MEMORY_MAX_MESSAGE_CHARS=10))
    here.ask("longer than ten characters")
    expect(here.part("alert")).to_contain_text("longer than 10 characters")


def test_older_messages_come_when_the_log_is_scrolled_up(serve: Serve, visit: Open) -> None:
    site = serve(CHAT_MEMORY_PRELOAD=10)
    with site.app.app_context():
        conversation = site.memory.start_conversation("user:ada")
        for number in range(21):
            conversation.send(f"echo line {number}")
    here = visit(site, "/login?name=ada")
    here.open()
    texts = here.page.locator(".chat-memory-message .chat-memory-text")
    expect(texts).to_have_count(10)
    while here.part("earlier").is_visible():
        before = texts.count()
        here.part("scroll").evaluate("element => element.scrollTop = 0")
        here.page.wait_for_function(
            "count => document.querySelectorAll('.chat-memory-message').length > count", arg=before
        )
    shown = texts.all_inner_texts()
    assert shown == [text for number in range(21) for text in (f"echo line {number}", f"line {number}")]


def test_two_tabs_of_one_conversation(serve: Serve, visit: Open) -> None:
    here = visit(serve())
    other = here.new_tab()
    here.ask("one")
    here.sees("one", "You said: one")
    here.open(page=other)
    here.ask("two", page=other)
    here.sees("one", "You said: one", "two", "You said: two", page=other)
    here.part("reset").click()
    here.sees()
    # The stale tab is told by the answer that its conversation is another one now.
    here.ask("three", page=other)
    here.sees("three", "You said: three", page=other)


def test_each_message_reaches_the_thread_that_its_tab_shows(serve: Serve, visit: Open) -> None:
    site = serve(CHAT_MEMORY_OPTIONS={"threads": "many"})
    here = visit(site)
    here.ask("one")
    here.sees("one", "You said: one")
    other = here.new_tab()
    here.open(page=other)
    here.part("new", other).click()
    here.sees(page=other)
    here.ask("two", page=other)
    here.sees("two", "You said: two", page=other)
    here.ask("three")
    here.sees("one", "You said: one", "three", "You said: three")
    here.ask("four", page=other)
    here.sees("two", "You said: two", "four", "You said: four", page=other)
    assert [message["content"] for message in site.asked[2]] == ["one", "You said: one", "three"]
    here.part("reset", other).click()
    here.sees(page=other)
    here.ask("five")
    here.sees("one", "You said: one", "three", "You said: three", "five", "You said: five")


def test_a_page_that_is_older_than_its_token_goes_on(serve: Serve, visit: Open) -> None:
    site = serve()
    CSRFProtect(site.app)
    here = visit(site)
    here.ask("one")
    here.sees("one", "You said: one")
    here.page.locator("chat-memory").evaluate("element => { element.dataset.csrfToken = 'expired' }")
    here.ask("two")
    here.sees("one", "You said: one", "two", "You said: two")


def test_keyboard_alone(serve: Serve, visit: Open) -> None:
    here = visit(serve())
    field = here.part("input")
    field.focus()
    here.page.keyboard.type("first line")
    here.page.keyboard.press("Shift+Enter")
    here.page.keyboard.type("second line")
    here.page.keyboard.press("Enter")
    here.sees("first line\nsecond line", "You said: first line\nsecond line")
    expect(field).to_be_focused()


@pytest.mark.scenario("S144")
def test_a_logged_in_user_and_the_next_one_at_the_same_browser(serve: Serve, visit: Open) -> None:
    site = serve()
    here = visit(site)
    here.ask("before the login")
    here.sees("before the login", "You said: before the login")
    here.open("/login?name=ada")
    here.open()
    here.sees("before the login", "You said: before the login")
    here.open("/logout")
    here.open()
    here.sees()
    here.open("/login?name=bob")
    here.open()
    here.sees()
    here.ask("hello")
    here.sees("hello", "You said: hello")
    assert site.asked[-1] == [{"role": "user", "content": "hello"}]
    here.page.go_back()
    assert "before the login" not in here.page.content()
