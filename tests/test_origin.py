"""Requests that another site makes in the visitor's name."""

from __future__ import annotations

import pytest
from werkzeug.middleware.proxy_fix import ProxyFix

from .apps import Site
from .conftest import MakeSite

ROUTES = ["default/messages", "default/reset", "default/threads", "default/threads/x/open"]


def status(site: Site, headers: dict[str, str], path: str = "default/reset") -> int:
    return site.app.test_client().post(f"/chat-memory/{path}", headers=headers).status_code


@pytest.mark.parametrize(
    ("header", "passes"),
    [
        ("same-origin", True),
        ("none", True),
        ("same-site", False),
        ("cross-site", False),
        ("", False),
        ("Same-Origin", False),
        ("anything", False),
    ],
)
def test_sec_fetch_site_decides_alone(site: Site, header: str, passes: bool) -> None:
    expected = 200 if passes else 403
    assert status(site, {"Sec-Fetch-Site": header}) == expected
    assert status(site, {"Sec-Fetch-Site": header, "Origin": "http://localhost"}) == expected
    assert status(site, {"Sec-Fetch-Site": header, "Origin": "https://evil.example"}) == expected


@pytest.mark.parametrize(
    ("host", "origin", "passes"),
    [
        ("chat.example", "http://chat.example", True),
        ("chat.example", "https://chat.example", True),
        ("chat.example", "https://CHAT.example", True),
        ("CHAT.example", "https://chat.example", True),
        ("chat.example", "http://chat.example:80", True),
        ("chat.example", "https://chat.example:443", True),
        ("chat.example:443", "https://chat.example", True),
        ("chat.example:80", "http://chat.example", True),
        ("chat.example:8000", "http://chat.example:8000", True),
        ("chat.example:8000", "https://chat.example:8000", True),
        ("127.0.0.1:5000", "http://127.0.0.1:5000", True),
        ("[::1]:5000", "http://[::1]:5000", True),
        ("chat.example", "https://evil.example", False),
        ("chat.example", "https://chat.example.evil.example", False),
        ("chat.example", "https://evilchat.example", False),
        ("chat.example", "https://www.chat.example", False),
        ("chat.example", "http://chat.example:8000", False),
        ("chat.example:8000", "http://chat.example", False),
        ("chat.example:8000", "http://chat.example:8001", False),
        ("chat.example", "https://chat.example@evil.example", False),
        ("chat.example", "null", False),
        ("chat.example", "", False),
        ("chat.example", "chat.example", False),
        ("chat.example", "file://", False),
        ("chat.example", "http://[", False),
        ("chat.example", "http://chat.example:port", False),
        ("chat.example", "http://chat.example:99999", False),
        ("chat.example:99999", "http://chat.example", False),
        ("[::1", "http://chat.example", False),
        ("chat.example:port", "http://chat.example", False),
    ],
)
def test_without_it_host_and_port_of_the_origin_must_be_the_requests(
    site: Site, host: str, origin: str, passes: bool
) -> None:
    site.app.config["PROPAGATE_EXCEPTIONS"] = False
    code = status(site, {"Host": host, "Origin": origin})
    assert code == 200 if passes else code in (400, 403)


def test_a_client_that_sends_neither_is_no_browser(site: Site) -> None:
    assert status(site, {}) == 200


@pytest.mark.parametrize("path", ROUTES)
def test_every_changing_route_refuses_other_sites_and_changes_nothing(new_site: MakeSite, path: str) -> None:
    site = new_site(CHAT_MEMORY_OPTIONS={"threads": "many"})
    browser = site.browser()
    browser.ask("hello")
    kept = browser.kept()
    for headers in ({"Sec-Fetch-Site": "cross-site"}, {"Origin": "https://evil.example"}):
        response = browser.client.post(
            f"/chat-memory/{path}", json={"messages": [{"role": "user", "text": "forged"}]}, headers=headers
        )
        assert response.status_code == 403
        assert response.json == {"error": "The request came from another site."}
        assert response.headers["Cache-Control"] == "private, no-store"
        assert response.headers.getlist("Set-Cookie") == []
    assert browser.kept() == kept
    assert browser.texts() == ["hello", "You said: hello"]


def test_reading_is_not_refused_for_a_link_from_elsewhere(site: Site) -> None:
    headers = {"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"}
    assert site.app.test_client().get("/chat-memory/default/history", headers=headers).status_code == 200
    assert site.app.test_client().get("/", headers=headers).status_code == 200


def test_a_proxy_that_ends_tls_and_tells_the_host_is_understood(site: Site) -> None:
    app = site.app
    app.wsgi_app = ProxyFix(app.wsgi_app, x_host=1, x_proto=1)  # type: ignore[method-assign]
    forwarded = {"Host": "10.0.0.1:8000", "X-Forwarded-Host": "chat.example", "X-Forwarded-Proto": "https"}
    assert status(site, {**forwarded, "Origin": "https://chat.example"}) == 200
    assert status(site, {**forwarded, "Origin": "https://evil.example"}) == 403
    assert status(site, {**forwarded, "Origin": "http://10.0.0.1:8000"}) == 403
