"""New chat and open: which thread a request means."""

from __future__ import annotations

import typing as t

import pytest

from .apps import Browser
from .apps import PLUGINS
from .apps import said
from .apps import SESSIONS
from .apps import Site
from .apps import THREADS
from .conftest import MakeSite


def ask(browser: Browser, text: str, chatbot: str = "default", **body: t.Any) -> str:
    """Ask and return the id of the thread that the message went to."""
    response = browser.ask(text, chatbot, **body)
    assert response.status_code == 200, response.text
    return t.cast("dict[str, str]", response.json)["thread_id"]


@pytest.mark.scenario("S137", "S138", "D10", "N1")
@PLUGINS
@THREADS
def test_a_foreign_thread_cannot_be_reset_opened_or_written_to(new_site: MakeSite, plugin: str, threads: str) -> None:
    site = new_site(CHAT_MEMORY_PLUGIN=plugin, CHAT_MEMORY_OPTIONS={"threads": threads})
    owner = site.browser()
    mine = ask(owner, "mine")
    knowing, stranger = site.browser(), site.browser()
    ask(knowing, "hello")
    for intruder in (knowing, stranger):
        assert intruder.post(f"default/threads/{mine}/open").status_code == 404
        assert intruder.reset(thread_id=mine) != mine
        assert ask(intruder, "let me in", thread_id=mine) != mine
        assert "mine" not in intruder.texts(thread_id=mine)
    assert "mine" not in str(site.sent[1:])
    assert owner.texts() == said("mine")


@pytest.mark.scenario("D17")
@PLUGINS
def test_a_second_device_sees_the_same_conversation(new_site: MakeSite, plugin: str) -> None:
    site = new_site(login=True, CHAT_MEMORY_PLUGIN=plugin)
    phone, desk = site.browser(), site.browser()
    for browser in (phone, desk):
        browser.login("ann")
    first = ask(phone, "from the phone")
    assert desk.texts() == said("from the phone")
    assert ask(desk, "from the desk") == ask(phone, "again", thread_id=None) == first
    assert [message["content"] for message in site.sent[-1]] == [*said("from the phone", "from the desk"), "again"]
    assert phone.texts() == desk.texts() == said("from the phone", "from the desk", "again")
    newcomer = site.browser()
    newcomer.login("ann")
    assert newcomer.texts(before=3) == said("from the phone")
    phone.reset()
    assert desk.texts() == []
    new = ask(phone, "after")
    assert ask(desk, "stale", thread_id=first) == new


@pytest.mark.scenario("S206")
def test_one_conversation_cannot_be_multiplied(site: Site) -> None:
    browser = site.browser()
    first = ask(browser, "hello")
    assert browser.post("default/threads").status_code == 404
    assert browser.post(f"default/threads/{first}/open").status_code == 404
    for invented in (None, "invented", "x" * 500):
        assert ask(browser, "again", thread_id=invented) == first
    assert site.rows("thread") == 1


@pytest.mark.scenario("D52")
@PLUGINS
def test_each_tab_writes_to_the_thread_that_it_shows(new_site: MakeSite, plugin: str) -> None:
    site = new_site(CHAT_MEMORY_PLUGIN=plugin, CHAT_MEMORY_OPTIONS={"threads": "many"})
    browser = site.browser()
    one = ask(browser, "one")
    two = ask(browser, "two", thread_id=browser.new_chat())
    assert ask(browser, "one again", thread_id=one) == one
    assert [message["content"] for message in site.sent[-1]] == [*said("one"), "one again"]
    assert ask(browser, "two again", thread_id=two) == two
    assert ask(browser, "to the last") == two
    assert browser.texts(thread_id=one) == said("one", "one again")
    assert browser.texts(thread_id=two) == browser.texts() == said("two", "two again", "to the last")


