"""The conversation of a guest who logs in."""

from __future__ import annotations

import collections.abc as cabc
import threading

import pytest

from flask_chat_memory import Scope
from flask_chat_memory import Turn

from .apps import Browser
from .apps import PATIENCE
from .apps import PLUGINS
from .apps import said
from .apps import SESSIONS
from .apps import Site
from .apps import THREADS
from .conftest import MakeSite
from .five_methods import FiveMethodsPlugin
from .own_storage import OwnStorage
from .strict_provider import wait_for_summaries


@pytest.mark.scenario("S148", "D7")
@SESSIONS
@PLUGINS
@THREADS
def test_the_conversation_before_the_login_becomes_the_users(
    new_site: MakeSite, sessions: str, plugin: str, threads: str
) -> None:
    site = new_site(sessions=sessions, login=True, CHAT_MEMORY_PLUGIN=plugin, CHAT_MEMORY_OPTIONS={"threads": threads})
    browser = site.browser()
    browser.ask("first")
    browser.ask("second")
    before = browser.twin()
    ids = [message["id"] for message in browser.history()["messages"]]
    thread_id = browser.history()["thread_id"]
    browser.login("ann")
    assert browser.texts(thread_id=thread_id) == browser.texts() == said("first", "second")
    assert [message["id"] for message in browser.history()["messages"]] == ids
    assert "anonymous" not in browser.kept()
    browser.ask("third", thread_id=thread_id)
    assert len(site.sent[-1]) == 5
    if sessions == "cookie":
        # The cookie of before the login, kept by somebody.
        assert before.texts() == []
    browser.logout()
    assert browser.texts() == []


@PLUGINS
def test_the_conversation_before_the_login_is_appended_to_the_one_that_the_user_has(
    new_site: MakeSite, plugin: str
) -> None:
    site = new_site(login=True, CHAT_MEMORY_PLUGIN=plugin)
    elsewhere = site.browser()
    elsewhere.login("ann")
    elsewhere.ask("on the phone")
    browser = site.browser()
    browser.ask("as a guest")
    guest = f"anon:{browser.kept()['anonymous']}"
    guest_thread = browser.history()["thread_id"]
    browser.login("ann")
    assert browser.texts() == said("on the phone", "as a guest")
    assert browser.texts() == elsewhere.texts()
    assert not site.plugin.has_thread(Scope(guest), guest_thread)


@pytest.mark.scenario("S148")
@SESSIONS
def test_with_leave_the_conversation_before_the_login_is_shown_to_nobody(new_site: MakeSite, sessions: str) -> None:
    site = new_site(sessions=sessions, login=True, CHAT_MEMORY_ON_LOGIN="leave")
    browser = site.browser()
    browser.ask("as a guest")
    guest = Scope(f"anon:{browser.kept()['anonymous']}")
    thread_id = browser.history()["thread_id"]
    browser.login("ann")
    assert browser.texts() == browser.texts(thread_id=thread_id) == []
    assert "anonymous" not in browser.kept()
    assert browser.kept()["threads"] == browser.kept()["reserved"] == {}
    browser.ask("as ann")
    browser.logout()
    assert browser.texts() == browser.texts(thread_id=thread_id) == []
    assert len(site.plugin.load_messages(guest, thread_id)) == 2


def test_adoption_reaches_the_chatbots_that_the_first_page_does_not_show(new_site: MakeSite) -> None:
    site = new_site(login=True, CHAT_MEMORY_CHATBOTS={"sales": {}, "support": {"plugin": "in_memory"}, "none": {}})
    browser = site.browser()
    browser.ask("price", "sales")
    browser.ask("broken", "support")
    browser.login("ann")
    browser.client.get("/?chatbot=none")
    elsewhere = site.browser()
    elsewhere.login("ann")
    assert elsewhere.texts("sales") == said("price")
    assert elsewhere.texts("support") == said("broken")


def test_requests_that_do_not_chat_adopt_nothing(new_site: MakeSite) -> None:
    site = new_site(login=True)
    browser = site.browser()
    browser.ask("as a guest")
    kept = browser.kept()
    browser.login("ann")
    browser.client.get("/plain")
    assert browser.kept() == kept


