from __future__ import annotations

import collections.abc as cabc
import pathlib
import typing as t

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flask_chat_memory import ChatMessage
from flask_chat_memory import Scope
from flask_chat_memory import Thread
from flask_chat_memory.asking import Stored
from flask_chat_memory.location import Location
from flask_chat_memory.plugins.in_memory import InMemoryPlugin
from flask_chat_memory.short_term.base import Prompt
from flask_chat_memory.short_term.base import ShortTermMemory
from flask_chat_memory.short_term.base import View
from flask_chat_memory.short_term.chain import apply_chain
from flask_chat_memory.short_term.chain import make_chain
from flask_chat_memory.short_term.history import History
from flask_chat_memory.short_term.history import Listed
from flask_chat_memory.short_term.view import acceptable
from flask_chat_memory.short_term.view import by_turn
from flask_chat_memory.short_term.window import Window
from flask_chat_memory.signals import nobody
from flask_chat_memory.visitor import NamedVisitor

from .conversations import ask
from .conversations import BUILT_IN
from .conversations import CountingPlugin
from .conversations import OWNER
from .conversations import Site
from .five_methods import FiveMethodsPlugin
from .strict_provider import check_order


def user(text: str, turn: str | None = None) -> ChatMessage:
    return ChatMessage("user", text, turn=turn)


def bot(text: t.Any, turn: str | None = None, calls: cabc.Sequence[str] = ()) -> ChatMessage:
    return ChatMessage("assistant", text, turn=turn, tool_calls=[{"id": call} for call in calls] or None)


def result(call: str, turn: str | None = None) -> ChatMessage:
    return ChatMessage("tool", f"result of {call}", tool_call_id=call, turn=turn)


def seen(messages: cabc.Iterable[ChatMessage]) -> list[str]:
    """One word a message: its role's first letter and its text, tool calls in brackets."""
    words = []
    for message in messages:
        calls = ",".join(str(call["id"]) for call in message.tool_calls or ())
        text = message.tool_call_id if message.role == "tool" else message.text
        words.append(f"{message.role[0]}:{text}" + (f"[{calls}]" if calls else ""))
    return words


def window(turns: int, messages: cabc.Sequence[ChatMessage]) -> list[str]:
    return seen(Window(turns).view(History.of(messages), PROMPT).messages)


PROMPT = Prompt(user("present"))
THREE_TURNS = [user("1"), bot("a"), user("2"), bot("b"), user("3"), bot("c")]
TOOL_TURN = [user("1"), bot(None, calls=["c1"]), result("c1"), bot("a")]


@pytest.mark.scenario("S116")
@pytest.mark.parametrize(
    ("turns", "expected"),
    [
        (0, []),
        (1, ["u:3", "a:c"]),
        (2, ["u:2", "a:b", "u:3", "a:c"]),
        (3, ["u:1", "a:a", "u:2", "a:b", "u:3", "a:c"]),
        (10**9, ["u:1", "a:a", "u:2", "a:b", "u:3", "a:c"]),
    ],
)
def test_a_window_shows_the_newest_turns(turns: int, expected: list[str]) -> None:
    assert window(turns, THREE_TURNS) == expected
    assert window(turns, []) == []


@pytest.mark.scenario("S116")
@pytest.mark.parametrize("turns", [-1, True, False, "3", 2.5])
def test_what_is_no_number_of_turns_is_refused(turns: t.Any) -> None:
    with pytest.raises(ValueError, match="turns"):
        Window(turns)


@pytest.mark.scenario("S116")
@pytest.mark.parametrize("plugin", BUILT_IN)
def test_a_huge_window_shows_everything(plugin: str, tmp_path: pathlib.Path) -> None:
    site = Site(tmp_path, plugin, SHORT_TERM=[{"type": "window", "turns": 10**30}])
    conversation = site.start()
    ask(conversation, "1")
    assert seen(conversation.turn("2").history) == ["u:1", "a:fine"]


