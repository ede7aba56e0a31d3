"""The history route: pages, cursors, what is being answered."""

from __future__ import annotations

import collections.abc as cabc
import sqlite3
import typing as t

import pytest

from flask_chat_memory import ChatMessage
from flask_chat_memory import KeepsLiveTurns
from flask_chat_memory import LiveTurn
from flask_chat_memory import Scope
from flask_chat_memory import Turn

from .apps import background
from .apps import Browser
from .apps import PATIENCE
from .apps import PLUGINS
from .apps import Site
from .conftest import MakeSite


def place(browser: Browser) -> tuple[Scope, str]:
    return Scope(f"anon:{browser.kept()['anonymous']}"), browser.history()["thread_id"]


def fill(site: Site, browser: Browser, count: int, size: int = 1) -> None:
    """Make the browser's thread one of ``count`` more messages."""
    scope, thread_id = place(browser)
    messages = [ChatMessage(("user", "assistant")[n % 2], f"{n} " * size, id=f"m{n}") for n in range(count)]
    site.plugin.append_messages(scope, thread_id, messages)


@pytest.mark.scenario("S049", "S198")
@PLUGINS
def test_pages_have_no_gap_and_no_repeat_while_messages_arrive(new_site: MakeSite, plugin: str) -> None:
    site = new_site(CHAT_MEMORY_PLUGIN=plugin, CHAT_MEMORY_PRELOAD=5)
    browser = site.browser()
    browser.ask("first")
    fill(site, browser, 20)
    everything = [message.id for message in site.plugin.load_messages(*place(browser))]
    page = browser.history()
    collected: list[t.Any] = []
    while True:
        collected = [message["id"] for message in page["messages"]] + collected
        browser.ask("meanwhile")
        if not page["has_more"]:
            break
        page = browser.history(before=page["cursor"])
    assert page["cursor"] is None
    assert collected == everything


@pytest.mark.scenario("S030", "S198")
@pytest.mark.parametrize(("count", "more"), [(4, False), (5, True)])
def test_has_more_is_true_only_if_there_is_more(new_site: MakeSite, count: int, more: bool) -> None:
    site = new_site(CHAT_MEMORY_PRELOAD=4)
    browser = site.browser()
    browser.ask("first")
    fill(site, browser, count - 2)
    assert browser.history()["has_more"] is more


@pytest.mark.scenario("S030", "D28")
def test_a_long_thread_gives_a_bounded_page(site: Site) -> None:
    browser = site.browser()
    browser.ask("first")
    fill(site, browser, 200, size=2000)
    response = browser.client.get("/chat-memory/default/history")
    assert response.json is not None
    assert len(response.json["messages"]) == 50
    assert response.json["has_more"] is True
    assert len(response.data) < 600_000
    assert browser.client.get("/").text.count("chat-memory-speaker") <= 52


@pytest.mark.parametrize("cursor", ["x", "-1", "1.5", "", "1 or 1=1", "\u00b2", "0x10", "None"])
def test_a_cursor_that_is_no_number_is_refused(site: Site, cursor: str) -> None:
    browser = site.browser()
    browser.ask("hello")
    response = browser.client.get("/chat-memory/default/history", query_string={"before": cursor})
    assert response.status_code == 400
    assert response.json == {"error": "The cursor must be a number."}


@PLUGINS
@pytest.mark.parametrize(("cursor", "count"), [("0", 0), ("1", 0), ("2", 1), ("\u0662", 1)])
def test_a_cursor_may_be_any_number(new_site: MakeSite, plugin: str, cursor: str, count: int) -> None:
    site = new_site(CHAT_MEMORY_PLUGIN=plugin)
    browser = site.browser()
    browser.ask("hello")
    assert len(browser.history(before=cursor)["messages"]) == count