@pytest.mark.scenario("S161", "D11", "D13")
@PLUGINS
def test_a_page_without_a_thread_or_with_an_unknown_one_gets_a_new_thread(new_site: MakeSite, plugin: str) -> None:
    site = new_site(CHAT_MEMORY_PLUGIN=plugin, CHAT_MEMORY_OPTIONS={"threads": "many"})
    browser = site.browser()
    first = ask(browser, "hello")
    seen = {first}
    for shown in (None, "well-formed-but-never-made", "../x", "x" * 10_000):
        new = ask(browser, "other", thread_id=shown)
        assert new != shown and new not in seen
        assert len(site.sent[-1]) == 1
        seen.add(new)
    assert browser.texts(thread_id=first) == said("hello")


@pytest.mark.scenario("S066", "D13")
def test_two_new_tabs_have_two_threads(new_site: MakeSite) -> None:
    browser = new_site(CHAT_MEMORY_OPTIONS={"threads": "many"}).browser()
    ask(browser, "before")
    first, second = browser.new_chat(), browser.new_chat()
    assert first != second
    threads = {ask(browser, "in the first tab", thread_id=first), ask(browser, "in the second", thread_id=second)}
    assert len(threads) == 2


@pytest.mark.scenario("S149")
@SESSIONS
def test_a_new_chat_keeps_the_former_one(new_site: MakeSite, sessions: str) -> None:
    site = new_site(sessions=sessions, CHAT_MEMORY_OPTIONS={"threads": "many"})
    browser = site.browser()
    former = ask(browser, "former")
    new = browser.new_chat()
    assert browser.history()["thread_id"] == new
    assert browser.texts() == []
    assert site.rows("thread") == 1
    assert ask(browser, "newer", thread_id=new) == new
    assert browser.post(f"default/threads/{former}/open").json == {"thread_id": former}
    assert browser.texts() == said("former")
    assert browser.texts(thread_id=new) == said("newer")


@pytest.mark.parametrize("unknown", ["never-made", "%00", "..%2f..", "x" * 10_000, "%F0%9F%99%82"])
def test_an_unknown_thread_cannot_be_opened(new_site: MakeSite, unknown: str) -> None:
    site = new_site(CHAT_MEMORY_OPTIONS={"threads": "many"})
    browser = site.browser()
    current = ask(browser, "hello")
    assert browser.post(f"default/threads/{unknown}/open").status_code == 404
    assert browser.history()["thread_id"] == current
    assert site.rows("thread") == 1


@pytest.mark.scenario("S206")
def test_new_chats_that_are_never_used_store_nothing(new_site: MakeSite) -> None:
    site = new_site(CHAT_MEMORY_OPTIONS={"threads": "many"})
    browser = site.browser()
    for _ in range(20):
        browser.new_chat()
        browser.reset()
    assert site.rows("thread") == 0


@THREADS
def test_chatbots_have_separate_threads_and_plugins(new_site: MakeSite, threads: str) -> None:
    options = {"threads": threads}
    site = new_site(
        CHAT_MEMORY_OPTIONS=options,
        CHAT_MEMORY_CHATBOTS={
            "sales": {},
            "support": {},
            "lab": {"plugin": "in_memory", "options": options},
            "local": {"plugin": None},
        },
    )
    browser = site.browser()
    threads_of = {name: ask(browser, f"to {name}", name) for name in ("sales", "support", "lab")}
    assert len(set(threads_of.values())) == 3
    assert site.plugin_of("sales") is site.plugin_of("support")
    assert site.plugin_of("lab") is not site.plugin_of("sales")
    for name in threads_of:
        assert browser.texts(name) == said(f"to {name}")
    assert "to sales" not in browser.texts("support", thread_id=threads_of["sales"])
    assert ask(browser, "wrong door", "support", thread_id=threads_of["sales"]) != threads_of["sales"]
    browser.reset("support", thread_id=threads_of["sales"])
    browser.reset("support", thread_id=threads_of["support"])
    browser.reset("local")
    assert browser.texts("sales") == said("to sales")
    assert browser.texts("lab") == said("to lab")


def test_an_unknown_chatbot_is_not_found(site: Site) -> None:
    browser = site.browser()
    for path in ("other/messages", "other/reset", "other/threads", "other/threads/x/open", "x" * 5000 + "/reset"):
        response = browser.post(path, {"messages": [{"role": "user", "text": "hello"}]})
        assert response.status_code == 404
        assert response.json == {"error": "There is no such chatbot."}
