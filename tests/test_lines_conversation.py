"""Edit, regenerate, switch and undo: what is seen of a thread, what the model sees, and what stays in the store."""

from __future__ import annotations

import collections.abc as cabc
import functools
import pathlib
import typing as t

import pytest

from flask_chat_memory import ChatMessage
from flask_chat_memory import Conversation
from flask_chat_memory import RequestRefused
from flask_chat_memory import Scope
from flask_chat_memory import StorageError
from flask_chat_memory import Turn
from flask_chat_memory import UnknownThread
from flask_chat_memory.live import LEASE
from flask_chat_memory.live import LeaseKeeper
from flask_chat_memory.location import PAGE
from flask_chat_memory.transfer.thread_file import export_thread

from .apps import ManualClock
from .conversations import ask
from .conversations import BUILT_IN
from .conversations import OWNER
from .conversations import Site
from .conversations import told
from .five_methods import FiveMethodsPlugin

PICTURE = {"type": "image_url", "image_url": {"url": "data:,"}}


@pytest.fixture(params=BUILT_IN)
def plugin(request: pytest.FixtureRequest) -> str:
    return t.cast(str, request.param)


@pytest.fixture
def site(tmp_path: pathlib.Path, plugin: str) -> Site:
    return Site(tmp_path, plugin)


@pytest.fixture
def conversation(site: Site) -> Conversation:
    return site.start()


@pytest.fixture(autouse=True)
def keeper(monkeypatch: pytest.MonkeyPatch) -> LeaseKeeper:
    """Renew only when a test says so."""
    keeper = LeaseKeeper(interval=3600)
    monkeypatch.setattr("flask_chat_memory.turn.leases", keeper)
    return keeper


def texts(conversation: Conversation) -> list[str]:
    return [message.text for message in conversation.history()]


def contents(turn: Turn) -> list[t.Any]:
    return [message["content"] for message in turn.messages]


def id_of(turn: Turn) -> str:
    return t.cast(str, turn.question.id)


def everything(site: Site, conversation: Conversation) -> list[ChatMessage]:
    """Return the messages of all lines."""
    return t.cast("list[ChatMessage]", site.plugin.load_messages(Scope(OWNER), conversation.thread_id, hidden=True))


def fail(*arguments: object) -> t.NoReturn:
    raise StorageError("the store is down")


def refused(call: cabc.Callable[[], object]) -> int:
    """Return the code with which a call is refused."""
    with pytest.raises(RequestRefused) as caught:
        call()
    assert str(caught.value.description).endswith(".")
    return t.cast(int, caught.value.code)


def test_an_edited_question_begins_a_new_line_from_there(site: Site, conversation: Conversation) -> None:
    for text in ("one", "two", "three"):
        ask(conversation, text, text.upper())
    second = conversation.history()[2]
    turn = conversation.edit(str(second.id), "zwei")
    assert contents(turn) == ["one", "ONE", "zwei"]
    turn.finish("ZWEI")
    assert texts(site.start()) == ["one", "ONE", "zwei", "ZWEI"]
    assert [message.text for message in everything(site, conversation)] == [
        "one",
        "ONE",
        "two",
        "TWO",
        "three",
        "THREE",
        "zwei",
        "ZWEI",
    ]
    follow_up = conversation.turn("four")
    assert contents(follow_up) == ["one", "ONE", "zwei", "ZWEI", "four"]


@pytest.mark.parametrize("how", ["edit", "regenerate"])
def test_an_answer_that_came_late_to_an_older_question_stays(site: Site, conversation: Conversation, how: str) -> None:
    slow = conversation.turn("one")
    quick = ask(conversation, "two", "TWO")
    slow.finish("ONE")
    turn = conversation.edit(id_of(quick), "zwei") if how == "edit" else conversation.regenerate()
    assert contents(turn) == ["one", "ONE", turn.text]
    turn.finish("ZWEI")
    assert texts(site.start()) == ["one", "ONE", turn.text, "ZWEI"]
    assert conversation.page(10).versions == {5: (2, 5)}
    assert conversation.switch(2)
    assert texts(site.start()) == ["one", "ONE", "two", "TWO"]
    assert conversation.page(10).versions == {2: (2, 5)}


