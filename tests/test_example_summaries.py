"""What the example app shows of the summary of a conversation."""

from __future__ import annotations

import collections.abc as cabc
import re

import flask

from example_app.views import PARTS

from .example_site import ask
from .example_site import log_in
from .example_site import make_app as make_app
from .example_site import plain_environment as plain_environment
from .strict_provider import wait_for_summaries

CHAIN = [{"type": "hierarchical", "summary_threshold": 100, "recent": 2}]


def test_the_page_shows_summary_facts_and_size(make_app: cabc.Callable[..., flask.Flask]) -> None:
    app = make_app(CHAT_MEMORY_CHATBOTS={"support": {"short_term": CHAIN}})
    client = app.test_client()
    log_in(client)
    assert "There is no summary" in client.get("/").text
    for text in ("I like <ink>. It is green.", "How long does delivery take?", "Which pens do you have?"):
        ask(client, text)
        wait_for_summaries()
    page = client.get("/").text
    assert "User: I like &lt;ink&gt;." in page
    assert "<li>I like &lt;ink&gt;.</li>" in page
    rows = dict(re.findall(r'<th scope="row">([^<]+)</th><td>([\d,]+)</td>', page))
    assert list(rows) == [
        *PARTS.values(),
        "Kept for the answer",
        "Margin",
        "The bot can take",
        "Questions that did not fit",
    ]
    assert rows["The bot can take"] == "150,000" and rows["Questions that did not fit"] == "0"
    assert all(int(rows[PARTS[name]]) > 0 for name in ("summary", "facts", "history", "question"))


def test_the_bot_knows_the_beginning_of_a_long_conversation(make_app: cabc.Callable[..., flask.Flask]) -> None:
    client = make_app().test_client()
    log_in(client)
    ask(client, "My name is Ada.")
    for number in range(25):
        ask(client, f"What about {number}?")
    assert "Ada" in ask(client, "What is my name?")
