from __future__ import annotations

import pathlib
import typing as t

import pytest

from flask_chat_memory import ChatMessage
from flask_chat_memory import ConfigurationError
from flask_chat_memory import Conversation
from flask_chat_memory import MissingOwner
from flask_chat_memory import Scope
from flask_chat_memory import UnknownThread

from .conversations import ask
from .conversations import BUILT_IN
from .conversations import OWNER
from .conversations import Site
from .conversations import told


@pytest.fixture(params=BUILT_IN)
def site(request: pytest.FixtureRequest, tmp_path: pathlib.Path) -> Site:
    return Site(tmp_path, request.param)


def texts(conversation: Conversation) -> list[str]:
    return [message.text for message in conversation.history()]


def test_a_conversation_goes_on_outside_of_a_request(site: Site) -> None:
    site.memory.provider(lambda turn: f"You said: {turn.text}")
    conversation = site.start()
    assert (conversation.owner, conversation.chatbot, conversation.mode) == (OWNER, "default", "server")
    assert conversation.send("hi").text == "You said: hi"
    assert conversation.send(ChatMessage("user", "again")).text == "You said: again"
    assert texts(site.start()) == ["hi", "You said: hi", "again", "You said: again"]


def test_starting_writes_nothing(site: Site) -> None:
    conversation = site.start()
    assert conversation.history() == []
    assert conversation.thread_id is not None
    assert not site.plugin.has_thread(Scope(OWNER), conversation.thread_id)
    assert ask(conversation, "hi").thread_id == conversation.thread_id


def test_worker_and_page_share_one_conversation(site: Site) -> None:
    site.memory.provider(lambda turn: f"{len(turn.history)} before")
    site.post("from the page").get_data()
    site.start().send("from the worker")
    site.post("from the page again").get_data()
    expected = ["from the page", "0 before", "from the worker", "2 before", "from the page again", "4 before"]
    assert texts(site.start()) == expected
    with site.app.test_request_context():
        assert texts(site.memory.conversation()) == expected
    shown = site.app.test_client().get("/chat-memory/default/history").json
    assert shown is not None
    assert [message["text"] for message in shown["messages"]] == expected


@pytest.mark.scenario("S143", "H30")
@pytest.mark.parametrize("owner", ["", None, 5, "x" * 256, "a\x00b", "\ud800"])
def test_without_an_owner_there_is_no_conversation(owner: t.Any, site: Site) -> None:
    with site.app.app_context():
        with pytest.raises(MissingOwner):
            site.memory.start_conversation(owner)
        with pytest.raises(MissingOwner):
            site.memory.open_conversation(owner, "t")


def test_outside_of_a_request_there_is_no_visitor(site: Site) -> None:
    with site.app.app_context(), pytest.raises(ConfigurationError, match="name the owner"):
        site.memory.conversation()


@pytest.mark.parametrize("thread_id", ["unknown", "", "x" * 10_000, "a\x00", "../../etc/passwd"])
def test_a_thread_that_is_not_the_owners_cannot_be_opened(thread_id: str, site: Site) -> None:
    with site.app.app_context(), pytest.raises(UnknownThread):
        site.memory.open_conversation(OWNER, thread_id)


def test_somebody_elses_thread_is_unknown(site: Site) -> None:
    thread_id = ask(site.start("user:2"), "secret").thread_id
    assert thread_id is not None
    messages = []
    for wanted in (thread_id, "unknown"):
        with site.app.app_context(), pytest.raises(UnknownThread) as caught:
            site.memory.open_conversation(OWNER, wanted)
        messages.append(str(caught.value))
    assert messages[0] == messages[1]
    with site.app.app_context():
        assert texts(site.memory.open_conversation("user:2", thread_id)) == ["secret", "fine"]


@pytest.mark.parametrize("threads", ["one", "many"])
def test_the_thread_that_is_opened_is_the_one_that_goes_on(threads: str, tmp_path: pathlib.Path) -> None:
    site = Site(tmp_path, "sqlalchemy", OPTIONS={"threads": threads})
    for name in ("first", "second"):
        site.plugin.save_messages(Scope(OWNER), name, [ChatMessage("user", f"in the {name}")])
    with site.app.app_context():
        conversation = site.memory.open_conversation(OWNER, "second")
    assert texts(conversation) == ["in the second"]
    assert conversation.thread_id == "second"
    assert ask(conversation, "more").thread_id == "second"


