"""The page of the example app on which visitors download and delete what is stored of them."""

from __future__ import annotations

import re

import pytest
from flask.testing import FlaskClient

from .example_site import app as app
from .example_site import ask
from .example_site import client as client
from .example_site import log_in
from .example_site import make_app as make_app
from .example_site import plain_environment as plain_environment
from .example_site import shown

PAGE = "/my-data"


def test_a_visitor_whom_nobody_knows_has_nothing_and_gets_no_cookie(client: FlaskClient) -> None:
    for page in (client.get(PAGE), client.post(PAGE)):
        assert "Nothing is stored of you" in page.text
        assert "<form" not in page.text
    assert client.get_cookie("session") is None


@pytest.mark.parametrize("logged_in", [False, True])
def test_all_three_downloads_hold_what_was_said(client: FlaskClient, logged_in: bool) -> None:
    if logged_in:
        log_in(client)
    ask(client, "Remember that I write with green ink")
    links = re.findall(r'href="(/chat-memory/privacy/export[^"]*)"', client.get(PAGE).text)
    assert len(links) == 3
    for link in links:
        response = client.get(link)
        assert response.headers["Content-Disposition"].startswith("attachment")
        assert response.text.count("green ink") >= 2


def test_after_the_deletion_an_anonymous_visitor_is_unknown(client: FlaskClient) -> None:
    ask(client, "hello")
    page = client.get(PAGE)
    found = re.search(r'name="csrf_token"[^>]* value="([^"]+)"', page.text)
    assert found is not None
    assert client.post(PAGE).status_code == 422
    assert client.post(PAGE, data={"csrf_token": found[1]}).location == PAGE
    assert "Nothing is stored of you" in client.get(PAGE).text
    assert shown(client) == []
