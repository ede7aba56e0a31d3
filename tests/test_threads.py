"""The threads of an owner, outside of a request: listed, found, changed, deleted."""

from __future__ import annotations

import base64
import collections.abc as cabc
import contextlib
import datetime as dt
import json
import pathlib
import time
import typing as t

import msgspec
import pytest

from flask_chat_memory import ChatMessage
from flask_chat_memory import Conversation
from flask_chat_memory import RequestRefused
from flask_chat_memory import Thread
from flask_chat_memory.plugins.in_memory import InMemoryPlugin
from flask_chat_memory.threads import ThreadPage

from .apps import ManualClock
from .conversations import ask
from .conversations import OWNER
from .conversations import Site
from .encryption import NEW
from .server_options import options_on
from .server_options import SERVERS

PLUGINS: dict[str, dict[str, t.Any]] = {
    "in_memory": {},
    "sqlalchemy": {},
    "file": {},
    "encrypted": {"plugin": "sqlalchemy", "keys": [NEW], "threads": "many"},
}


@pytest.fixture(params=[*PLUGINS, *SERVERS])
def site(request: pytest.FixtureRequest, tmp_path: pathlib.Path) -> cabc.Iterator[Site]:
    kind = request.param
    with contextlib.ExitStack() as stack:
        plugin, options = options_on(kind, request, stack) if kind in SERVERS else (kind, PLUGINS[kind])
        site = Site(tmp_path, plugin, OPTIONS={"threads": "many", **options})
        yield site
        site.plugin.close()


def start(site: Site, *texts: str, owner: str = OWNER) -> list[str]:
    """Begin a thread with each text, a second after the other, and return their ids."""
    clock = site.plugin.clock = ManualClock()
    ids = []
    for text in texts:
        clock.advance(1)
        conversation = site.start(owner)
        ask(conversation, text)
        ids.append(t.cast(str, conversation.thread_id))
    return ids


def titles(page: ThreadPage) -> list[str | None]:
    return [thread.title for thread in page.threads]


def walk(conversation: Conversation, limit: int, **filters: t.Any) -> list[list[str | None]]:
    pages, cursor = [], None
    while True:
        page = conversation.list_threads(limit, cursor, **filters)
        pages.append(titles(page))
        cursor = page.cursor
        if cursor is None:
            return pages


def test_pages_follow_each_other_with_what_is_pinned_first(site: Site) -> None:
    ids = start(site, *"abcdefg")
    mine = site.start()
    for place in (1, 3, 5):
        assert mine.update_thread(ids[place], pinned=True)
    assert mine.update_thread(ids[6], archived=True)
    assert walk(mine, 2) == [["f", "d"], ["b", "e"], ["c", "a"]]
    assert walk(mine, 3) == [["f", "d", "b"], ["e", "c", "a"]]
    assert walk(mine, 4) == [["f", "d", "b", "e"], ["c", "a"]]
    assert walk(mine, 6) == walk(mine, 50) == [["f", "d", "b", "e", "c", "a"]]
    assert walk(mine, 50, archived=True) == [["g"]]
    assert walk(mine, 50, archived=None) == [["f", "d", "b", "g", "e", "c", "a"]]


def test_a_page_goes_on_when_the_thread_that_it_ended_with_is_gone(site: Site) -> None:
    ids = start(site, *"abcd")
    mine = site.start()
    page = mine.list_threads(2)
    assert mine.delete_thread(ids[2])
    assert titles(mine.list_threads(2, page.cursor)) == ["b", "a"]


def test_an_owner_sees_and_changes_only_what_is_theirs(site: Site) -> None:
    (mine,) = start(site, "mine")
    (yours,) = start(site, "yours", owner="user:2")
    me, you = site.start(), site.start("user:2")
    assert (titles(me.list_threads()), titles(you.list_threads())) == (["mine"], ["yours"])
    assert not you.update_thread(mine, title="stolen")
    assert you.find_thread(mine) is None
    assert not you.delete_thread(mine)
    thread = t.cast(Thread, me.find_thread(mine))
    assert (thread.id, thread.title, thread.messages) == (mine, "mine", 2)
    assert you.delete_thread(yours)
    assert titles(you.list_threads()) == []
    foreign = me.list_threads(1).cursor
    assert foreign is None
    start(site, "more")
    foreign = me.list_threads(1).cursor
    with pytest.raises(RequestRefused) as refused:
        you.list_threads(1, foreign)
    assert refused.value.code == 400


