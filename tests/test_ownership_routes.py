"""Every route, asked by everybody who should not be answered."""

from __future__ import annotations

import collections.abc as cabc
import dataclasses
import re
import typing as t

import pytest
import werkzeug.test

from flask_chat_memory import Scope
from flask_chat_memory.testing.contracts.parts import AblePlugin
from flask_chat_memory.testing.contracts.parts import contents

from .apps import Browser
from .apps import ManualClock
from .apps import Site
from .conftest import MakeSite

EXPIRY = 1_000
UNKNOWN = "nobody-has-this-id"


@dataclasses.dataclass
class Named:
    """What a request names."""

    thread: str
    question: str
    answer: str


Send = cabc.Callable[[Browser, str, Named], werkzeug.test.TestResponse]


def get(path: str, **names: str) -> Send:
    """Send a query with these of what is named."""
    return lambda browser, chatbot, named: browser.client.get(
        f"/chat-memory/{chatbot}/{path.format(named=named)}",
        query_string={name: value.format(named=named) for name, value in names.items()},
        buffered=True,
    )


def post(path: str, **body: t.Any) -> Send:
    def send(browser: Browser, chatbot: str, named: Named) -> werkzeug.test.TestResponse:
        filled = {name: value.format(named=named) if isinstance(value, str) else value for name, value in body.items()}
        return browser.post(f"{chatbot}/{path.format(named=named)}", filled, buffered=True)

    return send


THREAD, QUESTION, ANSWER = "{named.thread}", "{named.question}", "{named.answer}"
ROUTES: dict[tuple[str, str], Send] = {
    ("GET", "history"): get("history", thread_id=THREAD),
    ("POST", "messages"): post("messages", messages=[{"role": "user", "text": "hello"}], thread_id=THREAD),
    ("POST", "reset"): post("reset", thread_id=THREAD),
    ("POST", "stop"): post("stop", thread_id=THREAD, question_id=QUESTION),
    ("GET", "resume"): get("resume", thread_id=THREAD, question_id=QUESTION),
    ("GET", "threads"): get("threads"),
    ("POST", "threads"): post("threads", thread_id=THREAD),
    ("PATCH", "threads/<thread_id>"): lambda browser, chatbot, named: browser.change(named.thread, chatbot, title="x"),
    ("DELETE", "threads/<thread_id>"): lambda browser, chatbot, named: browser.delete(named.thread, chatbot),
    ("POST", "threads/<thread_id>/open"): post(f"threads/{THREAD}/open"),
    ("POST", "regenerate"): post("regenerate", thread_id=THREAD),
    ("POST", "edit"): post("edit", thread_id=THREAD, question_id=QUESTION, text="other"),
    ("POST", "switch"): post("switch", thread_id=THREAD, version=1),
    ("POST", "undo"): post("undo", thread_id=THREAD, question_id=QUESTION),
    ("GET", "search"): get("search", text="secret"),
    ("POST", "feedback"): post("feedback", thread_id=THREAD, message_id=ANSWER, rating=-1),
}
"""Method and path behind the chatbot -> the request."""


@pytest.fixture
def site(new_site: MakeSite) -> Site:
    options = {"threads": "many", "expiry": EXPIRY}
    chatbots: dict[str, t.Any] = {"default": {}, "support": {}}
    site = new_site(login=True, CHAT_MEMORY_OPTIONS=options, CHAT_MEMORY_CHATBOTS=chatbots)
    site.set_clock()
    return site


@pytest.fixture
def ann(site: Site) -> Browser:
    browser = site.browser()
    browser.login("ann")
    return browser


@pytest.fixture
def named(ann: Browser) -> Named:
    """A conversation with a secret."""
    ann.ask("the secret question")
    asked = ann.ask("the last secret question").json
    assert asked is not None
    assert ann.change(asked["thread_id"], title="the secret title").status_code == 200
    return Named(asked["thread_id"], *(message["id"] for message in ann.history()["messages"][-2:]))


