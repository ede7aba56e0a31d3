"""List, rename, pin, archive and delete: what a page does with the threads of its visitor."""

from __future__ import annotations

import typing as t

import pytest

from flask_chat_memory import ChatMessage
from flask_chat_memory import Scope

from .apps import Browser
from .apps import PLUGINS
from .apps import said
from .apps import Site
from .conftest import MakeSite
from .five_methods import FiveMethodsPlugin


@pytest.fixture(params=["in_memory", "sqlalchemy"])
def many(request: pytest.FixtureRequest, new_site: MakeSite) -> Site:
    return new_site(CHAT_MEMORY_PLUGIN=request.param, CHAT_MEMORY_OPTIONS={"threads": "many", "max_threads": 200})


def ask(browser: Browser, text: str, **body: t.Any) -> str:
    """Ask in a new thread, unless one is named, and return the thread's id."""
    response = browser.ask(text, **{"thread_id": None, **body})
    assert response.status_code == 200, response.text
    return t.cast("dict[str, str]", response.json)["thread_id"]


def titles(browser: Browser, **query: t.Any) -> list[str]:
    return [thread["title"] for thread in browser.threads(**query)]


def test_the_list_has_the_newest_activity_first(many: Site) -> None:
    clock, browser = many.set_clock(), many.browser()
    begun = clock.now
    first = ask(browser, "one")
    clock.advance(1)
    second = ask(browser, "two")
    assert titles(browser) == ["two", "one"]
    clock.advance(1)
    ask(browser, "again", thread_id=first)
    assert browser.threads() == [
        {
            "id": thread_id,
            "title": title,
            "created_at": created_at,
            "last_activity": last_activity,
            "messages": messages,
            "pinned": False,
            "archived": False,
        }
        for thread_id, title, created_at, last_activity, messages in (
            (first, "one", begun, begun + 2, 4),
            (second, "two", begun + 1, begun + 1, 2),
        )
    ]


def test_the_list_goes_on_at_the_cursor_and_what_is_pinned_comes_first(many: Site) -> None:
    clock, browser = many.set_clock(), many.browser()
    ask(browser, "0")
    scope = Scope("anon:" + browser.kept()["anonymous"])
    for number in range(1, 120):
        clock.advance(1)
        thread_id = f"thread-{number}"
        many.plugin.append_messages(scope, thread_id, [ChatMessage("user", str(number))])
        browser.change(thread_id, title=str(number), pinned=number % 2 == 0 and number > 4)
    pages: list[list[str]] = []
    cursor: str | None = ""
    while cursor is not None:
        query = {"cursor": cursor} if cursor else {}
        page = t.cast(t.Any, browser.client.get("/chat-memory/default/threads", query_string=query).json)
        pages.append([thread["title"] for thread in page["threads"]])
        cursor = page["cursor"]
    pinned = [str(number) for number in range(118, 4, -2)]
    others = [str(number) for number in range(119, -1, -1) if str(number) not in pinned]
    assert [len(page) for page in pages] == [50, 50, 20]
    assert sum(pages, []) == pinned + others


@pytest.mark.parametrize("limit", [1, 2, 3, 4])
def test_a_page_that_ends_with_what_is_pinned_is_followed_by_the_rest(
    many: Site, monkeypatch: pytest.MonkeyPatch, limit: int
) -> None:
    monkeypatch.setattr("flask_chat_memory.web.threads.PAGE", limit)
    clock, browser = many.set_clock(), many.browser()
    for number in range(4):
        thread_id = ask(browser, str(number))
        browser.change(thread_id, pinned=number < 2)
        clock.advance(1)
    found: list[str] = []
    query: dict[str, str] = {}
    for _ in range(5):
        page = t.cast(t.Any, browser.client.get("/chat-memory/default/threads", query_string=query).json)
        found += [thread["title"] for thread in page["threads"]]
        if page["cursor"] is None:
            break
        query = {"cursor": page["cursor"]}
    assert found == ["1", "0", "3", "2"]


@pytest.mark.scenario("S077", "S078")
def test_a_change_leaves_the_rest_as_it_is(many: Site) -> None:
    clock, browser = many.set_clock(), many.browser()
    thread_id = ask(browser, "one")
    before = browser.threads()
    clock.advance(5)
    assert browser.change(thread_id).json == before[0]
    response = browser.change(thread_id, title="  My order \u0000", pinned=True)
    assert response.status_code == 200
    assert response.json == {**before[0], "title": "My order \ufffd", "pinned": True}
    assert browser.change(thread_id, pinned=False).json == {**before[0], "title": "My order \ufffd"}
    assert browser.change(thread_id, title=None).json == {**before[0], "title": None}
    assert browser.texts(thread_id=thread_id) == said("one")