@pytest.mark.parametrize("thread_id", ["", "\0", "x" * 500, "../x"])
@pytest.mark.parametrize("activity", [0.0, -1e300, 1e300])
def test_a_made_up_place_in_the_list_is_refused_or_shows_what_is_ones_own(
    site: Site, thread_id: str, activity: float
) -> None:
    start(site, "a", "b")
    mine = site.start()
    cursor = t.cast(str, mine.list_threads(1).cursor)
    pinned, _, _, mark = json.loads(base64.urlsafe_b64decode(cursor))
    for place in ((activity, thread_id), (activity, "thread")):
        made_up = base64.urlsafe_b64encode(msgspec.json.encode((pinned, *place, mark))).decode()
        with contextlib.suppress(RequestRefused):
            assert set(titles(mine.list_threads(5, made_up))) <= {"a", "b"}


@pytest.mark.parametrize("unknown", ["", "never-made", "\0", "x" * 500, "../x", "\ud800"])
def test_an_id_that_is_none_changes_nothing(site: Site, unknown: str) -> None:
    start(site, "mine")
    mine = site.start()
    assert not mine.update_thread(unknown, title="x")
    assert not mine.update_thread(unknown)
    assert not mine.delete_thread(unknown)
    assert mine.find_thread(unknown) is None
    assert titles(mine.list_threads()) == ["mine"]


def test_too_long_a_title_changes_nothing(site: Site) -> None:
    (mine,) = start(site, "mine")
    with pytest.raises(RequestRefused, match="at most 200 characters"):
        site.start().update_thread(mine, title="x" * 201, pinned=True)
    thread = t.cast(Thread, site.start().find_thread(mine))
    assert (thread.title, thread.pinned) == ("mine", False)
    assert site.start().update_thread(mine, title="x" * 200)


@pytest.mark.parametrize("limit", [0, -1])
def test_a_page_has_at_least_one_thread(tmp_path: pathlib.Path, limit: int) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        Site(tmp_path).start().list_threads(limit)


class CountingLists(InMemoryPlugin):
    lists = 0
    loads = 0

    def list_threads(self, *arguments: t.Any, **filters: t.Any) -> list[Thread]:
        self.lists += 1
        return super().list_threads(*arguments, **filters)

    def load_messages(self, *arguments: t.Any, **range_: t.Any) -> list[ChatMessage]:
        self.loads += 1
        return super().load_messages(*arguments, **range_)


def test_a_list_reads_no_message_and_asks_the_store_as_little_as_it_can(tmp_path: pathlib.Path) -> None:
    site = Site(tmp_path, CountingLists, OPTIONS={"threads": "many"})
    start(site, *"abcd")
    mine = site.start()
    site.plugin.lists = site.plugin.loads = 0
    page = mine.list_threads(2)
    assert site.plugin.lists == 2
    mine.list_threads(2, page.cursor)
    assert (site.plugin.lists, site.plugin.loads) == (3, 0)


def test_one_ongoing_conversation_is_the_only_one(tmp_path: pathlib.Path) -> None:
    site = Site(tmp_path)
    conversation = site.start()
    assert conversation.list_threads().threads == []
    ask(conversation, "mine")
    assert titles(conversation.list_threads()) == titles(site.start().list_threads()) == ["mine"]
    assert conversation.list_threads(archived=True).threads == []
    assert conversation.list_threads(archived=None).cursor is None


@pytest.mark.scenario("S013")
def test_a_question_of_parts_is_listed_searched_and_loaded(site: Site) -> None:
    parts: list[dict[str, t.Any]] = [
        {"type": "text", "text": "What is this?"},
        {"type": "image_url", "image_url": {"url": "data:,x"}},
    ]
    conversation = site.start()
    conversation.turn(ChatMessage("user", parts)).finish("A dot.")
    conversation.turn(ChatMessage("user", parts[1:])).finish("Another dot.")
    assert titles(conversation.list_threads()) == ["What is this?"]
    assert [hit.text for hit in conversation.search("this").found] == ["What is this?"]
    assert not conversation.search("data:,x").found
    assert [message.content for message in conversation.history()] == [parts, "A dot.", parts[1:], "Another dot."]


@pytest.mark.scenario("S043")
def test_times_are_those_of_the_world_whatever_the_zone_of_the_server(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "Asia/Shanghai")
    time.tzset()
    try:
        before = time.time()
        conversation = site.start()
        ask(conversation, "hello")
        thread = t.cast(Thread, conversation.find_thread(t.cast(str, conversation.thread_id)))
        messages = conversation.history()
        after = time.time()
    finally:
        monkeypatch.undo()
        time.tzset()
    told = [dt.datetime.fromisoformat(t.cast(str, message.created_at)) for message in messages]
    assert {moment.utcoffset() for moment in told} == {dt.timedelta()}
    for moment in (thread.created_at, thread.last_activity, *(moment.timestamp() for moment in told)):
        assert before - 0.001 <= moment <= after + 0.001
