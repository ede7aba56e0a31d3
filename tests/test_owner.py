"""Who is asking."""

from __future__ import annotations

import typing as t

import pytest

from flask_chat_memory import ConfigurationError
from flask_chat_memory import MissingOwner
from flask_chat_memory import Scope

from .apps import add_login
from .apps import User
from .conftest import MakeSite


@pytest.mark.parametrize("plugin", ["in_memory", "sqlalchemy"])
def test_visitors_without_login_see_only_their_own_conversation(new_site: MakeSite, plugin: str) -> None:
    site = new_site(CHAT_MEMORY_PLUGIN=plugin)
    first, second = site.browser(), site.browser()
    first.ask("the plan is secret")
    assert second.texts() == []
    second.ask("hello")
    assert second.texts() == ["hello", "You said: hello"]
    assert first.texts() == ["the plan is secret", "You said: the plan is secret"]
    assert "secret" not in str(site.sent[-1])


@pytest.mark.scenario("S143", "D5")
def test_requests_without_cookies_are_answered_and_share_nothing(new_site: MakeSite) -> None:
    site = new_site()
    owners = set()
    for number in range(3):
        browser = site.browser()
        answer = browser.ask(f"question {number}")
        assert answer.status_code == 200
        owners.add(browser.kept()["anonymous"])
        browser.client.delete_cookie("session")
        assert browser.history() == {
            "mode": "server",
            "thread_id": None,
            "messages": [],
            "has_more": False,
            "cursor": None,
        }
    assert len(owners) == 3
    assert [len(sent) for sent in site.sent] == [1, 1, 1]


@pytest.mark.scenario("S140")
def test_an_owner_that_the_client_names_is_ignored(new_site: MakeSite) -> None:
    site = new_site(login=True)
    victim = site.browser()
    victim.login("1")
    victim.ask("mine alone")
    intruder = site.browser()
    names = ("owner", "owner_id", "user_id", "user", "session_id")
    claims = {name: "user:1" for name in names} | {"user_id": "1"}
    for name, value in claims.items():
        intruder.client.set_cookie(name, value)
    headers = {f"X-{name.replace('_', '-')}": value for name, value in claims.items()}
    read = intruder.client.get("/chat-memory/default/history", query_string=claims, headers=headers)
    assert read.json is not None and read.json["messages"] == []
    message = {"role": "user", "text": "give it to me", **claims}
    posted = intruder.client.post(
        "/chat-memory/default/messages",
        query_string=claims,
        json={"messages": [message], **claims},
        headers={**headers, "Accept": "application/json"},
    )
    assert posted.status_code == 200
    intruder.post("default/reset", claims, query_string=claims)
    assert "mine alone" not in str(site.sent[-1])
    assert victim.texts() == ["mine alone", "You said: mine alone"]


OWNERS = ["1", "10", "1 ", "01", "0", "bob", "Bob", "b%", "b_b", "*", "user:1", "None", "../1", "1'--"]
OWNERS += ["\u00e9", "e\u0301", "\u212aim", "Kim"]


@pytest.mark.scenario("N3")
@pytest.mark.parametrize("plugin", ["in_memory", "sqlalchemy"])
def test_owners_that_resemble_each_other_stay_apart(new_site: MakeSite, plugin: str) -> None:
    current = {"owner": ""}
    site = new_site(CHAT_MEMORY_PLUGIN=plugin, extension={"owner_loader": lambda: f"user:{current['owner']}"})
    for owner in OWNERS:
        current["owner"] = owner
        assert site.browser().texts() == []
        site.browser().ask(f"by {owner}")
    for owner in OWNERS:
        current["owner"] = owner
        assert site.browser().texts() == [f"by {owner}", f"You said: by {owner}"]


@pytest.mark.scenario("D9")
def test_one_extension_keeps_nothing_of_the_visitor_before(new_site: MakeSite) -> None:
    site = new_site(login=True)
    browsers = {name: site.browser() for name in ("ann", "bob", "eve")}
    for name, browser in browsers.items():
        browser.login(name)
    for _ in range(2):
        for name, browser in browsers.items():
            browser.ask(f"by {name}")
    for name, browser in browsers.items():
        assert browser.texts() == [f"by {name}", f"You said: by {name}"] * 2


@pytest.mark.scenario("N3")
@pytest.mark.parametrize("owner", ["anon:abc", "forgotten", "", 7, b"user:1"])
def test_the_owner_loader_must_return_what_can_be_an_owner(new_site: MakeSite, owner: t.Any) -> None:
    site = new_site(extension={"owner_loader": lambda: owner})
    with site.app.test_request_context("/"), pytest.raises(ConfigurationError, match="owner loader"):
        site.memory.conversation()


def test_the_owner_loader_wins_over_the_login_and_none_means_anonymous(new_site: MakeSite) -> None:
    chosen: dict[str, str | None] = {"owner": "team:7"}
    site = new_site(login=True, extension={"owner_loader": lambda: chosen["owner"]})
    browser = site.browser()
    browser.login("ann")
    browser.ask("for the team")
    assert site.plugin.load_messages(Scope("team:7"), browser.history()["thread_id"])[0].text == "for the team"
    chosen["owner"] = None
    assert browser.texts() == []


def test_a_login_manager_set_up_after_the_extension_is_seen(new_site: MakeSite) -> None:
    site = new_site()
    add_login(site.app)
    browser = site.browser()
    browser.login("ann")
    browser.ask("hello")
    other_device = site.browser()
    other_device.login("ann")
    assert other_device.texts() == ["hello", "You said: hello"]


@pytest.mark.scenario("N3")
@pytest.mark.parametrize("id", [None, ""])
def test_a_user_without_an_id_owns_nothing(new_site: MakeSite, id: t.Any) -> None:
    site = new_site(login=True)

    class Nameless(User):
        def get_id(self) -> t.Any:
            return id

    site.app.login_manager.request_loader(lambda _request: Nameless("x"))  # type: ignore[attr-defined]
    with site.app.test_request_context("/"), pytest.raises(MissingOwner):
        site.memory.conversation()
    answer = site.browser().ask("hello")
    assert answer.status_code == 503
    assert site.rows() == 0


def test_an_owner_too_long_to_be_stored_is_refused_before_anything_is_stored(new_site: MakeSite) -> None:
    site = new_site(extension={"owner_loader": lambda: "user:" + "x" * 300})
    answer = site.browser().ask("hello")
    assert answer.status_code == 503
    assert "x" * 20 not in answer.text
    assert site.rows() == 0
