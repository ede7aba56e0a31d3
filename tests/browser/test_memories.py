"""What the example app remembers, on a narrow screen."""

from __future__ import annotations

import collections.abc as cabc
import pathlib
import re

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from example_app import create_app

from .site import Served
from .visit import Visit

pytestmark = pytest.mark.browser


def test_a_memory_is_seen_changed_and_deleted(visit: cabc.Callable[..., Visit], tmp_path: pathlib.Path) -> None:
    served = Served(create_app({"BOT_DELAY": 0}, instance_path=str(tmp_path)))
    try:
        here = visit(served, viewport={"width": 390, "height": 800})
        page = here.page
        here.ask("Remember that I write with green ink")
        expect(page.locator(".chat-memory-text").last).to_have_text("I will remember that.")
        page.get_by_role("link", name="See, change or delete it").click()
        expect(page.get_by_role("listitem")).to_have_text(re.compile("I write with green ink"))

        page.get_by_label("What to remember").fill("<b>long</b> " + "x" * 300)
        page.get_by_role("button", name="Add").click()
        expect(page.get_by_role("listitem")).to_have_count(2)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        assert Axe().run(page).response["violations"] == []

        page.get_by_role("link", name="Change “I write with green ink”").click()
        page.get_by_label("What to remember").fill("I write with blue ink")
        assert Axe().run(page).response["violations"] == []
        page.get_by_role("button", name="Save").click()
        expect(page.get_by_role("listitem").first).to_have_text(re.compile("I write with blue ink"))

        page.get_by_role("button", name="Delete “I write with blue ink”").click()
        expect(page.get_by_role("listitem")).to_have_count(1)

        page.get_by_role("link", name="Download or delete all of your data").click()
        assert Axe().run(page).response["violations"] == []
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        with page.expect_download() as download:
            page.get_by_role("link", name="A page to read").click()
        exported = tmp_path / "my-data.html"
        download.value.save_as(exported)
        page.get_by_role("button", name="Delete everything").click()
        expect(page.get_by_role("status")).to_have_text("Everything that was stored of you is deleted.")

        assert page.context.browser is not None
        with page.context.browser.new_page(viewport={"width": 390, "height": 800}) as file:
            file.goto(exported.as_uri())
            expect(file.locator("pre", has_text="Remember that I write with green ink").first).to_be_visible()
            assert file.evaluate("document.documentElement.scrollWidth") <= 390
            assert Axe().run(file).response["violations"] == []
    finally:
        served.close()
