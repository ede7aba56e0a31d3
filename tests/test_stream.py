from __future__ import annotations

import collections.abc as cabc
import gc
import pathlib
import typing as t

import pytest

from flask_chat_memory import ChatMessage
from flask_chat_memory import Conversation
from flask_chat_memory import StorageError
from flask_chat_memory import Turn

from .conversations import BUILT_IN
from .conversations import CountingPlugin
from .conversations import FragilePlugin
from .conversations import Site
from .conversations import Source
from .conversations import told


@pytest.fixture(params=BUILT_IN)
def site(request: pytest.FixtureRequest, tmp_path: pathlib.Path) -> Site:
    return Site(tmp_path, request.param)


@pytest.fixture
def conversation(site: Site) -> Conversation:
    return site.start()


def answer_of(site: Site, turn: Turn) -> tuple[str, t.Any, str | None]:
    question, answer = site.stored(turn.thread_id)
    assert told([question]) == [("user", "hi", None)]
    assert answer.id == turn.answer_id
    return told([answer])[0]


@pytest.mark.scenario("S018", "S022")
@pytest.mark.parametrize(
    "pieces",
    [
        ["a", "b"],
        ["\n", "    x = 1\n", "  "],
        ["", "a", ""],
        ["你", "好 ", "🙂"],
        [str(number) for number in range(100)],
    ],
)
def test_the_stored_answer_is_the_pieces_joined(pieces: list[str], site: Site, conversation: Conversation) -> None:
    turn = conversation.turn("hi")
    assert list(turn.stream(iter(pieces))) == pieces
    assert answer_of(site, turn) == ("assistant", "".join(pieces), "complete")


@pytest.mark.scenario("S099")
def test_a_hundred_pieces_are_two_writes(tmp_path: pathlib.Path) -> None:
    site = Site(tmp_path, CountingPlugin)
    turn = site.start().turn("hi")
    stream = turn.stream(str(number) for number in range(100))
    assert len(list(stream)) == 100
    stream.close()
    turn.leave()
    turn.finish("again")
    assert site.plugin.given == 2
    assert len(site.stored(turn.thread_id)) == 2


@pytest.mark.scenario("S090")
@pytest.mark.parametrize("pieces", [[], [""], ["", ""]])
def test_an_answer_without_text_is_a_note(pieces: list[str], site: Site, conversation: Conversation) -> None:
    turn = conversation.turn("hi")
    assert "".join(turn.stream(pieces)) == ""
    assert answer_of(site, turn) == ("assistant", None, "complete")
    assert conversation.turn("again").messages == [{"role": "user", "content": "hi\n\nagain"}]


@pytest.mark.scenario("S084", "D37", "A14")
def test_a_reader_that_leaves_after_two_pieces_keeps_the_part_once(site: Site, conversation: Conversation) -> None:
    turn = conversation.turn("hi")
    source = Source(["a", "b", "c"])
    stream = turn.stream(source)
    assert [next(stream), next(stream)] == ["a", "b"]
    for _ in range(3):
        stream.close()
    assert answer_of(site, turn) == ("assistant", "ab", "partial")
    assert source.closed
    assert source.given == 2


@pytest.mark.scenario("S085")
def test_a_stream_that_never_started_keeps_a_note(site: Site, conversation: Conversation) -> None:
    turn = conversation.turn("hi")
    source = Source(["a"])
    turn.stream(source).close()
    assert answer_of(site, turn) == ("assistant", None, "partial")
    assert source.closed
    assert source.given == 0


def test_a_generator_learns_that_its_reader_has_left(site: Site, conversation: Conversation) -> None:
    ended = []

    def pieces() -> cabc.Iterator[str]:
        try:
            yield "a"
            yield "b"
        except GeneratorExit:
            ended.append("left")
            raise
        finally:
            ended.append("finally")

    turn = conversation.turn("hi")
    stream = turn.stream(pieces())
    next(stream)
    stream.close()
    assert ended == ["left", "finally"]
    assert answer_of(site, turn) == ("assistant", "a", "partial")


@pytest.mark.scenario("S087", "D35")
@pytest.mark.parametrize("before", [[], ["a", "bc"]])
def test_a_model_that_fails_leaves_its_part_and_no_error_text(
    before: list[str], site: Site, conversation: Conversation
) -> None:
    source = Source([*before, RuntimeError("postgres://name:password@host")])
    turn = conversation.turn("hi")
    stream = turn.stream(source)
    with pytest.raises(RuntimeError, match="postgres"):
        for _ in range(5):
            next(stream)
    assert source.closed
    stream.close()
    assert answer_of(site, turn) == ("assistant", "".join(before) or None, "failed")
    assert "postgres" not in str([message.to_dict() for message in site.stored(turn.thread_id)])


def test_an_error_while_closing_the_source_loses_nothing(site: Site, conversation: Conversation) -> None:
    class Stubborn(Source):
        def close(self) -> None:
            raise OSError("connection is gone")

    turn = conversation.turn("hi")
    stream = turn.stream(Stubborn(["a", "b"]))
    next(stream)
    stream.close()
    assert answer_of(site, turn) == ("assistant", "a", "partial")


@pytest.mark.parametrize("piece", [None, b"bytes", 5, ["list"], {"role": "assistant"}, ChatMessage("assistant", "x")])
def test_a_piece_that_is_no_text_fails_the_turn(piece: t.Any, site: Site, conversation: Conversation) -> None:
    turn = conversation.turn("hi")
    with pytest.raises(TypeError, match=type(piece).__name__):
        list(turn.stream(Source(["a", piece, "b"])))
    assert answer_of(site, turn) == ("assistant", "a", "failed")


def test_what_is_no_stream_is_refused_and_the_turn_fails(site: Site, conversation: Conversation) -> None:
    turn = conversation.turn("hi")
    with pytest.raises(TypeError), turn:
        turn.stream(None)  # type: ignore[arg-type]
    assert answer_of(site, turn) == ("assistant", None, "failed")


def test_a_finished_turn_is_not_ended_again_by_its_stream(site: Site, conversation: Conversation) -> None:
    turn = conversation.turn("hi")
    stream = turn.stream(["a", "b"])
    next(stream)
    turn.finish("the whole")
    assert list(stream) == ["b"]
    assert answer_of(site, turn) == ("assistant", "the whole", "complete")


def test_a_dropped_stream_leaves_the_turn_to_its_lease(site: Site, conversation: Conversation) -> None:
    turn = conversation.turn("hi")
    thread_id = turn.thread_id
    stream = turn.stream(Source(["a"]))
    del turn, stream
    gc.collect()
    assert [message.role for message in site.stored(thread_id)] == ["user"]
    later = site.plugin.clock() + 60
    site.plugin.clock = lambda: later
    assert told(conversation.page(10).messages)[-1] == ("assistant", None, "partial")


def test_the_stream_itself_tells_that_the_store_failed(tmp_path: pathlib.Path) -> None:
    site = Site(tmp_path, FragilePlugin)
    turn = site.start().turn("hi")
    site.plugin.down = True
    with pytest.raises(StorageError):
        list(turn.stream(["a"]))
