from __future__ import annotations

import concurrent.futures
import pathlib
import threading
import typing as t

import pytest

from flask_chat_memory import ChatMessage
from flask_chat_memory import Conversation
from flask_chat_memory import InvalidMessage
from flask_chat_memory import StorageError
from flask_chat_memory import Turn
from flask_chat_memory import Usage

from .conversations import ask
from .conversations import BUILT_IN
from .conversations import FragilePlugin
from .conversations import OWNER
from .conversations import Site
from .conversations import told
from .five_methods import FiveMethodsPlugin

CALL = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}


@pytest.fixture(params=[*BUILT_IN, FiveMethodsPlugin], ids=[*BUILT_IN, "five"])
def site(request: pytest.FixtureRequest, tmp_path: pathlib.Path) -> Site:
    return Site(tmp_path, request.param)


@pytest.fixture
def conversation(site: Site) -> Conversation:
    return site.start()


@pytest.mark.scenario("S085")
def test_the_question_is_stored_before_the_answer_begins(site: Site, conversation: Conversation) -> None:
    turn = conversation.turn("hi")
    [stored] = site.stored(turn.thread_id)
    assert stored == turn.question
    assert (stored.role, stored.content, stored.turn, stored.sequence) == ("user", "hi", turn.id, 1)
    assert stored.created_at is not None
    assert stored.created_at.endswith("Z")


@pytest.mark.scenario("S133", "D40")
def test_a_turn_tells_what_it_is_about(conversation: Conversation) -> None:
    ask(conversation, "first", "answer")
    turn = conversation.turn("second")
    assert (turn.text, turn.owner, turn.chatbot, turn.system, turn.repeated) == (
        "second",
        OWNER,
        "default",
        None,
        False,
    )
    assert told(turn.history) == [("user", "first", None), ("assistant", "answer", "complete")]
    assert turn.messages == [
        {"role": "user", "content": "first"},
        {"role": "assistant", "content": "answer"},
        {"role": "user", "content": "second"},
    ]
    assert turn.answer is None


@pytest.mark.scenario("S104")
def test_ids_that_are_announced_are_those_that_are_stored(site: Site, conversation: Conversation) -> None:
    endings: list[t.Callable[[Turn], object]] = [
        lambda turn: turn.finish("a"),
        lambda turn: turn.fail("no", "a"),
        lambda turn: turn.leave("a"),
        lambda turn: turn.leave(),
        lambda turn: list(turn.stream(["a", "b"])),
        lambda turn: turn.stream(["a", "b"]).close(),
    ]
    for end in endings:
        turn = conversation.turn("hi")
        announced = (turn.question.id, turn.answer_id)
        end(turn)
        question, answer = site.stored(turn.thread_id)[-2:]
        assert (question.id, answer.id) == announced
        assert question.turn == answer.turn == turn.id
        assert turn.answer == answer
    stored = site.stored(conversation.thread_id)
    assert len({message.id for message in stored}) == len(stored) == 2 * len(endings)
    assert [message.sequence for message in stored] == list(range(1, len(stored) + 1))


ENDINGS: dict[str, tuple[t.Callable[[Turn], object], tuple[str, t.Any, str | None]]] = {
    "finish": (lambda turn: turn.finish("done"), ("assistant", "done", "complete")),
    "fail": (lambda turn: turn.fail(ValueError("secret"), "so far"), ("assistant", "so far", "failed")),
    "leave": (lambda turn: turn.leave("part"), ("assistant", "part", "partial")),
    "with": (lambda turn: turn.__exit__(None, None, None), ("assistant", None, "partial")),
    "stream": (lambda turn: list(turn.stream(["st", "ream"])), ("assistant", "stream", "complete")),
    "close": (lambda turn: turn.stream(["never"]).close(), ("assistant", None, "partial")),
}


@pytest.mark.parametrize("second", ENDINGS)
@pytest.mark.parametrize("first", ENDINGS)
def test_whoever_ends_the_turn_first_wins(first: str, second: str, tmp_path: pathlib.Path) -> None:
    site = Site(tmp_path)
    turn = site.start().turn("hi")
    end, expected = ENDINGS[first]
    end(turn)
    for again in (second, first):
        ENDINGS[again][0](turn)
    assert told(site.stored(turn.thread_id)) == [("user", "hi", None), expected]
    assert turn.answer is not None
    assert told([turn.answer]) == [expected]