def test_what_is_archived_is_a_list_of_its_own(many: Site) -> None:
    browser = many.browser()
    kept, archived = ask(browser, "kept"), ask(browser, "archived")
    browser.change(archived, archived=True)
    assert titles(browser) == titles(browser, archived="false") == ["kept"]
    assert titles(browser, archived="true") == ["archived"]
    assert browser.texts(thread_id=archived) == said("archived")
    browser.change(archived, archived=False)
    browser.change(kept, archived=True)
    assert titles(browser) == ["archived"]


@pytest.mark.scenario("N41")
def test_a_deleted_thread_is_gone_and_the_others_stay(many: Site) -> None:
    browser = many.browser()
    stays, goes = ask(browser, "stays"), ask(browser, "goes")
    assert browser.delete(goes).json == {"thread_id": goes}
    assert browser.delete(goes).status_code == 404
    assert titles(browser) == ["stays"]
    # It was the last that was used: like after a reset, the page is empty and the next message begins a thread.
    assert browser.texts() == []
    answer = browser.ask("anew").json
    assert answer is not None and answer["thread_id"] not in (stays, goes)
    assert len(many.sent[-1]) == 1
    assert browser.texts(thread_id=stays) == said("stays")


@pytest.mark.scenario("S100")
def test_the_answer_of_a_deleted_thread_is_not_kept(many: Site) -> None:
    browser = many.browser()
    thread_id = ask(browser, "one")

    def delete_meanwhile(turn: t.Any) -> str:
        assert browser.twin().delete(thread_id).status_code == 200
        return "too late"

    many.answer = delete_meanwhile
    assert browser.ask("two", thread_id=thread_id).status_code == 200
    assert browser.threads() == []


@pytest.mark.parametrize("unknown", ["never-made", "%00", "..", "..%5c..", "x" * 10_000, "%F0%9F%99%82", "%ff"])
def test_an_unknown_thread_is_not_found(many: Site, unknown: str) -> None:
    browser = many.browser()
    ask(browser, "hello")
    before = browser.threads()
    for visitor in (browser, many.browser()):
        for response in (visitor.change(unknown, title="x"), visitor.change(unknown), visitor.delete(unknown)):
            assert (response.status_code, response.json) == (404, {"error": "There is no such conversation."})
    assert browser.threads() == before


@pytest.mark.scenario("S137", "S138", "N1")
def test_a_foreign_thread_is_answered_like_an_unknown_one(many: Site) -> None:
    owner, knowing, stranger = many.browser(), many.browser(), many.browser()
    mine = ask(owner, "mine")
    before = owner.threads()
    ask(knowing, "hello")
    for intruder in (knowing, stranger):
        for response in (intruder.change(mine, title="yours"), intruder.change(mine), intruder.delete(mine)):
            assert (response.status_code, response.json) == (404, {"error": "There is no such conversation."})
        assert "mine" not in titles(intruder)
    assert owner.threads() == before


@pytest.mark.parametrize(
    "body",
    [
        {"title": "x" * 201},
        {"title": 1},
        {"title": ["x"]},
        {"pinned": None},
        {"pinned": "yes"},
        {"pinned": 1},
        {"archived": 0},
        {"configuration": "x"},
        {"pinned": True, "owner": "user:2"},
        [],
        "title",
        None,
    ],
)
def test_a_bad_change_is_refused_and_changes_nothing(many: Site, body: object) -> None:
    browser = many.browser()
    thread_id = ask(browser, "hello")
    before = browser.threads()
    response = browser.client.patch(f"/chat-memory/default/threads/{thread_id}", json=body)
    assert response.status_code == 400
    assert response.json is not None and response.json["error"].endswith(".")
    assert response.headers["Cache-Control"] == "private, no-store"
    assert browser.threads() == before


