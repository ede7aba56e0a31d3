from __future__ import annotations

import concurrent.futures
import pathlib
import threading

import pytest

from flask_chat_memory import ChatMessage
from flask_chat_memory import Conversation
from flask_chat_memory import RequestRefused
from flask_chat_memory import Turn

from .conversations import ask
from .conversations import body
from .conversations import BUILT_IN
from .conversations import CountingPlugin
from .conversations import Site
from .conversations import told
from .five_methods import FiveMethodsPlugin


@pytest.fixture(params=[*BUILT_IN, FiveMethodsPlugin], ids=[*BUILT_IN, "five"])
def site(request: pytest.FixtureRequest, tmp_path: pathlib.Path) -> Site:
    return Site(tmp_path, request.param)


@pytest.fixture
def conversation(site: Site) -> Conversation:
    return site.start()


def test_a_recorded_message_with_a_status_is_not_taken_for_the_answer(conversation: Conversation) -> None:
    turn = conversation.turn(body("hi", key="k"))
    turn.record(ChatMessage("assistant", "draft", status="complete"))
    turn.finish("final")
    again = conversation.turn(body("hi", key="k"))
    assert again.answer is not None
    assert again.answer.text == "final"


def test_a_repeat_of_a_finished_turn_gets_the_same_answer(site: Site, conversation: Conversation) -> None:
    first = conversation.turn(body("hi", key="k"))
    first.finish("hello")
    for _ in range(3):
        again = conversation.turn(body("hi", key="k"))
        assert again.repeated
        assert (again.id, again.answer_id, again.answer) == (first.id, first.answer_id, first.answer)
        assert again.thread_id == first.thread_id
        assert list(again.stream(["another"])) == ["hello"]
        with again:
            again.finish("yet another")
    assert told(site.stored(first.thread_id)) == [("user", "hi", None), ("assistant", "hello", "complete")]


def test_a_repeat_writes_nothing_when_it_ends(tmp_path: pathlib.Path) -> None:
    site = Site(tmp_path, CountingPlugin)
    conversation = site.start()
    conversation.turn(body("hi", key="k")).finish("hello")
    again = conversation.turn(body("hi", key="k"))
    before = site.plugin.given
    with again:
        list(again.stream(["another"]))
    again.leave()
    assert site.plugin.given == before


def test_without_live_turns_a_repeat_of_a_running_turn_is_refused_until_it_is_over(tmp_path: pathlib.Path) -> None:
    conversation = Site(tmp_path, FiveMethodsPlugin).start()
    running = conversation.turn(body("hi", key="k"))
    with pytest.raises(RequestRefused) as caught:
        conversation.turn(body("hi", key="k"))
    assert (caught.value.code, caught.value.description) == (409, "This message is still being answered.")
    running.finish("hello")
    assert conversation.turn(body("hi", key="k")).answer is not None


@pytest.mark.scenario("S091")
def test_a_repeat_of_a_failed_turn_stores_nothing_again(site: Site, conversation: Conversation) -> None:
    failed = conversation.turn(body("hi", key="k"))
    failed.fail("down", "so far")
    again = conversation.turn(body("hi", key="k"))
    assert again.failed_before
    assert len(site.stored(failed.thread_id)) == 2


def test_another_text_under_the_same_key_is_refused(site: Site, conversation: Conversation) -> None:
    ask(conversation, "before")
    conversation.turn(body("hi", key="k")).finish("hello")
    with pytest.raises(RequestRefused, match="same key") as caught:
        conversation.turn(body("bye", key="k"))
    assert caught.value.code == 409
    assert len(site.stored(conversation.thread_id)) == 4


def test_a_client_key_cannot_be_the_key_of_an_answer(site: Site, conversation: Conversation) -> None:
    running = conversation.turn("hi")
    conversation.turn(body("claim", key=f"answer:{running.id}")).finish("claimed")
    running.finish("hello")
    assert "hello" in [message.text for message in site.stored(running.thread_id)]


def test_a_repeat_far_back_is_found(conversation: Conversation) -> None:
    conversation.turn(body("hi", key="k")).finish("hello")
    for _ in range(49):
        ask(conversation, "more")
    again = conversation.turn(body("hi", key="k"))
    assert again.answer is not None
    assert again.answer.text == "hello"


@pytest.mark.scenario("S093")
@pytest.mark.parametrize("plugin", BUILT_IN)
def test_the_same_key_four_times_at_once_is_one_question(plugin: str, tmp_path: pathlib.Path) -> None:
    site = Site(tmp_path, plugin)
    site.start().turn("so that there is a thread").finish("yes")
    conversations = [site.start() for _ in range(4)]
    barrier = threading.Barrier(4)

    def post(conversation: Conversation) -> Turn:
        barrier.wait(10)
        return conversation.turn(body("hi", key="k"))

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        outcomes = list(pool.map(post, conversations))
    [turn] = [outcome for outcome in outcomes if not outcome.repeated]
    assert {outcome.answer_id for outcome in outcomes} == {turn.answer_id}
    turn.finish("hello")
    assert [list(outcome.stream([])) for outcome in outcomes if outcome.repeated] == [["hello"]] * 3
    assert [message.text for message in site.stored(turn.thread_id)][2:] == ["hi", "hello"]
    for conversation in conversations:
        again = conversation.turn(body("hi", key="k"))
        assert (again.answer, again.answer_id) == (turn.answer, turn.answer_id)
