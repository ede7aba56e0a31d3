"""The search above the list of conversations in a real browser."""

from __future__ import annotations

import collections.abc as cabc
import typing as t

import pytest
from playwright.sync_api import expect
from playwright.sync_api import Locator

from .site import Site
from .test_safety import check
from .test_safety import PAYLOADS
from .test_threads import ask
from .test_threads import LIST
from .test_threads import lists
from .visit import Visit

pytestmark = pytest.mark.browser

Serve = cabc.Callable[..., Site]
Open = cabc.Callable[..., Visit]


@pytest.fixture
def site(serve: Serve) -> Site:
    return serve(CHAT_MEMORY_OPTIONS={"threads": "many"})


def results(here: Visit) -> Locator:
    return here.page.locator(".chat-memory-threads-results button")


def told(here: Visit, text: str) -> None:
    expect(here.part("threads-found")).to_have_text(text)


def test_a_conversation_is_found_and_opened(site: Site, visit: Open) -> None:
    here = visit(site, LIST)
    ask(here, "Where are my pens?")
    here.ask("Thank you")
    here.sees("Where are my pens?", "You said: Where are my pens?", "Thank you", "You said: Thank you")
    ask(here, "Café hours")
    field = here.page.get_by_role("searchbox", name="Search")
    field.press_sequentially("cafe")
    told(here, "Found: 2")
    expect(here.page.locator("[data-act=open]:visible")).to_have_count(0)
    field.fill("PENS")
    told(here, "Found: 2")
    expect(results(here).first).to_contain_text("Where are my pens?You said: Where are my pens?")
    here.page.keyboard.press("Tab")
    expect(results(here).first).to_be_focused()
    here.page.keyboard.press("Enter")
    here.sees("Where are my pens?", "You said: Where are my pens?", "Thank you", "You said: Thank you")
    expect(here.part("scroll")).to_be_focused()
    expect(field).to_have_value("PENS")
    field.press("Escape")
    expect(field).to_have_value("")
    expect(results(here)).to_have_count(0)
    told(here, "")
    lists(here, "Café hours", "Where are my pens?", current="Where are my pens?")


def test_what_is_not_found_and_what_is_left_out_is_told(site: Site, visit: Open) -> None:
    here = visit(site, LIST)
    ask(here, "one")
    field = here.page.get_by_role("searchbox", name="Search")
    field.fill("two")
    told(here, "Nothing found")
    here.page.route("**/search?*", lambda route: route.fulfill(json={"results": [], "complete": False}))
    field.fill("one")
    told(here, "Nothing found. There may be more.")
    here.page.unroute_all()
    field.fill("o" * 201)
    expect(here.part("alert")).to_have_text("Search for 1 to 200 characters.")


def test_payloads_stay_text_in_results_and_titles(site: Site, visit: Open) -> None:
    here = visit(site, LIST)
    for payload in PAYLOADS:
        here.part("new").click()
        here.sees()
        here.ask(f"echo found {payload}")
        expect(here.page.locator(".chat-memory-message")).to_have_count(2)
        expect(here.part("stop")).to_be_hidden()
    here.page.get_by_role("searchbox", name="Search").fill("found")
    told(here, f"Found: {2 * len(PAYLOADS)}")
    expect(results(here)).to_have_count(2 * len(PAYLOADS))
    assert here.page.locator(".chat-memory-threads :is(img, script, svg, iframe, details, a)").count() == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(("width", "direction"), [(390, "ltr"), (390, "rtl"), (1200, "ltr")])
def test_it_is_accessible(site: Site, visit: Open, scheme: t.Any, width: int, direction: str) -> None:
    path = f"{LIST}&dir={direction}"
    here = visit(site, path, color_scheme=scheme, viewport={"width": width, "height": 844})
    ask(here, "verylongword" * 30)
    if width == 390:
        here.part("threads-toggle").click()
    here.page.get_by_role("searchbox", name="Search").fill("long")
    told(here, "Found: 2")
    check(here)
    assert here.page.evaluate("document.documentElement.scrollWidth") <= width
