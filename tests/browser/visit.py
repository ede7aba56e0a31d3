"""A visitor's page, watched for everything that it must not do."""

from __future__ import annotations

import typing as t

from playwright.sync_api import Browser
from playwright.sync_api import expect
from playwright.sync_api import Locator
from playwright.sync_api import Page
from playwright.sync_api import Request

WATCH_POLICY = """
document.addEventListener("securitypolicyviolation", (event) => {
  console.error("policy violation: " + event.violatedDirective + " " + event.blockedURI)
})
"""


class Visit:
    """A browser context with one page, and the parts of the chat on it."""

    def __init__(self, browser: Browser, url: str, **options: t.Any) -> None:
        self.url = url
        self.complaints: list[str] = []
        self.context = browser.new_context(**options)
        self.context.add_init_script(WATCH_POLICY)
        self.page = self.new_tab()

    def new_tab(self) -> Page:
        page = self.context.new_page()
        page.on("pageerror", lambda error: self.complaints.append(f"error: {error}"))
        page.on("dialog", lambda dialog: self.complaints.append(f"dialog: {dialog.message}"))
        page.on("request", self._watch_request)
        page.on("console", self._watch_console)
        return page

    def open(self, path: str = "/", page: Page | None = None) -> None:
        (page or self.page).goto(self.url + path)

    def close(self) -> None:
        self.context.close()
        assert self.complaints == []

    def ask(self, text: str, page: Page | None = None) -> None:
        """Send a question, without waiting for the answer."""
        field = self.part("input", page)
        field.fill(text)
        field.press("Enter")

    def part(self, name: str, page: Page | None = None) -> Locator:
        return (page or self.page).locator(f".chat-memory-{name}").first

    def sees(self, *texts: str, page: Page | None = None) -> None:
        """Wait until the bubbles show just these texts, and the chat is idle."""
        target = page or self.page
        expect(target.locator(".chat-memory-message .chat-memory-text")).to_have_text(list(texts), use_inner_text=True)
        expect(self.part("stop", target)).to_be_hidden()

    def _watch_request(self, request: Request) -> None:
        if not request.url.startswith(self.url):
            self.complaints.append(f"request: {request.url}")

    def _watch_console(self, message: t.Any) -> None:
        # A refused or failed request is reported by the browser itself.
        if message.type == "error" and "Failed to load resource" not in message.text:
            self.complaints.append(f"console: {message.text}")