@pytest.mark.scenario("S112", "S114", "D38", "D49", "A6")
def test_a_turn_with_tools_is_shown_whole() -> None:
    long = [user("0"), bot("z")] + [
        user("1"),
        *(m for n in range(9) for m in (bot(None, calls=[f"c{n}"]), result(f"c{n}"))),
    ]
    shown = window(1, [*long, bot("a")])
    assert shown[0] == "u:1"
    assert len(shown) == 20
    assert window(1, TOOL_TURN) == ["u:1", "a:[c1]", "t:c1", "a:a"]


@pytest.mark.scenario("S114", "A7", "A29")
def test_a_thread_that_begins_without_a_question_is_shown_from_its_first_one() -> None:
    assert window(5, [bot("greeting"), result("c0"), user("1"), bot("a")]) == ["u:1", "a:a"]
    assert window(5, [bot("greeting")]) == []


@pytest.mark.scenario("S058")
def test_turns_that_overlap_are_grouped() -> None:
    arrived = [user("1", "t1"), user("2", "t2"), bot("b", "t2"), user("3", "t3"), bot("a", "t1"), bot("c", "t3")]
    grouped = ["u:1", "a:a", "u:2", "a:b", "u:3", "a:c"]
    assert seen(by_turn(arrived)) == grouped
    assert window(3, arrived) == grouped
    assert window(2, arrived) == grouped[2:]
    assert window(1, arrived) == grouped[4:]


@pytest.mark.parametrize(("turns", "expected"), [(1, ["u:2", "a:b"]), (2, ["u:1", "u:2", "a:b"])])
def test_an_answer_whose_question_is_out_of_the_window_is_not_shown(turns: int, expected: list[str]) -> None:
    arrived = [user("0", "t0"), user("1", "t1"), bot("z", "t0"), user("2", "t2"), bot("b", "t2")]
    assert window(turns, arrived) == expected
    assert window(3, arrived) == ["u:0", "a:z", "u:1", "u:2", "a:b"]


def test_a_message_without_a_turn_belongs_to_the_question_before_it() -> None:
    arrived = [user("1"), bot("a"), user("2", "t2"), bot("b"), user("3"), bot("c")]
    assert seen(by_turn(arrived)) == ["u:1", "a:a", "u:2", "a:b", "u:3", "a:c"]


