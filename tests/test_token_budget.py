"""What fits into the context window of a model."""

from __future__ import annotations

import collections.abc as cabc
import logging
import pathlib
import typing as t

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flask_chat_memory import ChatMessage
from flask_chat_memory import ConfigurationError
from flask_chat_memory import Scope
from flask_chat_memory.short_term.base import Prompt
from flask_chat_memory.short_term.base import View
from flask_chat_memory.short_term.budget import Budget
from flask_chat_memory.short_term.chain import apply_chain
from flask_chat_memory.short_term.chain import make_chain
from flask_chat_memory.short_term.estimate import correction
from flask_chat_memory.short_term.estimate import IMAGE
from flask_chat_memory.short_term.estimate import MESSAGE
from flask_chat_memory.short_term.estimate import tokens_of_message
from flask_chat_memory.short_term.estimate import tokens_of_text
from flask_chat_memory.short_term.history import History
from flask_chat_memory.short_term.tokens import Tokens
from flask_chat_memory.short_term.view import acceptable

from .conversations import ask
from .conversations import CountingPlugin
from .conversations import OWNER
from .conversations import Site

QUESTION = ChatMessage("user", "now", id="q")
PROMPT = Prompt(QUESTION)


def exchange(number: int, size: int = 40) -> list[ChatMessage]:
    """Return a question and an answer of ``size`` bytes each."""
    return [
        ChatMessage("user", f"q{number}".ljust(size, "."), turn=f"t{number}", id=f"q{number}"),
        ChatMessage("assistant", f"a{number}".ljust(size, "."), turn=f"t{number}", id=f"a{number}", status="complete"),
    ]


def thread(turns: int, size: int = 40) -> list[ChatMessage]:
    return [message for number in range(turns) for message in exchange(number, size)]


def view(messages: cabc.Sequence[ChatMessage], window: int, prompt: Prompt = PROMPT, **options: t.Any) -> View:
    options = {"reserve": 0, "margin": 0, **options}
    return Tokens(window, **options).view(History.of(messages), prompt)


def ids(view: View) -> list[str | None]:
    return [message.id for message in view.messages]


def budget_of(view: View) -> Budget:
    assert view.budget is not None
    return view.budget