def test_of_what_came_after_a_question_only_answers_to_older_ones_stay(site: Site, conversation: Conversation) -> None:
    slow = conversation.turn("one")
    edited = conversation.turn("two")
    later = conversation.turn("three")
    for turn in (later, slow, edited):
        turn.finish(turn.text.upper())
    nobodys = ChatMessage("assistant", "by the way", id="m", turn="of no question", created_at=slow.question.created_at)
    site.plugin.append_messages(Scope(OWNER), conversation.thread_id, [nobodys])
    conversation.edit(id_of(edited), "zwei").finish("ZWEI")
    assert texts(site.start()) == ["one", "ONE", "zwei", "ZWEI"]


@pytest.mark.scenario("S108")
def test_the_older_line_can_be_switched_to_and_goes_on(site: Site, conversation: Conversation) -> None:
    first = ask(conversation, "one", "ONE")
    ask(conversation, "two", "TWO")
    conversation.edit(id_of(first), "eins").finish("EINS")
    assert conversation.page(10).versions == {5: (1, 5)}
    assert conversation.switch(1)
    assert texts(site.start()) == ["one", "ONE", "two", "TWO"]
    assert site.start().page(10).versions == {1: (1, 5)}
    ask(conversation, "three", "THREE")
    assert conversation.switch(5)
    assert texts(conversation) == ["eins", "EINS"]
    assert conversation.switch(5)
    assert conversation.switch(1)
    assert texts(conversation) == ["one", "ONE", "two", "TWO", "three", "THREE"]


@pytest.mark.parametrize("version", [0, -1, 5, 10**12])
def test_there_is_no_other_version_to_switch_to(site: Site, conversation: Conversation, version: int) -> None:
    assert site.start(owner="user:nobody").switch(version) is False
    first = ask(conversation, "one")
    conversation.edit(id_of(first), "eins").finish("fine")
    assert conversation.switch(version) is False
    assert texts(conversation) == ["eins", "fine"]


@pytest.mark.scenario("S092", "S094")
def test_each_regeneration_is_a_version_of_the_last_question(site: Site, conversation: Conversation) -> None:
    ask(conversation, "one", "ONE")
    question = ask(conversation, "two", "first").question
    for answer in ("second", "third"):
        turn = site.start().regenerate()
        assert contents(turn) == ["one", "ONE", "two"]
        turn.finish(answer)
    page = site.start().page(10)
    assert [message.text for message in page.messages] == ["one", "ONE", "two", "third"]
    assert page.versions == {7: (3, 5, 7)}
    assert page.messages[2].id != question.id
    for version, answer in ((3, "first"), (5, "second"), (7, "third")):
        assert conversation.switch(version)
        assert texts(site.start()) == ["one", "ONE", "two", answer]
        assert list(site.start().page(10).versions.values()) == [(3, 5, 7)]


@pytest.mark.scenario("S103")
def test_the_second_of_two_answers_in_a_row_is_not_mixed_with_the_first(site: Site) -> None:
    thread_id = site.plugin.create_thread_id()
    batch = [ChatMessage("user", "hi"), ChatMessage("assistant", "one"), ChatMessage("assistant", "two")]
    site.plugin.append_messages(Scope(OWNER), thread_id, batch)
    with site.app.app_context():
        conversation = site.memory.open_conversation(OWNER, thread_id)
    turn = conversation.regenerate()
    assert contents(turn) == ["hi"]
    turn.finish("three")
    assert texts(conversation) == ["hi", "three"]
    assert conversation.switch(1)
    assert texts(conversation) == ["hi", "one", "two"]


def test_a_failed_edit_leaves_the_older_line_to_go_back_to(site: Site, conversation: Conversation) -> None:
    first = ask(conversation, "one", "ONE")

    @site.memory.provider
    def answer(turn: Turn) -> cabc.Iterator[str]:
        yield "so far"
        raise RuntimeError("the model is gone")

    with site.app.test_request_context(headers={"Accept": "application/json"}):
        asking = site.memory.conversation()
        turn = asking.edit(id_of(first), "eins")
        assert turn.response(answer(turn)).status_code == 502
    assert told(conversation.history()) == [("user", "eins", None), ("assistant", "so far", "failed")]
    assert conversation.switch(1)
    assert texts(conversation) == ["one", "ONE"]
    assert contents(conversation.turn("two")) == ["one", "ONE", "two"]


