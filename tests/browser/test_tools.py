"""The tools below messages in a real browser: regenerate, edit, versions, ratings."""

from __future__ import annotations

import collections.abc as cabc
import typing as t

import pytest
from playwright.sync_api import expect
from playwright.sync_api import Locator

from .site import Site
from .test_safety import check
from .test_safety import PAYLOADS
from .visit import Visit

pytestmark = pytest.mark.browser

Serve = cabc.Callable[..., Site]
Open = cabc.Callable[..., Visit]
PAGE = "/?tools"


@pytest.fixture
def site(serve: Serve) -> Site:
    return serve()


def tool(here: Visit, name: str, bubble: int = -1) -> Locator:
    """Return a tool of a message; but for the last, they are seen only under the mouse."""
    message = here.page.locator(".chat-memory-message").nth(bubble)
    message.hover()
    return message.get_by_role("button", name=name, exact=True)


def shows_version(here: Visit, *versions: str) -> None:
    expect(here.page.locator(".chat-memory-versions:visible > span")).to_have_text(list(versions))


def test_an_answer_is_regenerated_and_the_former_one_can_be_gone_back_to(site: Site, visit: Open) -> None:
    here = visit(site, PAGE)
    here.ask("count")
    here.sees("count", "Asked 1")
    shows_version(here)
    tool(here, "Regenerate").click()
    here.sees("count", "Asked 2")
    assert [message["content"] for message in site.asked[-1]] == ["count"]
    expect(here.part("input")).to_be_focused()
    shows_version(here, "2/2")
    tool(here, "Previous version", 0).click()
    here.sees("count", "Asked 1")
    shows_version(here, "1/2")
    expect(tool(here, "Previous version", 0)).to_be_focused()
    expect(here.part("status")).to_contain_text("1/2")
    here.page.reload()
    here.sees("count", "Asked 1")
    shows_version(here, "1/2")
    here.ask("count")
    here.sees("count", "Asked 1", "count", "Asked 3")
    tool(here, "Next version", 0).click()
    here.sees("count", "Asked 2")
    expect(here.page.get_by_role("button", name="Regenerate")).to_have_count(1)


def test_an_edited_question_begins_a_line_of_its_own(site: Site, visit: Open) -> None:
    here = visit(site, PAGE)
    here.ask("one")
    here.sees("one", "You said: one")
    here.ask("two")
    here.sees("one", "You said: one", "two", "You said: two")
    tool(here, "Edit", 0).click()
    field = here.page.get_by_label("Edit your message")
    expect(field).to_be_focused()
    expect(field).to_have_value("one")
    field.fill("never mind")
    field.press("Escape")
    here.sees("one", "You said: one", "two", "You said: two")
    expect(tool(here, "Edit", 0)).to_be_focused()
    here.page.keyboard.press("Enter")
    field.fill("first line")
    field.press("Shift+Enter")
    here.page.keyboard.type("second")
    field.press("Enter")
    here.sees("first line\nsecond", "You said: first line\nsecond")
    assert len(site.asked[-1]) == 1
    shows_version(here, "2/2")
    tool(here, "Next version", 0).click()
    here.sees("one", "You said: one", "two", "You said: two")
    here.page.reload()
    here.sees("one", "You said: one", "two", "You said: two")
    shows_version(here, "1/2")


def test_what_is_refused_leaves_what_was_there(site: Site, visit: Open) -> None:
    here = visit(site, PAGE)
    here.ask("one")
    here.sees("one", "You said: one")
    here.context.set_offline(True)
    tool(here, "Regenerate").click()
    expect(here.part("alert")).not_to_be_empty()
    here.sees("one", "You said: one")
    tool(here, "Edit", 0).click()
    field = here.page.get_by_label("Edit your message")
    field.fill("two")
    field.press("Enter")
    expect(field).to_have_value("two")
    expect(field).to_be_focused()
    here.context.set_offline(False)
    field.press("Enter")
    here.sees("two", "You said: two")