@pytest.mark.scenario("S089", "S090", "S113", "N12", "A1", "A11", "A15")
@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        ([user("1"), user("2")], ["u:1\n\n2"]),
        ([user("1"), bot(None), user("2")], ["u:1\n\n2"]),
        ([user("1"), bot(""), user("2"), bot([]), user("3")], ["u:1\n\n2\n\n3"]),
        ([user("1"), bot(" \n"), user("2"), bot([{"type": "text", "text": " "}]), user("3")], ["u:1\n\n2\n\n3"]),
        ([bot("a"), user("1")], ["u:1"]),
        ([ChatMessage("system", "s"), bot("a"), user("1")], ["u:1"]),
        ([result("c0"), bot("a"), user("1"), bot("b")], ["u:1", "a:b"]),
        ([user("1"), result("c0"), bot("a"), user("2")], ["u:1", "a:a", "u:2"]),
        ([user("1"), bot("a"), bot("b"), user("2")], ["u:1", "a:a\n\nb", "u:2"]),
        (
            [user("1"), bot("a"), bot("b", calls=["c1"]), result("c1"), bot("d"), user("2")],
            ["u:1", "a:a\n\nb[c1]", "t:c1", "a:d", "u:2"],
        ),
        ([user("1"), bot("a"), bot(None, calls=["c1"]), result("c1"), user("2")], ["u:1", "a:a[c1]", "t:c1", "u:2"]),
        ([*TOOL_TURN, user("2")], ["u:1", "a:[c1]", "t:c1", "a:a", "u:2"]),
        ([user("1"), bot(None, calls=["c1"]), user("2")], ["u:1\n\n2"]),
        ([user("1"), bot(" ", calls=["c1"]), user("2")], ["u:1\n\n2"]),
        ([user("1"), bot(None, calls=["c1", "c1"]), result("c1"), user("2")], ["u:1\n\n2"]),
        ([user("1"), ChatMessage("assistant", tool_calls=[{"id": ["c1"]}, {}]), result("c1"), user("2")], ["u:1\n\n2"]),
        ([user("1"), bot("let me see", calls=["c1"]), user("2")], ["u:1", "a:let me see", "u:2"]),
        ([user("1"), bot(None, calls=["c1", "c2"]), result("c1"), user("2")], ["u:1\n\n2"]),
        (
            [user("1"), bot(None, calls=["c1", "c2"]), result("c2"), result("c1"), user("2")],
            ["u:1", "a:[c1,c2]", "t:c1", "t:c2", "u:2"],
        ),
        ([user("1"), bot(None, calls=["c1"]), result("c1"), result("c9"), user("2")], ["u:1", "a:[c1]", "t:c1", "u:2"]),
        (
            [
                user("1"),
                bot(None, calls=["c1"]),
                result("c1"),
                bot(None, calls=["c2"]),
                result("c2"),
                bot("a"),
                user("2"),
            ],
            ["u:1", "a:[c1]", "t:c1", "a:[c2]", "t:c2", "a:a", "u:2"],
        ),
        ([user("1"), ChatMessage("developer", "s"), user("2")], ["u:1\n\n2"]),
        ([user(" "), bot("a"), user(""), user("1")], ["u:1"]),
        (
            [user("1"), bot(None, calls=["c1"]), ChatMessage("system", "s"), result("c1"), user("2")],
            ["u:1", "a:[c1]", "t:c1", "u:2"],
        ),
        ([], []),
    ],
)
def test_the_view_is_one_that_strict_providers_accept(messages: list[ChatMessage], expected: list[str]) -> None:
    assert seen(acceptable(messages)) == expected


@pytest.mark.scenario("S014", "N12")
def test_joined_questions_keep_their_parts() -> None:
    image = {"type": "image_url", "image_url": {"url": "data:,x"}}
    [joined] = acceptable([user("1"), ChatMessage("user", [image])])
    assert joined.content == [{"type": "text", "text": "1"}, image]


def test_the_view_changes_nothing_that_it_was_given() -> None:
    messages = [user("1"), bot("a", calls=["c1"]), user("2"), user("3")]
    before = [message.to_dict() for message in messages]
    acceptable(messages)
    assert [message.to_dict() for message in messages] == before


@pytest.mark.parametrize("content", [None, "", []])
def test_a_tool_that_gave_nothing_gave_an_empty_text(content: t.Any) -> None:
    messages = [*TOOL_TURN[:2], ChatMessage("tool", content, tool_call_id="c1"), user("2")]
    assert [message.to_openai()["content"] for message in acceptable(messages)] == ["1", None, "", "2"]


@pytest.mark.parametrize("chain", [[], [{"type": "window"}], [{"type": "tokens"}], [{"type": "hierarchical"}]])
def test_what_the_site_has_stored_as_system_is_in_the_one_system_message(
    tmp_path: pathlib.Path, chain: list[dict[str, t.Any]]
) -> None:
    chatbots = {"default": {"system_prompt": "Be brief.", "short_term": chain}}
    site = Site(tmp_path, CHATBOTS=chatbots, REDACTION=False)
    conversation = site.start()
    call = {"id": "c1", "type": "function", "function": {"name": "find", "arguments": "{}"}}
    messages = [
        user("first", "t1"),
        ChatMessage("system", "Be brief.", turn="t1"),
        ChatMessage("assistant", None, turn="t1", tool_calls=[call]),
        ChatMessage("system", "The visitor now speaks French."),
        result("c1", "t1"),
        ChatMessage("developer", [{"type": "text", "text": "Say tu."}]),
        ChatMessage("system", " "),
        user("second", "t2"),
        ChatMessage("system", "The visitor now speaks French."),
    ]
    site.plugin.append_messages(Scope(OWNER), str(conversation.thread_id), messages)
    turn = conversation.turn("now")
    check_order(turn.messages, "now")
    assert turn.messages[0] == {
        "role": "system",
        "content": "Be brief.\n\nThe visitor now speaks French.\n\nSay tu.",
    }
    assert [message["role"] for message in turn.messages[1:]] == ["user", "assistant", "tool", "user"]
    turn.finish("fine")
    assert [message.role for message in site.stored(turn.thread_id)][:9] == [message.role for message in messages]


