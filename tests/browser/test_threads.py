"""The list of conversations in a real browser."""

from __future__ import annotations

import collections.abc as cabc
import typing as t

import pytest
from flask_wtf.csrf import CSRFProtect
from playwright.sync_api import expect
from playwright.sync_api import Locator
from playwright.sync_api import Page
from playwright.sync_api import Route

from .site import Site
from .test_safety import check
from .visit import Visit

pytestmark = pytest.mark.browser

Serve = cabc.Callable[..., Site]
Open = cabc.Callable[..., Visit]
LIST = "/?threads"


@pytest.fixture
def site(serve: Serve) -> Site:
    return serve(CHAT_MEMORY_OPTIONS={"threads": "many"})


def act(here: Visit, name: str, title: str, page: Page | None = None) -> Locator:
    """Return a button of the thread that has a title; but for opening, it is seen only under the mouse."""
    row = (page or here.page).locator(".chat-memory-thread", has_text=title)
    if name != "open":
        row.hover()
    return row.locator(f"[data-act={name}]")


def lists(here: Visit, *titles: str, current: str | None, page: Page | None = None) -> None:
    """Wait until the list shows just these titles, and marks one as the one that is shown."""
    rows = (page or here.page).locator("[data-act=open]")
    expect(rows).to_have_text(list(titles))
    expect((page or here.page).locator("[data-act=open][aria-current=true]")).to_have_text([current] if current else [])


def ask(here: Visit, text: str, page: Page | None = None) -> None:
    """Ask in a new conversation, and wait for the answer."""
    here.part("new", page).click()
    here.sees(page=page)
    here.ask(text, page)
    here.sees(text, f"You said: {text}", page=page)


@pytest.mark.scenario("D52", "N41")
def test_conversations_are_begun_and_opened_from_the_list(site: Site, visit: Open) -> None:
    here = visit(site, LIST)
    lists(here, current=None)
    here.ask("one")
    here.sees("one", "You said: one")
    lists(here, "one", current="one")
    ask(here, "two")
    lists(here, "two", "one", current="two")
    act(here, "open", "one").click()
    here.sees("one", "You said: one")
    lists(here, "two", "one", current="one")
    expect(here.part("scroll")).to_be_focused()
    expect(here.part("status")).to_have_text("one")
    here.ask("more")
    here.sees("one", "You said: one", "more", "You said: more")
    lists(here, "one", "two", current="one")
    assert [message["content"] for message in site.asked[-1]] == ["one", "You said: one", "more"]
    here.part("new").click()
    here.sees()
    lists(here, "one", "two", current=None)
    act(here, "open", "two").click()
    here.sees("two", "You said: two")
    here.page.reload()
    here.sees("two", "You said: two")
    lists(here, "one", "two", current="two")


def test_a_conversation_is_renamed_where_it_stands(site: Site, visit: Open) -> None:
    here = visit(site, LIST)
    ask(here, "one")
    act(here, "rename", "one").click()
    field = here.page.get_by_label("Title")
    expect(field).to_be_focused()
    expect(field).to_have_value("one")
    field.fill("never mind")
    field.press("Escape")
    lists(here, "one", current="one")
    expect(act(here, "open", "one")).to_be_focused()
    act(here, "rename", "one").click()
    field.fill("<b>My</b> order")
    field.press("Enter")
    lists(here, "<b>My</b> order", current="<b>My</b> order")
    expect(act(here, "open", "order")).to_be_focused()
    expect(act(here, "delete", "order")).to_have_accessible_name("Delete: <b>My</b> order")
    act(here, "rename", "order").click()
    field.fill("Pens")
    here.page.get_by_role("button", name="Save").click()
    here.page.reload()
    lists(here, "Pens", current="Pens")
    act(here, "rename", "Pens").click()
    field.fill(" ")
    field.press("Enter")
    lists(here, "Untitled", current="Untitled")


def test_a_conversation_is_deleted_after_a_question(site: Site, visit: Open) -> None:
    here = visit(site, LIST)
    for text in ("one", "two", "three"):
        ask(here, text)
    act(here, "delete", "two").click()
    question = here.page.get_by_role("group", name="Delete this conversation?")
    expect(question.get_by_role("button", name="Cancel")).to_be_focused()
    question.get_by_role("button", name="Cancel").click()
    lists(here, "three", "two", "one", current="three")
    act(here, "delete", "two").click()
    question.get_by_role("button", name="Delete").click()
    lists(here, "three", "one", current="three")
    expect(act(here, "open", "one")).to_be_focused()
    here.sees("three", "You said: three")
    # That of the page goes like with a reset.
    act(here, "delete", "three").click()
    question.get_by_role("button", name="Delete").click()
    here.sees()
    lists(here, "one", current=None)
    here.ask("four")
    here.sees("four", "You said: four")
    lists(here, "four", "one", current="four")
    assert len(site.asked[-1]) == 1