@pytest.mark.scenario("S092")
def test_a_failed_answer_can_be_made_again(conversation: Conversation) -> None:
    conversation.turn("one").fail("no model")
    conversation.regenerate().finish("ONE")
    assert texts(conversation) == ["one", "ONE"]


def test_a_question_is_found_however_long_ago_it_was_asked(site: Site) -> None:
    thread_id = site.plugin.create_thread_id()
    batch = [ChatMessage("user", "first", id="first")]
    batch += [ChatMessage("assistant", str(number)) for number in range(2 * PAGE + 1)]
    site.plugin.append_messages(Scope(OWNER), thread_id, batch)
    with site.app.app_context():
        conversation = site.memory.open_conversation(OWNER, thread_id)
    conversation.regenerate().finish("fine")
    assert texts(conversation) == ["first", "fine"]
    assert conversation.switch(1)
    conversation.edit("first", "other").finish("fine, too")
    assert texts(conversation) == ["other", "fine, too"]


def test_parts_that_are_no_text_are_kept(conversation: Conversation) -> None:
    content: list[dict[str, t.Any]] = [
        {"type": "text", "text": "what"},
        PICTURE,
        {"type": "text", "text": "is this?"},
    ]
    turn = conversation.turn(ChatMessage("user", content, metadata={"page": "/cats"}), by="user:2")
    turn.finish("a cat")
    edited = conversation.edit(id_of(turn), "who is this?", by="user:3")
    assert edited.question.content == [{"type": "text", "text": "who is this?"}, PICTURE]
    assert edited.question.metadata == {"page": "/cats", "by": "user:3"}
    edited.finish("Tom")
    again = conversation.regenerate()
    assert again.question.content == edited.question.content
    assert again.question.metadata == {"page": "/cats"}
    again.finish("Jerry")
    alone = conversation.edit(id_of(again), " ")
    assert alone.question.content == [PICTURE]


def test_bad_edits_are_refused_and_change_nothing(site: Site, conversation: Conversation) -> None:
    turn = ask(conversation, "one", "ONE")
    other = site.start(owner="user:2")
    foreign = id_of(ask(other, "theirs"))
    answer_id = turn.answer_id
    before = everything(site, conversation)
    for question_id in ("unknown", "", foreign, turn.id):
        for key in (None, "k"):
            assert refused(functools.partial(conversation.edit, question_id, "x", key=key)) == 404
    assert refused(lambda: conversation.edit(answer_id, "x")) == 400
    assert refused(lambda: conversation.edit(id_of(turn), " \n")) == 400
    assert refused(lambda: conversation.edit(id_of(turn), t.cast(str, None))) == 400
    assert refused(lambda: conversation.edit(id_of(turn), "x" * 32_001)) == 413
    assert refused(lambda: other.edit(id_of(turn), "mine")) == 404
    assert refused(lambda: site.start(owner="user:nobody").edit(id_of(turn), "mine")) == 404
    assert everything(site, conversation) == before
    assert texts(other) == ["theirs", "fine"]


def test_what_is_hidden_cannot_be_edited(conversation: Conversation) -> None:
    first = ask(conversation, "one")
    conversation.edit(id_of(first), "eins").finish("fine")
    assert refused(lambda: conversation.edit(id_of(first), "un")) == 404