@pytest.mark.parametrize("plugin", BUILT_IN)
def test_many_threads_that_end_a_turn_store_one_answer(plugin: str, tmp_path: pathlib.Path) -> None:
    site = Site(tmp_path, plugin)
    turn = site.start().turn("hi")
    barrier = threading.Barrier(6)

    def end(number: int) -> str | None:
        barrier.wait(10)
        return turn.finish(str(number)).text if number % 2 else turn.leave(str(number)).text

    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        answers = set(pool.map(end, range(6)))
    assert len(answers) == 1
    assert [message.text for message in site.stored(turn.thread_id)] == ["hi", *answers]


def test_a_turn_that_is_ended_while_it_ends_has_one_answer(tmp_path: pathlib.Path) -> None:
    site = Site(tmp_path)
    turn = site.start().turn("hi")
    clock = site.plugin.clock
    second = threading.Thread(target=turn.leave, args=("second",), daemon=True)

    def interrupted() -> float:
        site.plugin.clock = clock
        second.start()
        # It has to wait for the first, so it cannot be over by now.
        second.join(0.2)
        return float(clock())

    site.plugin.clock = interrupted
    assert turn.finish("first").text == "first"
    second.join(10)
    assert told([turn.answer]) == [("assistant", "first", "complete")]  # type: ignore[list-item]
    assert told(site.stored(turn.thread_id))[1:] == [("assistant", "first", "complete")]


@pytest.mark.parametrize("late", ["complete", "partial"])
def test_two_processes_that_end_a_turn_store_one_answer(late: str, tmp_path: pathlib.Path) -> None:
    site, other = Site(tmp_path, "sqlalchemy"), Site(tmp_path, "sqlalchemy")
    turn = site.start().turn("hi")
    other.plugin.clock = lambda: site.plugin.clock() + 60
    page = other.start().page(10)
    assert told(page.messages) == [("user", "hi", None), ("assistant", None, "partial")]
    # It is not stored, and whoever waits for it must not be told that it is.
    with pytest.raises(StorageError, match="taken for dead"):
        turn.finish("too late") if late == "complete" else turn.leave("too late")
    assert told(site.stored(turn.thread_id)) == [("user", "hi", None), ("assistant", None, "partial")]


@pytest.mark.scenario("S098")
def test_usage_and_model_are_stored(site: Site, conversation: Conversation) -> None:
    turn = conversation.turn("hi")
    turn.finish("a", usage={"prompt_tokens": 3, "completion_tokens": 2}, model="m-1")
    answer = site.stored(turn.thread_id)[-1]
    assert (answer.usage, answer.model) == (Usage(input=3, output=2), "m-1")
    turn = conversation.turn("again")
    turn.usage, turn.model = Usage(total=7), "m-2"
    list(turn.stream(["a"]))
    answer = site.stored(turn.thread_id)[-1]
    assert (answer.usage, answer.model) == (Usage(total=7), "m-2")
    assert "usage" not in ask(conversation, "third").answer.to_dict()  # type: ignore[union-attr]


@pytest.mark.scenario("D43", "A10", "A12", "A13")
def test_recorded_messages_are_stored_with_the_answer_as_one_batch(site: Site, conversation: Conversation) -> None:
    turn = conversation.turn("hi")
    turn.record(ChatMessage("assistant", "let me see", tool_calls=[CALL]))
    turn.record(ChatMessage("tool", "42", tool_call_id="c1"))
    assert len(site.stored(turn.thread_id)) == 1
    overlapping = conversation.turn("meanwhile")
    turn.finish("it is 42")
    stored = site.stored(turn.thread_id)
    assert [message.role for message in stored] == ["user", "user", "assistant", "tool", "assistant"]
    assert [message.sequence for message in stored] == [1, 2, 3, 4, 5]
    assert {message.turn for message in stored[2:]} == {turn.id}
    assert all(message.id and message.created_at for message in stored)
    overlapping.finish("fine")
    assert [message["role"] for message in conversation.turn("x").messages] == [
        "user",
        "assistant",
        "tool",
        "assistant",
        "user",
        "assistant",
        "user",
    ]


@pytest.mark.scenario("A15")
def test_recorded_messages_of_a_failed_turn_are_kept(site: Site, conversation: Conversation) -> None:
    turn = conversation.turn("hi")
    turn.record(ChatMessage("assistant", None, tool_calls=[CALL]))
    turn.fail(ValueError("the tool broke"))
    assert told(site.stored(turn.thread_id))[1:] == [("assistant", None, None), ("assistant", None, "failed")]
    assert conversation.turn("again").messages == [{"role": "user", "content": "hi\n\nagain"}]