MESSAGES = st.one_of(
    st.builds(user, st.sampled_from(["q", "r"]), st.sampled_from([None, "t1", "t2", "t3"])),
    st.builds(
        bot,
        st.sampled_from(["a", "", None]),
        st.sampled_from([None, "t1", "t2", "t3"]),
        st.lists(st.sampled_from(["c1", "c2"]), unique=True),
    ),
    st.builds(result, st.sampled_from(["c1", "c2"]), st.sampled_from([None, "t1", "t2", "t3"])),
)


@pytest.mark.scenario("S089", "A5", "A7", "A14")
@given(st.lists(MESSAGES, max_size=15), st.integers(0, 4))
def test_whatever_is_stored_the_view_is_acceptable(messages: list[ChatMessage], turns: int) -> None:
    shown = acceptable([*Window(turns).view(History.of(messages), PROMPT).messages, user("now")])
    assert shown[0].role == "user"
    assert shown[-1].role == "user"
    assert shown[-1].text.endswith("now")
    for before, after in zip(shown, shown[1:], strict=False):
        assert not before.role == after.role == "user"
    place = 0
    while place < len(shown):
        message = shown[place]
        assert message.role != "tool"
        assert message.role != "assistant" or message.content or message.tool_calls
        calls = [call["id"] for call in message.tool_calls or ()]
        answered = [follower.tool_call_id for follower in shown[place + 1 : place + 1 + len(calls)]]
        assert answered == calls
        place += 1 + len(calls)


def test_a_chain_goes_from_one_to_the_next_and_an_empty_one_shows_everything() -> None:
    chain = make_chain([{"type": "window", "turns": 2}, {"type": "window", "turns": 1}], "KEY")
    assert seen(apply_chain(chain, History.of(THREE_TURNS), PROMPT).messages) == ["u:3", "a:c"]
    assert len(apply_chain((), History.of(THREE_TURNS), PROMPT).messages) == 6


class Own(ShortTermMemory):
    """Notes what a history has to tell."""

    def view(self, history: History, prompt: Prompt) -> View:
        self.count = history.count
        first = history.first()
        self.first = first and first.text
        self.after = seen(history.after(2, 2))
        return View(history.newest(2))


@pytest.mark.parametrize("plugin", ["in_memory", "sqlalchemy", FiveMethodsPlugin])
def test_a_memory_of_the_site_s_own_has_a_history(tmp_path: pathlib.Path, plugin: t.Any) -> None:
    site = Site(tmp_path, plugin, SHORT_TERM=[{"type": Own}])
    [own] = site.memory._settings_of_apps()[0].chatbots["default"].short_term
    assert isinstance(own, Own)
    conversation = site.start()
    told: list[t.Any] = []
    for number in range(3):
        turn = ask(conversation, f"question {number}", f"answer {number}")
        told.append((own.count, own.first, own.after, [message.text for message in turn.history]))
    assert told == [
        (0, None, [], []),
        (2, "question 0", [], ["question 0", "answer 0"]),
        (4, "question 0", ["u:question 1", "a:answer 1"], ["question 1", "answer 1"]),
    ]