def test_a_question_that_goes_between_look_and_write_is_not_found(
    site: Site, conversation: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = ask(conversation, "one")
    start_turn = site.plugin.start_turn

    def reset_first(*arguments: t.Any, **named: t.Any) -> t.Any:
        site.start().reset()
        return start_turn(*arguments, **named)

    monkeypatch.setattr(site.plugin, "start_turn", reset_first)
    assert refused(lambda: conversation.edit(id_of(first), "eins")) == 404
    assert site.start().history() == []


@pytest.mark.parametrize("threads", ["one", "many"])
def test_an_empty_thread_has_nothing_to_regenerate(tmp_path: pathlib.Path, threads: str) -> None:
    site = Site(tmp_path, OPTIONS={"threads": threads})
    conversation = site.start()
    assert refused(conversation.regenerate) == 404
    ask(conversation, "one")
    conversation.clear()
    assert refused(conversation.regenerate) == 404
    assert conversation.history() == []


def test_a_question_that_is_being_answered_is_not_asked_once_more(site: Site, conversation: Conversation) -> None:
    clock = site.plugin.clock = ManualClock()
    turn = conversation.turn("one")
    assert refused(conversation.regenerate) == 409
    assert refused(lambda: conversation.regenerate(key="k")) == 409
    assert len(everything(site, conversation)) == 1
    # Its process has died.
    clock.advance(LEASE)
    conversation.regenerate().finish("ONE")
    assert texts(conversation) == ["one", "ONE"]
    assert told(everything(site, conversation))[1] == ("assistant", None, "partial")
    assert turn.answer is None


@pytest.mark.parametrize("how", ["edit", "regenerate"])
def test_a_repeat_gets_the_same_reply(site: Site, conversation: Conversation, how: str) -> None:
    first = ask(conversation, "one", "ONE")

    def again(key: str = "k", text: str = "eins") -> Turn:
        if how == "edit":
            return site.start().edit(id_of(first), text, key=key)
        return site.start().regenerate(key=key)

    turn = again()
    assert not turn.repeated
    running = again()
    assert (running.repeated, running.answer, running.answer_id) == (True, None, turn.answer_id)
    if how == "edit":
        assert refused(lambda: again(text="other")) == 409
    turn.finish("EINS")
    repeated = again()
    assert repeated.repeated and repeated.answer == turn.answer
    assert list(running.stream([])) == ["EINS"]
    assert len(everything(site, conversation)) == 4


def test_a_key_of_another_question_is_refused(conversation: Conversation) -> None:
    first = ask(conversation, "one")
    conversation.edit(id_of(first), "eins", key="k").finish("fine")
    second = ask(conversation, "two")
    assert refused(lambda: conversation.edit(id_of(second), "zwei", key="k")) == 409
    assert texts(conversation) == ["eins", "fine", "two", "fine"]


def test_an_answer_that_comes_after_the_edit_belongs_to_its_question(site: Site, conversation: Conversation) -> None:
    first = ask(conversation, "one", "ONE")
    running = conversation.turn("two")
    stream = running.stream(["TW", "O"])
    next(stream)
    edited = site.start().edit(id_of(first), "eins")
    assert site.start().page(10).running == {running.id, edited.id}
    assert list(stream) == ["O"]
    assert running.answer is not None and running.answer.status == "complete"
    edited.finish("EINS")
    assert texts(conversation) == ["eins", "EINS"]
    assert conversation.switch(1)
    assert texts(conversation) == ["one", "ONE", "two", "TWO"]


def test_who_follows_a_turn_that_was_hidden_gets_its_answer(site: Site, conversation: Conversation) -> None:
    running = conversation.turn("one")
    follower = site.start().resume(id_of(running))
    site.start().edit(id_of(running), "eins").finish("EINS")
    running.finish("ONE")
    assert list(follower.stream([])) == ["ONE"]


def test_a_version_that_is_no_longer_stored_is_none(tmp_path: pathlib.Path, plugin: str) -> None:
    site = Site(tmp_path, plugin, OPTIONS={"max_messages": 6})
    conversation = site.start()
    for text in ("one", "two"):
        ask(conversation, text, text.upper())
    for answer in ("ZWEI", "DEUX"):
        conversation.regenerate().finish(answer)
    assert [message.sequence for message in everything(site, conversation)] == [3, 4, 5, 6, 7, 8]
    assert conversation.page(10).versions == {7: (3, 5, 7)}
    conversation.regenerate().finish("DUE")
    assert conversation.page(10).versions == {9: (5, 7, 9)}
    for gone in (1, 3, 4):
        assert conversation.switch(gone) is False
    assert texts(conversation) == ["two", "DUE"]
    assert conversation.switch(5)
    assert texts(conversation) == ["two", "ZWEI"]
    for text in ("three", "four", "five"):
        ask(conversation, text, text.upper())
        assert all(here in versions for here, versions in conversation.page(10).versions.items())
    assert conversation.page(10).versions == {}


@pytest.mark.scenario("D52")
def test_ones_own_last_turn_is_taken_back(site: Site, conversation: Conversation) -> None:
    ask(conversation, "one", "ONE")
    ask(conversation, "two", "TWO")
    assert conversation.undo()
    assert texts(site.start()) == ["one", "ONE"]
    assert contents(site.start().turn("three")) == ["one", "ONE", "three"]
    assert conversation.undo()
    assert texts(site.start()) == ["three"]
    assert conversation.undo() is False
    assert site.start().undo() is False


def test_a_turn_that_could_not_be_taken_back_is_the_next_one_still(
    site: Site, conversation: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask(conversation, "one", "ONE")
    ask(conversation, "two", "TWO")
    with monkeypatch.context() as patch:
        patch.setattr(site.plugin, "change_lines", fail)
        with pytest.raises(StorageError):
            conversation.undo()
    assert texts(site.start()) == ["one", "ONE", "two", "TWO"]
    assert conversation.undo()
    assert texts(site.start()) == ["one", "ONE"]


@pytest.mark.scenario("S102")
def test_undo_leaves_what_others_have_written_since(site: Site, conversation: Conversation) -> None:
    ask(conversation, "before")
    ask(conversation, "mine", "for me")
    ask(site.start(), "theirs", "for them")
    assert conversation.undo()
    assert texts(conversation) == ["before", "fine", "theirs", "for them"]
    assert conversation.page(10).versions == {}
    assert conversation.switch(3)
    assert texts(conversation) == ["before", "fine", "mine", "for me", "theirs", "for them"]


@pytest.mark.scenario("S102")
def test_undo_after_a_failed_attempt_removes_no_other_message(site: Site, conversation: Conversation) -> None:
    ask(site.start(), "theirs", "for them")
    assert conversation.undo() is False
    conversation.turn("mine").fail("no model")
    assert conversation.undo()
    assert texts(site.start()) == ["theirs", "for them"]


def test_undo_stops_a_turn_that_is_being_answered(site: Site, conversation: Conversation, keeper: LeaseKeeper) -> None:
    ask(conversation, "before")
    turn = conversation.turn("mine")
    stream = turn.stream(["a", "b"])
    next(stream)
    assert conversation.undo()
    assert texts(site.start()) == ["before", "fine"]
    keeper.renew()
    assert list(stream) == []
    assert turn.answer is not None and turn.answer.status == "stopped"
    assert texts(site.start()) == ["before", "fine"]
    assert told(everything(site, conversation))[2:] == [("user", "mine", None), ("assistant", "a", "stopped")]


def test_an_answer_that_comes_while_its_turn_is_taken_back_is_hidden_too(
    site: Site, conversation: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    turn = conversation.turn("mine")
    change_lines = site.plugin.change_lines

    def finish_first(*arguments: t.Any) -> bool:
        turn.finish("just now")
        return t.cast(bool, change_lines(*arguments))

    monkeypatch.setattr(site.plugin, "change_lines", finish_first)
    assert conversation.undo()
    assert texts(site.start()) == []
    ask(conversation, "next")
    assert conversation.page(10).versions == {3: (1, 3)}
    assert conversation.switch(1)
    assert texts(conversation) == ["mine", "just now"]


def test_a_turn_is_taken_back_by_its_id(site: Site, conversation: Conversation) -> None:
    turn = ask(conversation, "one")
    ask(conversation, "two")
    assert site.start(owner="user:2").undo(turn.id) is False
    assert site.start().undo("unknown") is False
    assert site.start().undo(turn.id)
    assert texts(conversation) == ["two", "fine"]
    assert site.start().undo(turn.id) is False


def test_a_turn_is_taken_back_by_its_question(site: Site, conversation: Conversation) -> None:
    ask(conversation, "one")
    ask(conversation, "two")
    question, answer = (str(message.id) for message in conversation.history()[:2])
    assert site.start(owner="user:2").undo(question_id=question) is False
    assert site.start().undo(question_id="unknown") is False
    with pytest.raises(RequestRefused, match="Only a question"):
        site.start().undo(question_id=answer)
    assert site.start().undo(question_id=question)
    assert texts(conversation) == ["two", "fine"]
    assert site.start().undo(question_id=question) is False


def test_a_turn_that_was_taken_back_by_its_id_is_not_the_next_one(conversation: Conversation) -> None:
    ask(conversation, "one", "ONE")
    second = ask(conversation, "two", "TWO")
    assert conversation.undo(second.id)
    assert conversation.undo()
    assert texts(conversation) == []


def test_undo_finds_the_thread_of_the_turn(tmp_path: pathlib.Path) -> None:
    site = Site(tmp_path, OPTIONS={"threads": "many"})
    conversation = site.start()
    first = str(ask(conversation, "one").thread_id)
    conversation.new_chat()
    ask(conversation, "two")
    conversation.open(first)
    assert conversation.undo()
    assert texts(conversation) == ["one", "fine"]
    assert conversation.undo()
    assert conversation.history() == []


def test_what_is_hidden_has_cost_as_much(conversation: Conversation) -> None:
    for number in range(2):
        turn = conversation.regenerate() if number else conversation.turn("one")
        turn.finish("ONE", usage={"input": 1, "output": 2})
    assert conversation.usage().total == 6


@pytest.mark.scenario("S083")
def test_a_deleted_thread_takes_all_lines_with_it(site: Site, conversation: Conversation) -> None:
    first = ask(conversation, "one")
    conversation.edit(id_of(first), "eins").finish("fine")
    thread_id = str(conversation.thread_id)
    assert export_thread(site.plugin, Scope(OWNER), thread_id).count(b'"user"') == 2
    conversation.reset()
    assert site.plugin.load_messages(Scope(OWNER), thread_id, hidden=True) == []
    with pytest.raises(UnknownThread):
        export_thread(site.plugin, Scope(OWNER), thread_id)
    assert site.start().switch(1) is False


def test_before_turn_is_asked_and_a_chatbot_that_is_off_refuses(tmp_path: pathlib.Path) -> None:
    site = Site(tmp_path, CHATBOTS={"default": {}, "off": {"enabled": False}})
    first = ask(site.start(), "one")
    site.plugin.append_messages(Scope(OWNER, "off"), "thread", [ChatMessage("user", "hi", id="q")])
    assert refused(lambda: site.start(chatbot="off").edit("q", "ho")) == 403
    assert refused(site.start(chatbot="off").regenerate) == 403
    site.memory.before_turn(lambda conversation: "No more today.")
    assert refused(lambda: site.start().edit(id_of(first), "eins")) == 403
    assert refused(site.start().regenerate) == 403
    assert texts(site.start()) == ["one", "fine"]


@pytest.mark.parametrize("plugin", [None, FiveMethodsPlugin])
def test_where_nothing_can_be_hidden_nothing_is_changed(tmp_path: pathlib.Path, plugin: t.Any) -> None:
    site = Site(tmp_path, plugin)
    with site.app.test_request_context():
        conversation = site.memory.conversation()
        turn = ask(conversation, "one")
        for call in (
            lambda: conversation.edit(id_of(turn), "eins"),
            conversation.regenerate,
            lambda: conversation.switch(1),
            conversation.undo,
        ):
            assert refused(call) == 400


def test_versions_are_told_with_pages_only_where_there_are_some(site: Site, conversation: Conversation) -> None:
    ask(conversation, "one")
    assert conversation.page(10).versions == {}
    assert site.start(owner="user:2").page(10).versions == {}


def test_two_chatbots_have_lines_of_their_own(tmp_path: pathlib.Path) -> None:
    site = Site(tmp_path, CHATBOTS={"a": {}, "b": {}})
    a, b = site.start(chatbot="a"), site.start(chatbot="b")
    first, second = ask(a, "one"), ask(b, "two")
    assert refused(lambda: a.edit(id_of(second), "x")) == 404
    a.edit(id_of(first), "eins").finish("fine")
    assert (texts(a), texts(b)) == (["eins", "fine"], ["two", "fine"])