def test_a_new_answer_is_stopped(site: Site, visit: Open) -> None:
    here = visit(site, PAGE)
    here.ask("one")
    here.sees("one", "You said: one")
    tool(here, "Edit", 0).click()
    here.page.get_by_label("Edit your message").fill("wait")
    here.page.get_by_label("Edit your message").press("Enter")
    assert site.waiting.wait(10)
    expect(here.page.locator("[data-role=ai] .chat-memory-text")).to_have_text("part one,")
    expect(here.page.locator(".chat-memory-tools:visible")).to_have_count(0)
    here.part("stop").click()
    here.sees("wait", "part one,")
    site.release.set()
    expect(here.page.locator("[data-role=ai]")).to_have_attribute("data-status", "stopped")
    shows_version(here, "2/2")


def test_a_rating_survives_the_reload_and_can_be_taken_back(site: Site, visit: Open) -> None:
    here = visit(site, PAGE)
    here.ask("one")
    here.sees("one", "You said: one")
    for clicked, good, bad in (("Bad answer", "false", "true"), ("Good answer", "true", "false")):
        tool(here, clicked).click()
        expect(tool(here, clicked)).to_have_attribute("aria-pressed", "true")
        here.page.reload()
        expect(tool(here, "Good answer")).to_have_attribute("aria-pressed", good)
        expect(tool(here, "Bad answer")).to_have_attribute("aria-pressed", bad)
    tool(here, "Good answer").click()
    expect(here.part("status")).to_have_text("Your rating is taken back.")
    here.page.reload()
    expect(tool(here, "Good answer")).to_have_attribute("aria-pressed", "false")


def test_payloads_stay_text_in_an_edit(site: Site, visit: Open) -> None:
    payload = " ".join(PAYLOADS)
    here = visit(site, PAGE)
    here.ask("echo one")
    here.sees("echo one", "one")
    tool(here, "Edit", 0).click()
    here.page.get_by_label("Edit your message").fill(f"echo {payload}")
    here.page.get_by_label("Edit your message").press("Enter")
    shows_version(here, "2/2")
    here.page.reload()
    shows_version(here, "2/2")
    tool(here, "Edit", 0).click()
    expect(here.page.get_by_label("Edit your message")).to_have_value(f"echo {payload}")
    assert here.page.locator(".chat-memory-message :is(img, script, iframe, details)").count() == 0


def test_only_what_the_plugin_can_do_is_offered(serve: Serve, visit: Open) -> None:
    for config, path in (
        ({"CHAT_MEMORY_PLUGIN": None}, PAGE),
        ({"CHAT_MEMORY_PLUGIN": "tests.five_methods:FiveMethodsPlugin"}, PAGE),
        ({}, "/"),
    ):
        here = visit(serve(**config), path)
        here.ask("one")
        here.sees("one", "You said: one")
        expect(here.page.locator(".chat-memory-message button")).to_have_count(0)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("direction", ["ltr", "rtl"])
def test_a_phone_shows_them_accessible_and_within_reach(site: Site, visit: Open, scheme: t.Any, direction: str) -> None:
    phone = {"width": 390, "height": 844}
    here = visit(site, f"{PAGE}&dir={direction}", viewport=phone, has_touch=True, is_mobile=True, color_scheme=scheme)
    here.ask("count")
    here.sees("count", "Asked 1")
    tool(here, "Regenerate").click()
    here.sees("count", "Asked 2")
    tool(here, "Good answer").click()
    expect(tool(here, "Good answer")).to_have_attribute("aria-pressed", "true")
    check(here)
    for button in here.page.locator(".chat-memory button:visible").all():
        box = button.bounding_box()
        assert box is not None and box["height"] >= 44 and box["width"] >= 44
    tool(here, "Edit", 0).click()
    check(here)
    assert here.page.evaluate("document.documentElement.scrollWidth") <= 390