def stranger(site: Site, _ann: Browser) -> tuple[Browser, str]:
    bob = site.browser()
    bob.login("bob")
    return bob, "default"


def anonymous_visitor(site: Site, _ann: Browser) -> tuple[Browser, str]:
    return site.browser(), "default"


def logged_out(site: Site, ann: Browser) -> tuple[Browser, str]:
    browser = ann.twin()
    browser.logout()
    return browser, "default"


def of_another_chatbot(site: Site, ann: Browser) -> tuple[Browser, str]:
    return ann, "support"


def too_late(site: Site, ann: Browser) -> tuple[Browser, str]:
    t.cast(ManualClock, site.plugin.clock).advance(EXPIRY + 31)
    return ann, "default"


ASKING = [stranger, anonymous_visitor, logged_out, of_another_chatbot, too_late]


def state(site: Site, named: Named) -> object:
    plugin = t.cast(AblePlugin, site.plugin)
    found = contents(plugin, Scope("user:ann"), named.thread)
    # Another thread may be begun.
    del found["current"]
    return found


DIFFERENT = re.compile(r'("\w*(?:id|question|answer|created_at|last_activity|cursor)": ?)("[^"]*"|[\d.]+)')


def answered(response: werkzeug.test.TestResponse) -> object:
    """Return what was answered, without ids and times, which differ each time."""
    text = DIFFERENT.sub(r"\1", response.text)
    return response.status_code, text.replace(" ", "")


def test_every_route_is_here(site: Site) -> None:
    routes = {
        (method, rule.rule.removeprefix("/chat-memory/<chatbot>/"))
        for rule in site.app.url_map.iter_rules()
        if rule.endpoint.startswith("chat_memory.") and rule.endpoint != "chat_memory.static"
        for method in (rule.methods or set()) - {"HEAD", "OPTIONS"}
    }
    assert routes == set(ROUTES)


@pytest.mark.parametrize("asking", ASKING)
@pytest.mark.parametrize("route", ROUTES, ids=" ".join)
def test_who_does_not_own_a_thread_is_answered_as_if_it_were_not_there(
    site: Site, ann: Browser, named: Named, route: tuple[str, str], asking: cabc.Callable[..., tuple[Browser, str]]
) -> None:
    browser, chatbot = asking(site, ann)
    nothing = Named(*[UNKNOWN] * 3)
    twin = browser.twin()
    before = state(site, named)
    known = ROUTES[route](browser, chatbot, named)
    assert "secret" not in known.text.replace('"text":"secret"', "")
    assert state(site, named) == before
    assert answered(known) == answered(ROUTES[route](twin, chatbot, nothing))


MALFORMED = ["", " ", "..", "../x", "x" * 10_000, "a\x00b", "%2e%2e%2f", "*"]


@pytest.mark.parametrize("route", ROUTES, ids=" ".join)
def test_malformed_ids_are_refused_or_unknown(site: Site, ann: Browser, named: Named, route: tuple[str, str]) -> None:
    before = state(site, named)
    for malformed in MALFORMED:
        response = ROUTES[route](ann, "default", Named(*[malformed] * 3))
        assert response.status_code < 500, malformed
        assert state(site, named) == before


# A new chat names nothing, and nothing is running here that could be stopped.
ANSWERED = set(ROUTES) - {("POST", "threads"), ("POST", "stop")}


@pytest.mark.parametrize("route", sorted(ANSWERED), ids=" ".join)
def test_the_owner_is_answered(site: Site, ann: Browser, named: Named, route: tuple[str, str]) -> None:
    """What nobody else is told or can change, the owner is told or can change."""
    before = state(site, named)
    response = ROUTES[route](ann, "default", named)
    assert response.status_code == 200, response.text
    unknown = ROUTES[route](ann.twin(), "default", Named(*[UNKNOWN] * 3))
    assert state(site, named) != before or answered(response) != answered(unknown) or "secret" in response.text