@pytest.mark.scenario("S147")
def test_somebody_elses_anonymous_key_cannot_be_claimed_at_login(new_site: MakeSite) -> None:
    site = new_site(login=True)
    victim = site.browser()
    victim.ask("mine")
    key = victim.kept()["anonymous"]
    intruder = site.browser()
    intruder.client.set_cookie("anonymous", key)
    intruder.client.set_cookie("_chat_memory", key)
    intruder.login("eve")
    query = {"anonymous": key, "owner": f"anon:{key}"}
    assert intruder.client.get("/chat-memory/default/history", query_string=query).json == intruder.history()
    assert intruder.texts() == []
    assert victim.texts() == said("mine")


@PLUGINS
def test_a_thread_with_a_running_turn_is_adopted_when_the_turn_is_over(new_site: MakeSite, plugin: str) -> None:
    site = new_site(login=True, CHAT_MEMORY_PLUGIN=plugin)
    browser = site.browser()
    seen: list[object] = []

    def pieces(turn: Turn) -> cabc.Iterator[str]:
        yield "begun"
        browser.take_session(asking)
        browser.login("ann")
        seen.append(browser.texts())
        seen.append("anonymous" in browser.kept())
        yield ", ended"

    asking = site.browser()
    asking.ask("before")
    site.answer = pieces
    assert asking.ask("hello").status_code == 200
    assert seen == [[], True]
    assert browser.texts() == [*said("before"), "hello", "begun, ended"]
    assert "anonymous" not in browser.kept()


def running_turn(site: Site, browser: Browser) -> Turn:
    """Return a turn of the browser's anonymous visitor that is still being answered."""
    owner = f"anon:{browser.kept()['anonymous']}"
    with site.app.app_context():
        return site.memory.open_conversation(owner, browser.history()["thread_id"]).turn("still running")


@pytest.mark.scenario("D7")
@pytest.mark.parametrize("first_writes", [True, False])
def test_what_waits_for_its_adoption_is_not_adopted_by_the_next_user(new_site: MakeSite, first_writes: bool) -> None:
    site = new_site(login=True)
    browser = site.browser()
    browser.ask("as a guest")
    running = running_turn(site, browser)
    browser.login("ann")
    assert browser.texts() == []
    if first_writes:
        browser.ask("by ann")
    running.finish("done")
    # Without a logout between.
    browser.login("bob")
    assert browser.texts() == []
    browser.login("ann")
    assert "as a guest" in browser.texts()


def test_what_waits_for_its_adoption_is_hidden_after_a_logout_that_only_the_owner_loader_knows_of(
    new_site: MakeSite,
) -> None:
    owner: dict[str, str | None] = {"now": None}
    site = new_site(extension={"owner_loader": lambda: owner["now"]})
    browser = site.browser()
    browser.ask("as a guest")
    running = running_turn(site, browser)
    owner["now"] = "member:ann"
    assert browser.texts() == []
    owner["now"] = None
    assert browser.texts() == []
    running.finish("done")
    owner["now"] = "member:bob"
    assert browser.texts() == []


def test_a_store_that_is_down_leaves_the_key_for_a_later_adoption(new_site: MakeSite) -> None:
    site = new_site(login=True)
    browser = site.browser()
    browser.ask("as a guest")
    browser.login("ann")
    with site.store_down():
        assert browser.client.get("/").status_code == 200
        assert browser.client.get("/chat-memory/default/history").status_code == 503
    assert "anonymous" in browser.kept()
    assert browser.texts() == said("as a guest")
    assert "anonymous" not in browser.kept()


def test_a_plugin_that_cannot_move_threads_has_the_pointers_thread_adopted(new_site: MakeSite) -> None:
    site = new_site(login=True, CHAT_MEMORY_PLUGIN=FiveMethodsPlugin)
    browser = site.browser()
    browser.ask("as a guest")
    browser.login("ann")
    assert browser.texts() == said("as a guest")
    browser.logout()
    assert browser.texts() == []
    browser.login("bob")
    assert browser.texts() == []