TURN = 2 * (40 // 4 + MESSAGE)
ASKED = tokens_of_message(QUESTION)


def test_all_is_shown_that_there_is_room_for() -> None:
    whole = view(thread(5), 5 * TURN + TURN // 2 + ASKED)
    assert ids(whole) == [message.id for message in thread(5)]
    assert (budget_of(whole).turns, budget_of(whole).dropped) == (5, 0)


@pytest.mark.scenario("N31")
def test_the_first_question_and_the_newest_turns_stay() -> None:
    cut = view(thread(5), TURN // 2 + 2 * TURN + ASKED)
    assert ids(cut) == ["q0", "q3", "a3", "q4", "a4"]
    assert budget_of(cut) == Budget(
        context_window=TURN // 2 + 2 * TURN + ASKED,
        reserve=0,
        margin=0,
        history=TURN // 2 + 2 * TURN,
        question=ASKED,
        turns=5,
        dropped=3,
    )
    assert budget_of(cut).left == 0
    assert ids(view(thread(5), TURN // 2 + 2 * TURN + ASKED - 1)) == ["q0", "q4", "a4"]


@pytest.mark.scenario("N30")
@pytest.mark.parametrize(
    "taken",
    [
        {"reserve": TURN},
        {"tokenizer": lambda text: 3 * tokens_of_text(text)},
        {"tools": [{"type": "function", "function": {"name": "find", "description": "x" * 4 * TURN}}]},
    ],
    ids=["reserve", "tokenizer", "tools"],
)
def test_whatever_is_sent_besides_takes_room(taken: dict[str, t.Any]) -> None:
    window = 5 * TURN + TURN // 2 + ASKED
    assert len(ids(view(thread(5), window))) == 10
    assert len(ids(view(thread(5), window, **taken))) < 10


@pytest.mark.scenario("N30")
@pytest.mark.parametrize("besides", ["system", "knowledge"])
def test_what_is_sent_besides_the_history_takes_room(besides: str) -> None:
    window = 5 * TURN + TURN // 2 + ASKED
    given: t.Any = {besides: "x" * 4 * TURN}
    prompt = Prompt(QUESTION, **given)
    seen = view(thread(5), window, prompt)
    assert ids(seen) == ["q0"] + [message.id for message in thread(5)[2:]]
    assert getattr(budget_of(seen), besides) == TURN
    assert budget_of(seen).dropped == 1
    assert budget_of(seen).left >= 0


def test_the_margin_is_a_share() -> None:
    assert budget_of(view(thread(1), 1_000, margin=0.05)).margin == 50


@pytest.mark.scenario("S124", "N26", "A8")
@pytest.mark.parametrize("window", [0, 1])
@pytest.mark.parametrize("messages", [[], thread(3), [ChatMessage("assistant", "Hello"), *thread(1)]])
def test_what_cannot_fit_is_sent_and_told(
    window: int, messages: list[ChatMessage], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        seen = view(messages, window)
    assert ids(seen) == (["q0"] if messages else [])
    assert budget_of(seen).left < 0
    [record] = caplog.records
    assert "q0" not in record.getMessage()


@pytest.mark.scenario("A29")
def test_a_thread_without_a_question_shows_nothing() -> None:
    assert ids(view([ChatMessage("assistant", "Hello", id="a")], 1_000)) == []


@pytest.mark.scenario("S112", "D49", "N31", "A5")
def test_a_tool_call_stays_with_its_result() -> None:
    call = {"id": "c", "type": "function", "function": {"name": "find", "arguments": '{"what": "' + "x" * 400 + '"}'}}
    turn = [
        ChatMessage("user", "q", turn="t", id="q"),
        ChatMessage("assistant", None, tool_calls=[call], turn="t", id="call"),
        ChatMessage("tool", "found", tool_call_id="c", turn="t", id="result"),
        ChatMessage("assistant", "a", turn="t", id="a", status="complete"),
    ]
    assert tokens_of_message(turn[1]) > 100
    messages = [*thread(2), *turn, *exchange(9)]
    assert ids(view(messages, 10_000)) == [message.id for message in messages]
    assert ids(view(messages, 2 * TURN + ASKED)) == ["q0", "q9", "a9"]


@pytest.mark.scenario("N28", "N29", "N36")
def test_the_model_that_answered_last_decides() -> None:
    small = [*thread(4), *(message.replace(model="small") for message in exchange(4))]
    windows = {"small": TURN // 2 + TURN + ASKED, "other": 1}
    assert budget_of(view(small, 10_000, context_windows=windows)).context_window == windows["small"]
    assert budget_of(view(thread(4), 10_000, context_windows=windows)).context_window == 10_000


@pytest.mark.scenario("A27")
def test_a_picture_has_a_price_and_is_not_fetched() -> None:
    parts: list[dict[str, t.Any]] = [
        {"type": "text", "text": "Look"},
        {"type": "image_url", "image_url": {"url": "http://127.0.0.1:1/a.png"}},
    ]
    assert tokens_of_message(ChatMessage("user", parts)) == MESSAGE + 1 + IMAGE


@pytest.mark.scenario("S125", "N32")
def test_a_script_with_more_bytes_has_more_tokens() -> None:
    assert tokens_of_text("日本語" * 100) == 225
    assert tokens_of_text("abc" * 100) == 75
    assert tokens_of_text("") == 0


def answered(estimated: int, counted: int | None, turn: str = "t") -> list[ChatMessage]:
    usage = None if counted is None else {"input": counted, "output": 5}
    return [
        ChatMessage("user", "q", turn=turn, metadata={"view": {"turn": 1, "tokens": estimated, "dropped": 0}}),
        ChatMessage("assistant", "a", turn=turn, usage=usage, status="complete"),
    ]


def test_what_the_model_has_counted_corrects_the_estimates() -> None:
    assert correction(answered(100, 150)) == 1.5
    assert correction([*answered(100, 150), *answered(100, 200, "u")]) == 2.0
    assert correction([*answered(100, 150), *answered(100, None, "u")]) == 1.5
    assert correction(answered(100, 100_000)) == 4.0
    assert correction(answered(100, 1)) == 0.5
    assert correction(answered(0, 100)) == 1.0
    assert correction(thread(3)) == 1.0
    window = 4 * TURN
    assert len(ids(view([*thread(3), *answered(100, 400)], window))) < len(ids(view(thread(3), window)))


def test_several_calls_of_a_turn_count_by_the_first() -> None:
    [question, answer] = answered(100, 150)
    call = ChatMessage("assistant", None, tool_calls=[{"id": "c"}], turn="t", usage={"input": 120, "output": 1})
    result = ChatMessage("tool", "r", tool_call_id="c", turn="t")
    assert correction([question, call, result, answer]) == 1.2


@pytest.mark.scenario("N25")
def test_the_question_tells_what_its_turn_was_estimated_at(tmp_path: pathlib.Path) -> None:
    chain = [{"type": "tokens", "context_window": 100, "reserve": 0, "margin": 0}]
    site = Site(tmp_path, "in_memory", SHORT_TERM=chain)
    conversation = site.start()
    for number in range(6):
        ask(conversation, f"q{number}".ljust(40, "."), f"a{number}".ljust(40, "."))
    asked = [message for message in conversation.history() if message.role == "user"]
    told = [message.metadata["view"] for message in asked]
    assert [one["turn"] for one in told] == [1, 2, 3, 4, 5, 6]
    assert [one["dropped"] for one in told] == [0, 0, 0, 0, 2, 3]
    assert all(one["tokens"] <= 100 for one in told)
    turn = conversation.turn("now")
    assert turn.budget is not None
    assert turn.budget.turns == 6
    turn.fail("no answer")
    assert conversation.history()[-2].metadata["view"]["dropped"] == turn.budget.dropped


def test_a_long_thread_is_read_as_far_as_there_is_room(tmp_path: pathlib.Path) -> None:
    site = Site(tmp_path, CountingPlugin, SHORT_TERM=[{"type": "tokens", "context_window": 3_000}])
    stored = thread(2_500)
    stored[-2] = stored[-2].replace(metadata={"view": {"turn": 2_500, "tokens": 1_900, "dropped": 2_400}})
    site.plugin.save_messages(Scope(OWNER), "long", stored)
    conversation = site.start()
    site.plugin.asked = 0
    turn = conversation.turn("now")
    turn.finish("fine")
    assert 40 < len(turn.history) < 160
    assert turn.history[0].id == "q0"
    assert site.plugin.asked <= 400


def test_the_browser_s_history_is_fitted_too(tmp_path: pathlib.Path) -> None:
    site = Site(tmp_path, None, SHORT_TERM=[{"type": "tokens", "context_window": 100, "reserve": 0, "margin": 0}])
    messages = [{"role": "user" if place % 2 == 0 else "ai", "text": f"{place}".ljust(40, ".")} for place in range(21)]
    with site.app.test_request_context():
        turn = site.memory.conversation().turn({"messages": messages})
    assert turn.budget is not None
    assert turn.budget.dropped == 8
    assert len(turn.messages) < 10


BAD = [
    {"context_window": -1},
    {"context_window": True},
    {"context_window": "8k"},
    {"context_windows": {"gpt": 1.5}},
    {"reserve": -1},
    {"margin": 1},
    {"margin": -0.1},
    {"margin": True},
    {"tokenizer": 4},
]


@pytest.mark.parametrize("options", BAD, ids=str)
def test_bad_options_are_refused(options: dict[str, t.Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(options))[:14]):
        Tokens(**options)


CALL = st.sampled_from(["c1", "c2"])
TURNS = st.sampled_from([None, "t1", "t2", "t3"])
MESSAGES = st.one_of(
    st.builds(lambda text, turn: ChatMessage("user", text, turn=turn), st.text(min_size=1, max_size=30), TURNS),
    st.builds(
        lambda text, turn, calls: ChatMessage(
            "assistant", text, turn=turn, tool_calls=[{"id": call} for call in calls] or None
        ),
        st.one_of(st.none(), st.text(max_size=30)),
        TURNS,
        st.lists(CALL, unique=True),
    ),
    st.builds(lambda call, turn: ChatMessage("tool", "r", tool_call_id=call, turn=turn), CALL, TURNS),
)


@pytest.mark.scenario("A28")
@given(st.lists(MESSAGES, max_size=15), st.integers(0, 200))
def test_whatever_is_stored_what_is_sent_is_acceptable_and_fits_or_is_told(
    messages: list[ChatMessage], window: int
) -> None:
    before = [message.to_dict() for message in messages]
    seen = view(messages, window)
    sent = acceptable([*seen.messages, QUESTION])
    assert [message.to_dict() for message in messages] == before
    assert sent[-1].text.endswith("now")
    roles = [message.role for message in sent]
    assert roles[0] == "user"
    assert not any(one == other == "user" for one, other in zip(roles, roles[1:], strict=False))
    budget = budget_of(seen)
    estimated = sum(map(tokens_of_message, seen.messages)) + ASKED
    assert budget.sent == estimated
    # More than fits is the first question and the present one alone.
    assert budget.left >= 0 or len(seen.messages) <= 1


def test_the_first_question_takes_its_room_once() -> None:
    messages = thread(3)
    size = sum(map(tokens_of_message, messages)) + tokens_of_message(QUESTION)
    assert ids(view(messages, size)) == [message.id for message in messages]
    assert budget_of(view(messages, size)).dropped == 0
    assert ids(view(messages, size - 1)) == ["q0", "q1", "a1", "q2", "a2"]


def test_the_first_question_is_shown_once_where_turns_overlap() -> None:
    late = ChatMessage("user", "late", turn="other", id="late")
    messages = [ChatMessage("assistant", "early", turn="other", id="early"), *thread(2), late]
    assert ids(view(messages, 1_000)) == ["late", "q0", "a0", "q1", "a1"]


def test_what_a_later_memory_leaves_out_is_dropped_and_not_sent() -> None:
    chain = make_chain([{"type": "tokens", "reserve": 0, "margin": 0}, {"type": "window", "turns": 1}], "KEY")
    messages = thread(4)
    chained = apply_chain(chain, History.of(messages), PROMPT)
    assert ids(chained) == ["q3", "a3"]
    budget = budget_of(chained)
    assert (budget.turns, budget.dropped) == (4, 3)
    assert budget.history == sum(map(tokens_of_message, messages[-2:]))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"context_windows": 5}, "context_windows is 5; allowed is a dict: model -> tokens"),
        ({"tools": 5}, "tools must be a list of dicts"),
        ({"tools": "find"}, "tools must be a list of dicts"),
        ({"tools": ["find"]}, "tools must be a list of dicts"),
    ],
)
def test_what_is_no_option_is_refused_at_start_up(options: dict[str, t.Any], said: str) -> None:
    with pytest.raises(ConfigurationError, match=f"KEY.0.: {said}"):
        make_chain([{"type": "tokens", **options}], "KEY")


def fails(text: str) -> int:
    raise ValueError(f"cannot tokenize {text}")


BAD_TOKENIZERS: list[cabc.Callable[[str], t.Any]] = [
    fails,
    lambda text: None,
    lambda text: -1,
    lambda text: True,
    lambda text: float("nan"),
    lambda text: str(len(text)),
    lambda text: 10**400,
    lambda text: [1, 2],
]


@pytest.mark.parametrize("kind", ["tokens", "hierarchical"])
@pytest.mark.parametrize("tokenizer", BAD_TOKENIZERS)
def test_a_tokenizer_that_fails_fails_no_turn(
    tmp_path: pathlib.Path, caplog: pytest.LogCaptureFixture, tokenizer: cabc.Callable[[str], t.Any], kind: str
) -> None:
    tools = [{"type": "function", "function": {"name": "find"}}]
    chains = [[{"type": kind, "tools": tools, **extra}] for extra in ({"tokenizer": tokenizer}, {})]
    budgets = []
    for number, chain in enumerate(chains):
        site = Site(tmp_path / str(number), SHORT_TERM=chain, REDACTION=False)
        conversation = site.start()
        ask(conversation, "a secret question", "an answer")
        turn = ask(conversation, "now", "an answer")
        budgets.append(turn.budget)
        told = turn.question.metadata["view"]
        assert told.get("tokenizer_failed", False) is (number == 0)
        assert number == 1 or conversation.summarize() is None if kind == "hierarchical" else True
    failed, estimated = budgets
    assert failed is not None and estimated is not None
    assert failed.tokenizer_failed and not estimated.tokenizer_failed
    assert failed == msgspec.structs.replace(estimated, tokenizer_failed=True)
    assert caplog.text.count("the tokenizer of the site") == 1
    assert "secret" not in caplog.text


def test_a_tokenizer_that_works_is_not_doubted(tmp_path: pathlib.Path, caplog: pytest.LogCaptureFixture) -> None:
    site = Site(tmp_path, SHORT_TERM=[{"type": "tokens", "tokenizer": lambda text: len(text.encode()) + 2}])
    turn = site.start().turn("\u00fc")
    assert turn.budget is not None and not turn.budget.tokenizer_failed
    assert turn.budget.question == MESSAGE + 4
    assert "tokenizer" not in caplog.text and "tokenizer_failed" not in turn.question.metadata["view"]


def test_a_system_prompt_of_half_characters_fails_no_turn(tmp_path: pathlib.Path) -> None:
    chatbots = {"default": {"system_prompt": "a\ud800b", "short_term": [{"type": "tokens"}]}}
    turn = Site(tmp_path, CHATBOTS=chatbots).start().turn("now")
    assert turn.budget is not None and turn.budget.system == 1


@pytest.mark.parametrize("told", ["a list", 7, [], {"turn": "1"}, {"turn": -5, "tokens": True}])
def test_what_another_program_has_noted_under_the_same_name_fails_no_turn(tmp_path: pathlib.Path, told: t.Any) -> None:
    site = Site(tmp_path, SHORT_TERM=[{"type": "tokens"}])
    conversation = site.start()
    messages = [
        ChatMessage("user", "q", turn="t", metadata={"view": told}),
        ChatMessage("assistant", "a", turn="t", usage={"input": 5, "output": 1}, status="complete"),
    ]
    site.plugin.append_messages(Scope(OWNER), str(conversation.thread_id), messages)
    budget = conversation.turn("now").budget
    assert budget is not None and (budget.turns, budget.factor) == (1, 1.0)


def test_the_question_tells_the_whole_budget(tmp_path: pathlib.Path) -> None:
    chatbots = {"default": {"system_prompt": "Be brief.", "short_term": [{"type": "tokens", "context_window": 500}]}}
    turn = Site(tmp_path, CHATBOTS=chatbots).start().turn("now")
    assert turn.question.metadata["view"] == {
        "turn": 1,
        "tokens": 8,
        "dropped": 0,
        "window": 500,
        "reserve": 1_024,
        "margin": 25,
        "parts": {"system": 3, "question": 5},
    }


@pytest.mark.scenario("S132")
def test_what_a_turn_sends_and_what_the_conversation_used_are_told_apart(tmp_path: pathlib.Path) -> None:
    chain = [{"type": "tokens", "context_window": 100, "reserve": 0, "margin": 0}]
    conversation = Site(tmp_path, SHORT_TERM=chain).start()
    for number in range(6):
        turn = conversation.turn(f"q{number}".ljust(40, "."))
        turn.finish("a".ljust(40, "."), usage={"input": 90, "output": 10})
    turn = conversation.turn("now")
    assert turn.budget is not None
    assert turn.budget.sent <= 100
    assert conversation.usage().total == 600


@pytest.mark.scenario("N34")
def test_what_was_counted_in_one_conversation_does_not_correct_another(tmp_path: pathlib.Path) -> None:
    chain = [{"type": "tokens", "context_window": 400, "reserve": 0, "margin": 0}]
    site = Site(tmp_path, OPTIONS={"threads": "many"}, SHORT_TERM=chain)
    sent = []
    for input in (None, 10_000, None):
        conversation = site.start()
        for number in range(4):
            turn = conversation.turn(f"q{number}".ljust(40, "."))
            turn.finish("a".ljust(40, "."), usage={"input": input})
        turn = conversation.turn("now")
        assert turn.budget is not None
        sent.append((turn.budget.history, len(turn.history)))
    assert sent[0] == sent[2] != sent[1]
