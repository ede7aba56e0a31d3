"""A real browser and a real server for the tests of this folder."""

from __future__ import annotations

import collections.abc as cabc
import os
import pathlib

import pytest
from playwright.sync_api import Browser
from playwright.sync_api import sync_playwright

from .site import Served
from .site import Site
from .visit import Visit

CHROMIUM = "/usr/bin/chromium"
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


# Not for the session: Playwright's event loop would be in the way of tests that run one of their own.
@pytest.fixture(scope="package")
def browser() -> cabc.Iterator[Browser]:
    """Start Chromium; without it the tests are skipped, unless the environment says that they must run."""
    if not os.path.exists(CHROMIUM):
        reason = f"there is no {CHROMIUM}"
        if os.environ.get("CHAT_MEMORY_REQUIRE_BROWSER"):
            pytest.fail(reason)
        pytest.skip(reason)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture
def visit(browser: Browser) -> cabc.Iterator[cabc.Callable[..., Visit]]:
    """Open pages as visitors with cookies of their own; what a page must not do fails the test."""
    visits: list[Visit] = []

    def open_visit(site: Served, path: str = "/", **options: object) -> Visit:
        visits.append(Visit(browser, site.url, **options))
        visits[-1].open(path)
        return visits[-1]

    yield open_visit
    for opened in visits:
        opened.close()


@pytest.fixture
def serve(tmp_path: pathlib.Path) -> cabc.Iterator[cabc.Callable[..., Site]]:
    """Serve sites with a configuration of their own."""
    sites: list[Site] = []

    def start(**config: object) -> Site:
        sites.append(Site(tmp_path / f"site-{len(sites)}", config))
        return sites[-1]

    yield start
    for site in sites:
        site.close()