def test_parallel_requests_after_the_login_adopt_once(new_site: MakeSite) -> None:
    site = new_site(login=True)
    elsewhere = site.browser()
    elsewhere.login("ann")
    elsewhere.ask("on the phone")
    browser = site.browser()
    browser.ask("as a guest")
    browser.login("ann")
    twins = [browser.twin() for _ in range(8)]
    threads = [threading.Thread(target=twin.texts) for twin in twins]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert browser.texts() == said("on the phone", "as a guest")


def test_a_reset_after_the_login_leaves_no_anonymous_thread(new_site: MakeSite) -> None:
    site = new_site(login=True)
    browser = site.browser()
    browser.ask("as a guest")
    thread_id = browser.history()["thread_id"]
    browser.login("ann")
    browser.reset(thread_id=thread_id)
    assert browser.texts() == []
    assert site.rows("thread") == site.rows("message") == 0


@PLUGINS
def test_summaries_of_a_guest_are_dropped_and_made_again(new_site: MakeSite, plugin: str) -> None:
    chain = [{"type": "hierarchical", "summary_threshold": 20, "recent": 2}]
    site = new_site(login=True, CHAT_MEMORY_PLUGIN=plugin, CHAT_MEMORY_SHORT_TERM=chain, CHAT_MEMORY_REDACTION=False)

    def names(owner: str) -> list[str]:
        wait_for_summaries()
        with site.app.app_context():
            return site.memory.storage("summaries").of_owner(owner).list()

    browser = site.browser()
    for text in ("first question", "second question", "third question"):
        browser.ask(text)
        wait_for_summaries()
    guest = f"anon:{browser.kept()['anonymous']}"
    assert len(names(guest)) == 1
    browser.login("ann")
    assert browser.texts() == said("first question", "second question", "third question")
    assert names(guest) == names("user:ann") == []
    browser.ask("fourth question")
    assert len(names("user:ann")) == 1


def remember(site: Site, browser: Browser, text: str) -> str:
    """Let something be remembered of a guest, who is returned as an owner."""
    browser.ask("hello")
    guest = f"anon:{browser.kept()['anonymous']}"
    with site.app.app_context():
        site.memory.user_memories(guest).add(text)
    return guest


def remembered(site: Site, owner: str) -> list[str]:
    with site.app.app_context():
        return [memory.text for memory in site.memory.user_memories(owner).list()]


def test_what_is_remembered_of_a_guest_becomes_the_users(new_site: MakeSite) -> None:
    site = new_site(login=True, CHAT_MEMORY_USER_MEMORIES=3)
    for text in ("a", "b", "c"):
        with site.app.app_context():
            site.memory.user_memories("user:ann").add(text)
    browser = site.browser()
    guest = remember(site, browser, "likes tea")
    browser.login("ann")
    browser.ask("again")
    assert remembered(site, guest) == []
    assert remembered(site, "user:ann") == ["likes tea", "c", "b"]


def test_with_leave_it_is_left_behind(new_site: MakeSite) -> None:
    site = new_site(login=True, CHAT_MEMORY_ON_LOGIN="leave")
    browser = site.browser()
    guest = remember(site, browser, "likes tea")
    browser.login("ann")
    browser.ask("again")
    assert remembered(site, guest) == ["likes tea"]
    assert remembered(site, "user:ann") == []


def test_memories_that_cannot_be_moved_wait_for_a_later_request(new_site: MakeSite) -> None:
    class Fragile(OwnStorage):
        down = False

        def delete(self, key: str) -> bool:
            if self.down:
                raise ConnectionError
            return super().delete(key)

    storage = Fragile()
    site = new_site(login=True, CHAT_MEMORY_STORAGES={"user_memory": storage})
    browser = site.browser()
    guest = remember(site, browser, "likes tea")
    browser.login("ann")
    storage.down = True
    browser.ask("again")
    assert remembered(site, guest) == remembered(site, "user:ann") == ["likes tea"]
    storage.down = False
    browser.ask("and again")
    assert remembered(site, guest) == []
    assert remembered(site, "user:ann") == ["likes tea"]
    assert "anonymous" not in browser.kept()