@pytest.mark.scenario("S138")
@PLUGINS
def test_a_foreign_thread_is_answered_as_an_unknown_one(new_site: MakeSite, plugin: str) -> None:
    site = new_site(CHAT_MEMORY_PLUGIN=plugin, CHAT_MEMORY_OPTIONS={"threads": "many"})
    owner, stranger = site.browser(), site.browser()
    owner.ask("mine")
    stranger.ask("hello")
    foreign = owner.history()["thread_id"]
    for unknown in ("never-made", "", "x" * 10_000, "../x", "\x00"):
        assert stranger.history(thread_id=foreign) == stranger.history(thread_id=unknown)
        assert stranger.history(thread_id=foreign, before=99) == stranger.history(thread_id=unknown, before=99)
    assert stranger.history(thread_id=foreign)["messages"] == []


def test_messages_for_the_model_alone_are_not_shown(site: Site) -> None:
    browser = site.browser()

    def answer(turn: Turn) -> str:
        call = {"id": "c1", "type": "function", "function": {"name": "find", "arguments": "{}"}}
        turn.record(ChatMessage("assistant", None, tool_calls=[call]))
        turn.record(ChatMessage("tool", "internal", tool_call_id="c1"))
        return "found"

    site.answer = answer
    browser.ask("search")
    assert [(message["role"], message["text"]) for message in browser.history()["messages"]] == [
        ("user", "search"),
        ("ai", "found"),
    ]


@pytest.mark.scenario("S088", "S111")
@PLUGINS
def test_a_question_is_pending_while_it_is_answered(new_site: MakeSite, plugin: str) -> None:
    site = new_site(CHAT_MEMORY_PLUGIN=plugin)
    browser = site.browser()
    browser.ask("before")
    seen: list[t.Any] = []
    pages: list[str] = []

    def pieces(turn: Turn) -> cabc.Iterator[str]:
        yield "a"
        other = browser.twin()
        seen.append(other.history()["messages"][2:])
        pages.append(other.client.get("/").text)
        yield "b"

    site.answer = pieces
    answer = browser.ask("hello").json
    assert answer is not None
    assert seen == [[{"role": "user", "text": "hello", "id": answer["question_id"], "status": "pending"}]]
    assert 'data-status="pending"' in pages[0]
    assert browser.history()["messages"][2:] == [
        {"role": "user", "text": "hello", "id": answer["question_id"], "status": None},
        {"role": "ai", "text": "ab", "id": answer["answer_id"], "status": "complete"},
    ]


@pytest.mark.scenario("S111")
def test_the_question_is_stored_before_the_first_byte(site: Site) -> None:
    browser = site.browser()
    stored: list[str] = []

    def answer(turn: Turn) -> str:
        conversation = site.memory.open_conversation(t.cast(str, turn.owner), t.cast(str, turn.thread_id))
        stored.extend(message.text for message in conversation.history())
        return "yes"

    site.answer = answer
    browser.ask("hello")
    assert stored == ["hello"]


def abandon(site: Site, browser: Browser) -> None:
    """Leave a question unanswered, as a process does that dies."""
    scope, thread_id = place(browser)
    plugin = site.plugin
    assert isinstance(plugin, KeepsLiveTurns)
    question = ChatMessage("user", "and then?", id="q", turn="t")
    plugin.start_turn(scope, thread_id, question, key="question:k", live=LiveTurn("t", "q", "a", plugin.clock() + 30))


@PLUGINS
def test_a_dead_workers_turn_is_ended_by_the_next_reader(new_site: MakeSite, plugin: str) -> None:
    site = new_site(CHAT_MEMORY_PLUGIN=plugin)
    clock = site.set_clock()
    browser = site.browser()
    browser.ask("before")
    abandon(site, browser)
    clock.advance(29)
    assert [message["status"] for message in browser.history()["messages"][2:]] == ["pending"]
    clock.advance(1)
    for _ in range(2):
        assert browser.history()["messages"][2:] == [
            {"role": "user", "text": "and then?", "id": "q", "status": None},
            {"role": "ai", "text": "", "id": "a", "status": "partial"},
        ]
    browser.ask("go on")
    assert [message["role"] for message in site.sent[-1]] == ["user", "assistant", "user"]