def test_two_tabs_keep_to_the_conversation_that_each_shows(site: Site, visit: Open) -> None:
    here = visit(site, LIST)
    ask(here, "one")
    ask(here, "two")
    there = here.new_tab()
    here.open(LIST, there)
    act(here, "open", "one", there).click()
    here.sees("one", "You said: one", page=there)
    here.ask("of two")
    here.sees("two", "You said: two", "of two", "You said: of two")
    here.ask("of one", there)
    here.sees("one", "You said: one", "of one", "You said: of one", page=there)
    assert [message["content"] for message in site.asked[-1]] == ["one", "You said: one", "of one"]
    here.ask("wait", there)
    assert site.waiting.wait(10)
    here.part("stop", there).click()
    here.sees("one", "You said: one", "of one", "You said: of one", "wait", "part one,", page=there)
    here.part("reset").click()
    here.sees()
    lists(here, "one", current=None)
    here.open(LIST, there)
    act(here, "open", "one", there).click()
    expect(there.locator("[data-role=user]")).to_have_count(3)


def test_what_another_tab_has_deleted_is_told(site: Site, visit: Open) -> None:
    here = visit(site, LIST)
    ask(here, "one")
    ask(here, "two")
    there = here.new_tab()
    here.open(LIST, there)
    act(here, "delete", "one", there).click()
    there.locator("[data-act=confirm]").click()
    lists(here, "two", current="two", page=there)
    act(here, "open", "one").click()
    expect(here.part("alert")).to_have_text("There is no such conversation.")
    here.sees("two", "You said: two")
    act(here, "rename", "one").click()
    here.page.get_by_label("Title").press("Enter")
    expect(here.part("alert")).to_have_text("There is no such conversation.")


def test_a_conversation_is_opened_in_the_middle_of_an_answer(site: Site, visit: Open) -> None:
    here = visit(site, LIST)
    ask(here, "one")
    here.part("new").click()
    here.sees()
    here.ask("wait")
    assert site.waiting.wait(10)
    act(here, "open", "one").click()
    here.sees("one", "You said: one")
    site.release.set()
    here.ask("more")
    here.sees("one", "You said: one", "more", "You said: more")


def test_an_answer_that_ends_takes_no_title_from_under_the_hands(site: Site, visit: Open) -> None:
    here = visit(site, LIST)
    ask(here, "one")
    here.part("new").click()
    here.sees()
    here.ask("wait")
    assert site.waiting.wait(10)
    act(here, "rename", "one").click()
    here.page.get_by_label("Title").fill("half of a ti")
    with here.page.expect_response("**/threads?*"):
        site.release.set()
    here.sees("wait", "part one, part two")
    here.page.get_by_label("Title").press_sequentially("tle")
    here.page.get_by_label("Title").press("Enter")
    lists(here, "half of a title", current=None)
    here.page.reload()
    lists(here, "wait", "half of a title", current="wait")