@pytest.mark.scenario("S110", "D35", "N11", "A1")
def test_after_a_failed_turn_the_next_one_works(site: Site, conversation: Conversation) -> None:
    conversation.turn("first").fail(RuntimeError("model down at 10.0.0.1"))
    turn = conversation.turn("second")
    assert turn.messages == [{"role": "user", "content": "first\n\nsecond"}]
    turn.finish("fine")
    stored = site.stored(turn.thread_id)
    assert [message.sequence for message in stored] == [1, 2, 3, 4]
    assert [message.text for message in stored] == ["first", "", "second", "fine"]
    assert "10.0.0.1" not in str([message.to_dict() for message in stored])


@pytest.mark.scenario("S029", "S097", "A10")
def test_ten_turns_are_twenty_messages(site: Site, conversation: Conversation) -> None:
    for number in range(10):
        ask(conversation, f"question {number}")
    assert len(site.stored(conversation.thread_id)) == 20


@pytest.mark.scenario("S022")
@pytest.mark.parametrize("text", ["\n    x = 1\n  ", "  ", "\x00"])
def test_the_text_of_an_answer_is_kept_as_it_is(text: str, conversation: Conversation) -> None:
    ask(conversation, "hi", text)
    assert conversation.history()[-1].content == text.replace("\x00", "\ufffd")


def test_an_answer_that_cannot_be_stored_leaves_the_turn_open(site: Site, conversation: Conversation) -> None:
    turn = conversation.turn("hi")
    with pytest.raises(InvalidMessage):
        turn.finish(5)  # type: ignore[arg-type]
    turn.finish("five")
    assert told(site.stored(turn.thread_id)) == [("user", "hi", None), ("assistant", "five", "complete")]


def test_a_with_block_ends_the_turn(site: Site, conversation: Conversation) -> None:
    with conversation.turn("finished") as turn:
        turn.finish("done")
    with conversation.turn("forgotten"):
        pass
    with pytest.raises(ValueError, match="secret"), conversation.turn("failed"):
        raise ValueError("secret")
    with pytest.raises(KeyboardInterrupt), conversation.turn("interrupted"):
        raise KeyboardInterrupt
    with conversation.turn("streamed") as turn:
        stream = turn.stream(["a", "b"])
    assert list(stream) == ["a", "b"]
    assert told(site.stored(turn.thread_id)) == [
        ("user", "finished", None),
        ("assistant", "done", "complete"),
        ("user", "forgotten", None),
        ("assistant", None, "partial"),
        ("user", "failed", None),
        ("assistant", None, "failed"),
        ("user", "interrupted", None),
        ("assistant", None, "partial"),
        ("user", "streamed", None),
        ("assistant", "ab", "complete"),
    ]


def test_a_store_that_fails_at_the_end_is_told_and_may_be_tried_again(tmp_path: pathlib.Path) -> None:
    site = Site(tmp_path, FragilePlugin)
    turn = site.start().turn("hi")
    site.plugin.down = True
    with pytest.raises(StorageError):
        turn.finish("hello")
    with pytest.raises(StorageError):
        turn.leave("ignored")
    site.plugin.down = False
    turn.leave("ignored")
    turn.finish("ignored")
    assert told(site.stored(turn.thread_id)) == [("user", "hi", None), ("assistant", "hello", "complete")]


@pytest.mark.scenario("S109", "N13")
def test_the_system_prompt_is_sent_with_every_turn_and_never_stored(tmp_path: pathlib.Path) -> None:
    site = Site(tmp_path, CHATBOTS={"default": {"system_prompt": "Be kind."}})
    conversation = site.start()
    for number in range(3):
        turn = conversation.turn(f"question {number}")
        assert [message["content"] for message in turn.messages if message["role"] == "system"] == ["Be kind."]
        assert turn.messages[0] == {"role": "system", "content": "Be kind."}
        assert turn.system == "Be kind."
        assert len(turn.messages) == 2 + 2 * number
        turn.finish("fine")
    assert {message.role for message in conversation.history()} == {"user", "assistant"}


@pytest.mark.scenario("S019")
def test_what_is_sent_holds_no_private_key(conversation: Conversation) -> None:
    ask(conversation, "hi")
    for message in conversation.turn(ChatMessage("user", "x", metadata={"a": 1}, id="mine")).messages:
        assert set(message) == {"role", "content"}


def test_a_question_keeps_what_the_site_gave_it(site: Site, conversation: Conversation) -> None:
    parts: list[dict[str, t.Any]] = [
        {"type": "text", "text": "see"},
        {"type": "image_url", "image_url": {"url": "data:,x"}},
    ]
    turn = conversation.turn(ChatMessage("user", parts, metadata={"page": 1}, id="mine", turn="mine", name="Ann"))
    [stored] = site.stored(turn.thread_id)
    assert (stored.content, stored.metadata, stored.name) == (parts, {"page": 1}, "Ann")
    assert stored.turn == turn.id != "mine"
    assert stored.id == turn.question.id != "mine"