@PLUGINS
def test_two_readers_end_a_dead_workers_turn_once(new_site: MakeSite, plugin: str) -> None:
    site = new_site(CHAT_MEMORY_PLUGIN=plugin)
    clock = site.set_clock()
    browser = site.browser()
    browser.ask("before")
    kept, scope_and_thread = site.plugin, place(browser)
    abandon(site, browser)
    clock.advance(31)
    # The look at the live turns is where two readers can meet.
    look = t.cast(t.Any, kept).live_turns
    nested: list[bool] = []

    def look_while_another_reads(scope: Scope, thread_id: str) -> list[LiveTurn]:
        found: list[LiveTurn] = look(scope, thread_id)
        if not nested:
            nested.append(True)
            with background(lambda: browser.twin().history()):
                pass
        return found

    t.cast(t.Any, kept).live_turns = look_while_another_reads
    assert [message["status"] for message in browser.history()["messages"][2:]] == [None, "partial"]
    assert nested == [True]
    assert len(kept.load_messages(*scope_and_thread)) == 4


@PLUGINS
def test_the_next_question_ends_a_dead_workers_turn(new_site: MakeSite, plugin: str) -> None:
    site = new_site(CHAT_MEMORY_PLUGIN=plugin)
    clock = site.set_clock()
    browser = site.browser()
    browser.ask("before")
    abandon(site, browser)
    clock.advance(31)
    browser.ask("go on")
    assert [message["content"] for message in site.sent[-1]] == ["before", "You said: before", "and then?\n\ngo on"]
    assert [message["status"] for message in browser.history()["messages"]].count("partial") == 1


@pytest.mark.scenario("S172", "D18")
@PLUGINS
def test_an_expired_conversation_is_followed_by_a_new_one(new_site: MakeSite, plugin: str) -> None:
    site = new_site(CHAT_MEMORY_PLUGIN=plugin, CHAT_MEMORY_OPTIONS={"expiry": 60})
    clock = site.set_clock()
    browser = site.browser()
    browser.ask("old")
    old = browser.history()["thread_id"]
    clock.advance(59)
    browser.ask("still there")
    clock.advance(59)
    assert len(browser.texts()) == 4
    clock.advance(2)
    assert browser.texts() == []
    assert browser.client.get("/").status_code == 200
    answer = browser.ask("new").json
    assert answer is not None and answer["thread_id"] != old
    assert site.sent[-1] == [{"role": "user", "content": "new"}]
    assert browser.texts() == ["new", "You said: new"]


@pytest.mark.scenario("S006")
def test_a_stored_lone_surrogate_is_shown_as_a_replacement(site: Site) -> None:
    browser = site.browser()
    browser.ask("marked")
    connection = sqlite3.connect(site.database)
    with connection:
        connection.execute("update chat_memory_message set body = replace(body, 'marked', 'x\\udb8d')")
    connection.close()
    assert browser.texts()[0] == "x\ufffd"
    assert browser.client.get("/").status_code == 200


def test_reading_while_another_request_asks_sees_whole_turns_or_pending_ones(site: Site) -> None:
    browser = site.browser()
    browser.ask("before")
    twin = browser.twin()

    def pieces(turn: Turn) -> cabc.Iterator[str]:
        site.entered.set()
        assert site.release.wait(PATIENCE)
        yield "done"

    site.answer = pieces
    with background(lambda: twin.ask("hello")):
        assert site.entered.wait(PATIENCE)
        assert browser.history()["messages"][-1]["status"] == "pending"
        site.release.set()
    assert browser.texts()[-1] == "done"


@pytest.mark.scenario("S090")
@pytest.mark.parametrize("content", ["", [], None])
def test_an_answer_without_content_breaks_neither_the_page_nor_the_next_turn(site: Site, content: t.Any) -> None:
    browser = site.browser()
    browser.ask("first")
    empty = ChatMessage("assistant", content, id="empty", status="failed")
    site.plugin.append_messages(*place(browser), [ChatMessage("user", "second", id="second"), empty])
    assert browser.texts()[2:] == ["second", ""]
    assert browser.client.get("/").status_code == browser.client.get("/bubbles").status_code == 200
    assert browser.ask("third").status_code == 200
    assert site.sent[-1][2:] == [{"role": "user", "content": "second\n\nthird"}]