def test_a_bad_place_in_the_list_is_refused(many: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("flask_chat_memory.web.threads.PAGE", 1)
    browser, other = many.browser(), many.browser()
    for visitor in (browser, other):
        ask(visitor, "one")
        ask(visitor, "two")
    foreign = t.cast(t.Any, other.client.get("/chat-memory/default/threads").json)["cursor"]
    mine = t.cast(t.Any, browser.client.get("/chat-memory/default/threads").json)["cursor"]
    assert titles(browser, cursor=mine) == ["one"]
    numbers = ["W3RydWUsMWU5OTksIngiLCJ4Il0=", "W3RydWUsTmFOLCJ4IiwieCJd"]
    wrong = ["", "x", "1", "é", foreign, mine + "=", mine[:-4], " " + mine, "x" * 100_000, *numbers]
    queries = [{"cursor": cursor} for cursor in wrong] + [{"cursor": mine, "archived": "true"}, {"archived": "maybe"}]
    for query in queries:
        response = browser.client.get("/chat-memory/default/threads", query_string=query)
        assert response.status_code == 400, query
        assert response.json is not None and response.json["error"].endswith(".")
    assert many.browser().client.get("/chat-memory/default/threads", query_string={"cursor": mine}).status_code == 400


@PLUGINS
def test_one_conversation_is_a_list_of_one(new_site: MakeSite, plugin: str) -> None:
    browser = new_site(CHAT_MEMORY_PLUGIN=plugin).browser()
    assert browser.threads() == []
    thread_id = ask(browser, "hello")
    assert [thread["id"] for thread in browser.threads()] == [thread_id]
    assert browser.change(thread_id, title="Mine").status_code == 200
    assert titles(browser) == ["Mine"]
    assert titles(browser, archived="true") == []
    assert browser.delete(thread_id).status_code == 200
    assert browser.threads() == []


@pytest.mark.parametrize(
    "config", [{"CHAT_MEMORY_PLUGIN": None}, {"CHAT_MEMORY_CHATBOTS": {"default": {"history": False}}}]
)
def test_without_a_history_on_the_server_there_are_no_threads(new_site: MakeSite, config: dict[str, t.Any]) -> None:
    browser = new_site(**config).browser()
    assert browser.ask("hello").status_code == 200
    assert browser.threads() == []
    assert browser.change("x", title="x").status_code == 404
    assert browser.delete("x").status_code == 404


def test_reading_the_list_writes_nothing(many: Site) -> None:
    browser = many.browser()
    response = browser.client.get("/chat-memory/default/threads")
    assert response.json == {"threads": [], "cursor": None}
    assert response.headers["Cache-Control"] == "private, no-store"
    assert browser.change("x", title="x").status_code == browser.delete("x").status_code == 404
    assert browser.kept() == {}


@pytest.mark.parametrize("headers", [{"Sec-Fetch-Site": "cross-site"}, {"Origin": "https://elsewhere.example"}])
def test_another_site_changes_nothing(many: Site, headers: dict[str, str]) -> None:
    browser = many.browser()
    path = f"/chat-memory/default/threads/{ask(browser, 'hello')}"
    assert browser.client.patch(path, json={"title": "x"}, headers=headers).status_code == 403
    assert browser.client.delete(path, headers=headers).status_code == 403
    assert titles(browser) == ["hello"]


def test_two_owners_of_one_browser_have_two_lists(new_site: MakeSite) -> None:
    site = new_site(login=True, CHAT_MEMORY_OPTIONS={"threads": "many"}, CHAT_MEMORY_ON_LOGIN="leave")
    browser = site.browser()
    browser.login("ann")
    hers = ask(browser, "ann's")
    browser.logout()
    assert browser.threads() == []
    browser.login("bob")
    ask(browser, "bob's")
    assert titles(browser) == ["bob's"]
    assert browser.delete(hers).status_code == 404
    browser.login("ann")
    assert titles(browser) == ["ann's"]


def test_a_plugin_that_lists_nothing_is_told_in_the_log(new_site: MakeSite, caplog: pytest.LogCaptureFixture) -> None:
    browser = new_site(CHAT_MEMORY_PLUGIN=FiveMethodsPlugin, CHAT_MEMORY_OPTIONS={"threads": "many"}).browser()
    thread_id = ask(browser, "hello")
    assert browser.client.get("/chat-memory/default/threads").status_code == 503
    assert "plugin 'five_methods' cannot list threads; it must inherit ListsThreads, too" in caplog.text
    assert browser.change(thread_id, title="x").status_code == 503
    assert "plugin 'five_methods' cannot describe threads; it must inherit DescribesThreads, too" in caplog.text
    assert browser.delete(thread_id).status_code == 200
    assert browser.texts(thread_id=thread_id) == []


def test_a_store_that_is_down_is_told_in_a_sentence(new_site: MakeSite) -> None:
    site = new_site(CHAT_MEMORY_OPTIONS={"threads": "many"})
    browser = site.browser()
    thread_id = ask(browser, "hello")
    with site.store_down():
        responses = [
            browser.client.get("/chat-memory/default/threads"),
            browser.change(thread_id, title="x"),
            browser.delete(thread_id),
        ]
        for response in responses:
            assert response.status_code == 503
            assert response.json is not None and response.json["error"].endswith(".")
    assert titles(browser) == ["hello"]
