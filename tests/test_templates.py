"""``chat_widget()`` and ``chat_history()``."""

from __future__ import annotations

import html
import html.parser
import json
import typing as t

import flask
import jinja2
import pytest

from flask_chat_memory import ConfigurationError
from flask_chat_memory.web.templating import chat_history

from .apps import Site
from .conftest import MakeSite

PAYLOADS = [
    "<script>alert(1)</script>",
    "</script><script>alert(1)</script>",
    "<!--<script>",
    "-->",
    "]]>",
    "<img src=x onerror=alert(1)>",
    "</div></chat-memory><h1>mine</h1>",
    '" onmouseover="alert(1)',
    "' onmouseover='alert(1)",
    "</textarea><svg onload=alert(1)>",
    "</template><iframe srcdoc='<script>alert(1)</script>'>",
    "javascript:alert(1)",
    "{{ 7*7 }}{% raw %}${7*7}",
    "&lt;b&gt; &amp;amp; &#60;",
    "line\u2028separator\u2029here",
    "\u202eevil\u202c\u200b",
    "a\x00b\x1b[31m",
    "\ud800",
    "data: [DONE]\n\ndata: x",
]


class Tags(html.parser.HTMLParser):
    """Counts tags with the names of their attributes, and collects text."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, tuple[str, ...]]] = []
        self.texts: list[str] = []
        self.attributes: dict[str, str | None] = {}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, tuple(name for name, _ in attrs)))
        if tag == "chat-memory":
            self.attributes = dict(attrs)

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def parse(page: str) -> Tags:
    parser = Tags()
    parser.feed(page)
    parser.close()
    return parser


@pytest.mark.scenario("S154", "S155", "S156", "D30")
@pytest.mark.parametrize("payload", PAYLOADS)
def test_text_of_visitor_and_model_is_inert_in_the_page(site: Site, payload: str) -> None:
    site.answer = lambda turn: turn.text
    harmless, hostile = site.browser(), site.browser()
    harmless.ask("harmless")
    hostile.ask(f"x{payload}")
    page = hostile.client.get("/").text
    parsed = parse(page)
    assert parsed.tags == parse(harmless.client.get("/").text).tags
    assert page.count("</script>") == 1
    stored = hostile.texts()[0]
    assert parsed.texts.count(stored) == 2


@pytest.mark.scenario("S155")
@pytest.mark.parametrize("payload", PAYLOADS)
def test_text_of_visitor_and_model_comes_back_from_json(site: Site, payload: str) -> None:
    site.answer = lambda turn: turn.text
    browser = site.browser()
    browser.ask(f"x{payload}")
    expected = f"x{payload}".replace("\x00", "\ufffd").replace("\ud800", "\ufffd")
    response = browser.client.get("/chat-memory/default/history")
    assert response.mimetype == "application/json"
    assert browser.texts() == [expected, expected]
    island = browser.client.get("/bubbles").text
    assert "<" not in island and "\u2028" not in island
    assert [bubble["text"] for bubble in json.loads(island)] == [expected, expected]


@pytest.mark.parametrize("payload", PAYLOADS[:13])
def test_texts_of_the_site_are_inert_too(new_site: MakeSite, payload: str) -> None:
    def page(text: str) -> Tags:
        site = new_site(CHAT_MEMORY_CHATBOTS={"default": {"greeting": text}})
        template = "{{ chat_widget(title=text, labels={'send': text, 'error': text}, nonce=text) }}"
        with site.app.test_request_context("/"):
            return parse(flask.render_template_string(template, text=text))

    parsed = page(payload)
    assert parsed.tags == page("harmless").tags
    assert parsed.attributes["data-greeting"] == payload
    assert json.loads(t.cast(str, parsed.attributes["data-labels"]))["send"] == payload


def test_a_hostile_thread_id_in_the_query_does_not_reach_the_page(site: Site) -> None:
    page = site.app.test_client().get("/?thread_id=%22%3E%3Cscript%3E").text
    assert page.count("<script") == 1


@pytest.mark.scenario("D27")
def test_the_history_of_the_page_is_shown_once_and_after_every_reload(new_site: MakeSite) -> None:
    site = new_site(CHAT_MEMORY_CHATBOTS={"default": {"greeting": "Welcome!"}})
    browser = site.browser()
    assert "Welcome!" in parse(browser.client.get("/").text).texts
    browser.ask("a question")
    for _ in range(3):
        texts = parse(browser.client.get("/").text).texts
        assert [texts.count(text) for text in ("a question", "You said: a question", "Welcome!")] == [1, 1, 1]
    browser.reset()
    texts = parse(browser.client.get("/").text).texts
    assert texts.count("Welcome!") == 1 and "a question" not in texts


def test_the_page_tells_the_widget_where_it_is(new_site: MakeSite) -> None:
    site = new_site(CHAT_MEMORY_PRELOAD=2, CHAT_MEMORY_OPTIONS={"threads": "many"})
    browser = site.browser()
    for number in range(3):
        browser.ask(f"question {number}")
    attributes = parse(browser.client.get("/").text).attributes
    history = browser.history()
    assert attributes["data-mode"] == "server"
    assert attributes["data-thread-id"] == history["thread_id"]
    assert attributes["data-cursor"] == str(history["cursor"])
    assert attributes["data-messages-url"] == "/chat-memory/default/messages"


def test_urls_follow_the_place_where_the_app_is_mounted(site: Site) -> None:
    page = site.app.test_client().get("/", base_url="http://localhost/shop").text
    assert parse(page).attributes["data-messages-url"] == "/shop/chat-memory/default/messages"


@pytest.mark.scenario("S144", "D32")
def test_a_page_that_shows_the_chat_is_private_and_others_are_untouched(site: Site) -> None:
    client = site.app.test_client()
    for path in ("/", "/bubbles"):
        response = client.get(path)
        assert response.headers["Cache-Control"] == "private, no-store"
        assert "Cookie" in response.headers["Vary"]
    plain = client.get("/plain")
    assert "Cache-Control" not in plain.headers
    assert "Vary" not in plain.headers


def test_the_functions_are_seen_by_imported_macros(site: Site) -> None:
    site.app.jinja_loader = jinja2.DictLoader({"macros.html": "{% macro chat() %}{{ chat_widget() }}{% endmacro %}"})
    with site.app.test_request_context("/"):
        page = flask.render_template_string("{% from 'macros.html' import chat %}{{ chat() }}")
    assert "<chat-memory" in page


@pytest.mark.scenario("D28")
def test_history_can_be_limited(site: Site) -> None:

    @site.app.get("/newest/<int:limit>")
    def newest(limit: int) -> flask.Response:
        return flask.jsonify(chat_history(limit=limit))

    browser = site.browser()
    for number in range(3):
        browser.ask(f"question {number}")
    assert [item["text"] for item in browser.client.get("/newest/2").json or ()] == [
        "question 2",
        "You said: question 2",
    ]
    assert browser.client.get("/newest/0").json == []
    assert len(browser.client.get("/newest/500").json or ()) == 6


@pytest.mark.parametrize(
    ("call", "named"),
    [
        ("chat_widget('nobody')", "nobody"),
        ("chat_history('nobody')", "nobody"),
        ("chat_widget(labels={'sned': 'x'})", "sned"),
    ],
)
def test_a_wrong_call_is_told_with_what_is_allowed(site: Site, call: str, named: str) -> None:
    with site.app.test_request_context("/"), pytest.raises(ConfigurationError, match=named) as caught:
        flask.render_template_string("{{ " + call + " }}")
    assert "default" in str(caught.value) or "send" in str(caught.value)


def test_the_widget_needs_the_routes(new_site: MakeSite) -> None:
    site = new_site(CHAT_MEMORY_URL_PREFIX=None)
    with site.app.test_request_context("/"), pytest.raises(ConfigurationError, match="CHAT_MEMORY_URL_PREFIX"):
        flask.render_template_string("{{ chat_widget() }}")


def test_the_files_of_the_widget_can_be_fetched_and_kept(site: Site) -> None:
    client = site.app.test_client()
    page = client.get("/").text
    for marker in ('<script type="module" src="', '<link rel="stylesheet" href="'):
        address = html.unescape(page.split(marker)[1].split('"')[0])
        with client.get(address) as response:
            assert response.status_code == 200
            assert "no-store" not in response.headers.get("Cache-Control", "")


def test_every_script_and_style_carries_the_nonce(site: Site) -> None:
    with site.app.test_request_context("/"):
        page = flask.render_template_string("{{ chat_widget(nonce='abc') }}")
    for tag, names in parse(page).tags:
        if tag in ("script", "style", "link"):
            assert "nonce" in names
        assert "style" not in names and not any(name.startswith("on") for name in names)