def test_with_many_threads_each_start_is_a_new_one(tmp_path: pathlib.Path) -> None:
    site = Site(tmp_path, "sqlalchemy", OPTIONS={"threads": "many"})
    first, second = site.start(), site.start()
    ask(first, "one")
    ask(second, "two")
    assert first.thread_id != second.thread_id
    assert (texts(first), texts(second)) == (["one", "fine"], ["two", "fine"])


def test_many_visitors_share_no_bucket(site: Site) -> None:
    for owner in ("user:1", "user:10", "user:*", "user:%", "USER:1", "user:1 "):
        ask(site.start(owner), f"I am {owner}")
    for owner in ("user:1", "user:10", "user:*", "user:%", "USER:1", "user:1 "):
        assert texts(site.start(owner)) == [f"I am {owner}", "fine"]


def test_history_takes_the_newest_messages(site: Site) -> None:
    conversation = site.start()
    for number in range(3):
        ask(conversation, str(number), f"a{number}")
    assert [message.text for message in conversation.history(limit=3)] == ["a1", "2", "a2"]
    assert conversation.history(limit=0) == []
    assert len(conversation.history()) == 6
    for limit in (-1, "3", 2.5, True):
        with pytest.raises(ValueError, match="limit"):
            conversation.history(limit=t.cast(int, limit))


def test_pages_give_every_message_once_though_new_ones_arrive(site: Site) -> None:
    conversation = site.start()
    for number in range(5):
        ask(conversation, f"q{number}", f"a{number}")
    page = conversation.page(4)
    pages = [[message.text for message in page.messages]]
    while page.cursor is not None:
        ask(conversation, "later")
        page = conversation.page(4, before=page.cursor)
        pages.insert(0, [message.text for message in page.messages])
    assert pages == [["q0", "a0"], ["q1", "a1", "q2", "a2"], ["q3", "a3", "q4", "a4"]]
    assert page.thread_id == conversation.thread_id


@pytest.mark.scenario("S106")
def test_turns_that_overlap_are_shown_by_question(site: Site) -> None:
    first, second = site.start(), site.start()
    one = first.turn("one")
    two = second.turn("two")
    two.finish("answer two")
    one.finish("answer one")
    three = first.turn("three")
    assert texts(first) == ["one", "answer one", "two", "answer two", "three"]
    assert [message.text for message in three.history] == ["one", "answer one", "two", "answer two"]
    assert [message.text for message in first.page(10).messages] == texts(first)


def test_reset_deletes_the_thread_and_gives_a_new_one(site: Site) -> None:
    conversation = site.start()
    old = ask(conversation, "old").thread_id
    new = conversation.reset()
    assert new not in (None, old)
    assert conversation.history() == []
    assert conversation.turn("new").messages == [{"role": "user", "content": "new"}]
    assert conversation.thread_id == new
    assert site.stored(old) == []


@pytest.mark.scenario("D20")
def test_reset_of_nothing_succeeds(site: Site) -> None:
    conversation = site.start()
    ids = {conversation.reset() for _ in range(3)}
    assert None not in ids
    ask(conversation, "hi")
    ask(site.start("user:2"), "not mine")
    assert conversation.reset("unknown") == conversation.thread_id
    assert texts(conversation) == ["hi", "fine"]
    theirs = site.start("user:2").thread_id
    conversation.reset(theirs)
    assert texts(site.start("user:2")) == ["not mine", "fine"]


def test_clear_keeps_the_id(site: Site) -> None:
    conversation = site.start()
    before = ask(conversation, "hi").thread_id
    conversation.clear()
    assert conversation.history() == []
    assert ask(conversation, "again").thread_id == before
    assert texts(conversation) == ["again", "fine"]


def test_clear_of_nothing_succeeds(site: Site) -> None:
    conversation = site.start()
    conversation.clear()
    assert conversation.history() == []


def test_every_status_is_shown_as_it_was_stored(site: Site) -> None:
    conversation = site.start()
    conversation.turn("1").fail("down", "part")
    conversation.turn("2").leave()
    assert told(conversation.history()) == [
        ("user", "1", None),
        ("assistant", "part", "failed"),
        ("user", "2", None),
        ("assistant", None, "partial"),
    ]