def test_a_long_list_is_shown_page_by_page(site: Site, visit: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("flask_chat_memory.web.threads.PAGE", 2)
    here = visit(site, LIST)
    for text in ("one", "two", "three"):
        ask(here, text)
    here.page.reload()
    lists(here, "three", "two", current="three")
    more = here.part("threads-more")
    more.click()
    lists(here, "three", "two", "one", current="three")
    expect(act(here, "open", "one")).to_be_focused()
    expect(more).to_be_hidden()


def test_what_is_pinned_stays_above(site: Site, visit: Open) -> None:
    here = visit(site, LIST)
    for text in ("one", "two", "three"):
        ask(here, text)
    pin = act(here, "pin", "one")
    expect(pin).to_have_attribute("aria-pressed", "false")
    expect(pin).to_have_accessible_name("Pin: one")
    pin.focus()
    here.page.keyboard.press("Enter")
    lists(here, "one", "three", "two", current="three")
    expect(pin).to_be_focused()
    expect(pin).to_have_attribute("aria-pressed", "true")
    here.page.reload()
    lists(here, "one", "three", "two", current="three")
    act(here, "open", "two").click()
    here.sees("two", "You said: two")
    here.ask("more")
    lists(here, "one", "two", "three", current="two")
    # It is seen without the mouse, too.
    here.page.mouse.move(1000, 500)
    sizes = here.page.locator("[data-act=pin]").evaluate_all("buttons => buttons.map((button) => button.offsetWidth)")
    assert sizes == [32, 0, 0]
    act(here, "pin", "one").click()
    lists(here, "two", "three", "one", current="two")
    expect(act(here, "pin", "one")).to_have_attribute("aria-pressed", "false")


def test_what_is_archived_is_in_a_list_of_its_own(site: Site, visit: Open) -> None:
    here = visit(site, LIST)
    for text in ("one", "two", "three"):
        ask(here, text)
    archived = here.page.get_by_role("button", name="Archived")
    expect(act(here, "archive", "two")).to_have_accessible_name("Archive: two")
    act(here, "archive", "two").focus()
    here.page.keyboard.press("Enter")
    lists(here, "three", "one", current="three")
    expect(act(here, "open", "one")).to_be_focused()
    expect(here.part("status")).to_have_text("The conversation is archived.")
    act(here, "rename", "one").click()
    archived.click()
    lists(here, "two", current=None)
    expect(archived).to_have_attribute("aria-pressed", "true")
    act(here, "open", "two").click()
    here.sees("two", "You said: two")
    here.ask("more")
    here.sees("two", "You said: two", "more", "You said: more")
    lists(here, "two", current="two")
    act(here, "rename", "two").click()
    here.page.get_by_label("Title").fill("Two")
    here.page.get_by_label("Title").press("Enter")
    expect(act(here, "archive", "Two")).to_have_accessible_name("Take out of the archive: Two")
    act(here, "archive", "Two").click()
    lists(here, current=None)
    expect(here.part("input")).to_be_focused()
    expect(here.part("status")).to_have_text("The conversation is back in the list.")
    archived.click()
    lists(here, "Two", "three", "one", current="Two")


def test_a_list_that_comes_late_is_not_shown_in_the_place_of_the_other(site: Site, visit: Open) -> None:
    here = visit(site, LIST)
    ask(here, "one")
    held: list[Route] = []
    here.page.route("**/threads?archived=true", lambda route: held.append(route))
    archived = here.page.get_by_role("button", name="Archived")
    with here.page.expect_request("**/threads?archived=true"):
        archived.click()
    with here.page.expect_response("**/threads?archived=false"):
        archived.click()
    with here.page.expect_response("**/threads?archived=true"):
        held[0].continue_()
    here.page.evaluate("new Promise(requestAnimationFrame)")
    lists(here, "one", current="one")


def test_what_another_tab_has_deleted_can_be_neither_pinned_nor_archived(site: Site, visit: Open) -> None:
    here = visit(site, LIST)
    ask(here, "one")
    shown = here.page.locator(".chat-memory-thread").get_attribute("data-id")
    assert here.page.request.delete(f"{site.url}/chat-memory/default/threads/{shown}").ok
    for name in ("pin", "archive"):
        act(here, name, "one").click()
        expect(here.part("alert")).to_have_text("There is no such conversation.")
        lists(here, "one", current="one")
        here.page.evaluate("document.querySelector('chat-memory').say('')")


def test_a_protected_site_takes_changes_also_with_an_old_token(serve: Serve, visit: Open) -> None:
    site = serve(CHAT_MEMORY_OPTIONS={"threads": "many"})
    CSRFProtect(site.app)
    here = visit(site, LIST)
    here.ask("one")
    here.sees("one", "You said: one")
    here.page.evaluate("document.querySelector('chat-memory').dataset.csrfToken = 'old'")
    act(here, "rename", "one").click()
    here.page.get_by_label("Title").fill("Pens")
    here.page.get_by_label("Title").press("Enter")
    lists(here, "Pens", current="Pens")


def test_without_many_conversations_there_is_no_list(serve: Serve, visit: Open) -> None:
    here = visit(serve(), LIST)
    expect(here.page.locator("chat-memory-threads")).to_have_count(0)
    there = visit(serve(CHAT_MEMORY_OPTIONS={"threads": "many"}), "/")
    expect(there.page.locator("chat-memory-threads")).to_have_count(0)
    assert "threads.js" not in there.page.content()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1200])
def test_the_list_is_accessible_in_every_state(site: Site, visit: Open, scheme: t.Any, width: int) -> None:
    here = visit(site, LIST, color_scheme=scheme, viewport={"width": width, "height": 844})
    for text in ("one", "two"):
        ask(here, text)
    check(here)
    if width == 390:
        here.part("threads-toggle").click()
    act(here, "rename", "one").click()
    check(here)
    act(here, "delete", "two").click()
    check(here)
    here.page.keyboard.press("Enter")
    act(here, "pin", "two").click()
    expect(act(here, "pin", "two")).to_have_attribute("aria-pressed", "true")
    check(here)
    act(here, "archive", "two").click()
    here.page.get_by_role("button", name="Archived").click()
    lists(here, "two", current="two")
    check(here)


@pytest.mark.parametrize("direction", ["ltr", "rtl"])
def test_a_phone_shows_the_list_on_demand(site: Site, visit: Open, direction: str) -> None:
    path = f"{LIST}&dir={direction}"
    here = visit(site, path, viewport={"width": 390, "height": 844}, has_touch=True)
    ask(here, "verylongword" * 30)
    ask(here, "two")
    toggle = here.part("threads-toggle")
    expect(toggle).to_have_attribute("aria-expanded", "false")
    expect(act(here, "open", "two")).to_be_hidden()
    toggle.click()
    expect(toggle).to_have_attribute("aria-expanded", "true")
    assert here.page.evaluate("document.documentElement.scrollWidth") <= 390
    for button in here.page.locator(".chat-memory button:visible").all():
        box = button.bounding_box()
        assert box is not None and box["height"] >= 44 and box["width"] >= 44
    act(here, "open", "verylong").click()
    expect(here.page.locator("[data-role=user]")).to_have_count(1)
    expect(act(here, "open", "two")).to_be_hidden()
    expect(here.part("scroll")).to_be_focused()