class Asked(InMemoryPlugin):
    """Notes what it is asked."""

    def __init__(self, *arguments: t.Any, **named: t.Any) -> None:
        super().__init__(*arguments, **named)
        self.asked: list[str] = []

    def load_messages(self, *arguments: t.Any, **named: t.Any) -> list[ChatMessage]:
        self.asked.append("messages")
        return super().load_messages(*arguments, **named)

    def find_thread(self, *arguments: t.Any, **named: t.Any) -> Thread | None:
        self.asked.append("thread")
        return super().find_thread(*arguments, **named)


def test_a_history_asks_once_and_only_for_what_is_wanted() -> None:
    plugin, scope = Asked(), Scope(OWNER)
    plugin.append_messages(scope, "t", [user("1"), bot("a"), user("2"), bot("b")])
    calls: list[tuple[cabc.Callable[[History], t.Any], str, t.Any]] = [
        (lambda history: history.count, "thread", 4),
        (lambda history: seen(history.newest(1)), "messages", ["a:b"]),
        (lambda history: history.first() == user("1"), "messages", True),
        (lambda history: seen(history.after(3)), "messages", ["a:b"]),
    ]
    for call, asked, expected in calls:
        location = Location(plugin, scope, NamedVisitor(OWNER, "t", opened=True), nobody)
        assert location.thread_id == "t"
        history = History(Stored(location))
        plugin.asked.clear()
        assert call(history) == expected
        assert plugin.asked == [asked]
    assert History.of(THREE_TURNS).count == 6


def test_a_history_reads_nothing_twice() -> None:
    asked = []

    class Counting(Listed):
        def newest(self, limit: int, newer: cabc.Sequence[ChatMessage]) -> list[ChatMessage]:
            asked.append(limit)
            return super().newest(limit, newer)

    history = History(Counting(THREE_TURNS))
    for count in (2, 1, 2, 4, 3, 100, 200):
        assert seen(history.newest(count)) == seen(THREE_TURNS[-count:])
    assert asked == [2, 2, 96]


@pytest.mark.parametrize("turns", [0, 1, 20])
def test_a_turn_in_a_long_thread_reads_no_more_than_its_window(turns: int, tmp_path: pathlib.Path) -> None:
    site = Site(tmp_path, CountingPlugin, SHORT_TERM=[{"type": "window", "turns": turns}])
    thread = [m for n in range(2500) for m in (user(f"q{n}", f"t{n}"), bot(f"a{n}", f"t{n}"))]
    site.plugin.save_messages(Scope(OWNER), "long", thread)
    conversation = site.start()
    site.plugin.asked = 0
    turn = conversation.turn("now")
    turn.finish("fine")
    assert len(turn.history) == 2 * turns
    assert site.plugin.asked <= 2 * turns + 2


def test_a_turn_of_tools_reads_a_few_windows_at_most(tmp_path: pathlib.Path) -> None:
    site = Site(tmp_path, CountingPlugin, SHORT_TERM=[{"type": "window", "turns": 5}])
    one = [bot(None, "t", ["c1"]), result("c1", "t"), bot(None, "t", ["c2"]), result("c2", "t"), bot("a", "t")]
    thread = [m.replace(turn=f"t{n}") for n in range(800) for m in (user("q"), *one)]
    site.plugin.save_messages(Scope(OWNER), "long", thread)
    conversation = site.start()
    site.plugin.asked = 0
    assert len(conversation.turn("now").history) == 5 * 6
    assert site.plugin.asked <= 4 * 5 * 6


@pytest.mark.scenario("S126", "N23")
@pytest.mark.parametrize("plugin", BUILT_IN)
def test_what_is_sent_leaves_what_is_stored_alone(plugin: str, tmp_path: pathlib.Path) -> None:
    site = Site(tmp_path, plugin, SHORT_TERM=[{"type": "window", "turns": 1}])
    conversation = site.start()
    for number in range(4):
        ask(conversation, f"q{number}", f"a{number}")
    turn = conversation.turn("q4")
    assert [message["content"] for message in turn.messages] == ["q3", "a3", "q4"]
    assert len(conversation.history()) == 9
