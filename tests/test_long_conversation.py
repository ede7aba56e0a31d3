"""A long conversation with a provider that is strict and a summarizer that cannot be relied on."""

from __future__ import annotations

import collections.abc as cabc
import contextlib
import pathlib
import random
import typing as t

import pytest
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st

from flask_chat_memory import ChatMessage
from flask_chat_memory import Conversation
from flask_chat_memory import RequestRefused
from flask_chat_memory import Scope
from flask_chat_memory import Turn
from flask_chat_memory.condensing import Condensation
from flask_chat_memory.place import Place
from flask_chat_memory.plugins.in_memory import InMemoryPlugin
from flask_chat_memory.short_term.base import Prompt
from flask_chat_memory.short_term.chain import apply_chain
from flask_chat_memory.short_term.chain import make_chain
from flask_chat_memory.short_term.coverage import Coverage
from flask_chat_memory.short_term.history import History
from flask_chat_memory.short_term.history import Listed
from flask_chat_memory.short_term.summary import Summary
from flask_chat_memory.short_term.system import system_message
from flask_chat_memory.short_term.view import acceptable
from flask_chat_memory.storage.domains import domain_storage
from flask_chat_memory.storage.in_memory import InMemoryStorage
from flask_chat_memory.summaries import Summaries
from flask_chat_memory.summarising import Summarising
from flask_chat_memory.testing.clock import ManualClock

from .conversations import OWNER
from .conversations import Site
from .strict_provider import check_order
from .strict_provider import wait_for_summaries

TURNS = 200
WINDOW = 16_000
THRESHOLD = 600


class Unreliable:
    """Summarises, or fails, stops in the middle, says nothing or too much."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self.sizes: list[int] = []
        self.done = self.covered = 0

    def __call__(self, previous: str | None, messages: list[dict[str, t.Any]]) -> str | cabc.Iterator[str]:
        self.sizes.append(len(previous or "") + sum(len(message["content"]) for message in messages))
        match self._random.randrange(6):
            case 0:
                raise ConnectionError("no model")
            case 1:
                return self._cut_off()
            case 2:
                return "  "
            case 3:
                return "x" * 100_000
        self.done += 1
        self.covered += len(messages)
        return f"{self.done} summaries were made; the last message was: {messages[-1]['content'][:20]}"

    def _cut_off(self) -> cabc.Iterator[str]:
        yield "They were talking about"
        raise ConnectionError("the model is gone")


def take_turn(conversation: Conversation, dice: random.Random, number: int) -> Turn:
    turn = conversation.turn(f"question {number} " + "é" * dice.randrange(100))
    check_order(turn.messages, turn.text)
    for place in range(dice.choice([0, 0, 1, 3])):
        call = {"id": f"c{number}.{place}", "type": "function", "function": {"name": "find", "arguments": "{}"}}
        turn.record(ChatMessage("assistant", None, tool_calls=[call]))
        turn.record(ChatMessage("tool", "found " * dice.randrange(1, 30), tool_call_id=f"c{number}.{place}"))
    match dice.randrange(10):
        case 0:
            turn.fail("no answer")
        case 1:
            turn.leave("an answer that was")
        case _:
            turn.finish("answer " * dice.randrange(1, 60))
    return turn


@pytest.mark.scenario("S119", "S203", "A24", "A34")
@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("plugin", ["in_memory", "sqlalchemy"])
def test_every_message_is_in_the_summary_or_seen(tmp_path: pathlib.Path, plugin: str, seed: int) -> None:
    chain = [{"type": "hierarchical", "context_window": WINDOW, "summary_threshold": THRESHOLD}]
    site = Site(tmp_path, plugin, SHORT_TERM=chain, REDACTION=False)
    clock = site.plugin.clock = ManualClock()
    model, dice = Unreliable(seed), random.Random(seed)
    site.memory.summarizer(model)
    conversation = site.start()
    ranges = set()
    for number in range(TURNS):
        stored = conversation.history()
        turn = take_turn(conversation, dice, number)
        budget, summary = turn.budget, turn.summary
        assert budget is not None
        assert budget.left >= 0 and budget.dropped == 0
        covered = summary.last if summary else 0
        assert not summary or summary.first == 1
        assert [message.id for message in stored if t.cast(int, message.sequence) > covered] == [
            message.id for message in turn.history
        ]
        ranges.add(covered)
        wait_for_summaries()
        clock.advance(dice.randrange(10, 200))
        if number % 50 == 49:
            # Another process goes on.
            site = Site(tmp_path, plugin, SHORT_TERM=chain, REDACTION=False) if plugin == "sqlalchemy" else site
            site.plugin.clock = clock
            if site.memory._summarizers.of_chatbot("default", site.memory._settings_of_apps()[0]) is None:
                site.memory.summarizer(model)
            conversation = site.start()
    assert 10 < len(ranges) <= model.done + 1
    assert conversation.summary is not None and conversation.summary.last == model.covered
    # Neither what is read nor what is sent grows with the conversation.
    assert max(model.sizes) < 4 * 4 * THRESHOLD + 4_000
    assert Coverage().tokens(conversation.history()) > 1.5 * WINDOW
    assert len(conversation.history()) > 2 * TURNS


def change(conversation: Conversation, shown: list[ChatMessage], plugin: t.Any, dice: random.Random) -> Turn | None:
    """Undo a turn or switch to another line, or ask something; a question in the place of another cuts ``shown``."""
    asked = [message for message in shown if message.role == "user"]
    text = f"question {dice.random()}"
    how = dice.choice(["edit", "undo", "regenerate", "switch", *["ask"] * 6]) if asked else "ask"
    if how == "undo":
        conversation.undo(dice.choice(asked).turn)
        return None
    if how == "switch":
        stored = plugin.load_messages(Scope(OWNER), conversation.thread_id, hidden=True)
        with contextlib.suppress(RequestRefused):
            conversation.switch(dice.choice([message.sequence for message in stored if message.role == "user"]))
        return None
    if how == "ask":
        return conversation.turn(text)
    question = dice.choice(asked) if how == "edit" else asked[-1]
    del shown[shown.index(question) :]
    return conversation.edit(str(question.id), text) if how == "edit" else conversation.regenerate()


@pytest.mark.scenario("S119")
@pytest.mark.parametrize("seed", range(4))
def test_summary_and_view_are_what_is_shown_however_it_was_changed(tmp_path: pathlib.Path, seed: int) -> None:
    chain = [{"type": "hierarchical", "context_window": WINDOW, "summary_threshold": 60, "recent": 2}]
    site = Site(tmp_path, SHORT_TERM=chain, REDACTION=False)
    dice = random.Random(seed)

    @site.memory.summarizer
    def summarize(previous: str | None, messages: list[dict[str, t.Any]]) -> str:
        return "|".join([*([previous] if previous else []), *(message["content"] for message in messages)])

    site.memory.fact_extractor(lambda facts, messages: [])
    conversation = site.start()
    summed = 0
    for number in range(60):
        shown = conversation.history()
        turn = change(conversation, shown, site.plugin, dice)
        if turn is not None:
            covered = turn.summary.text.split("|") if turn.summary else []
            summed += bool(covered)
            assert [*covered, *(message.text for message in turn.history)] == [message.text for message in shown]
            turn.finish(f"answer {number}")
        if dice.random() < 0.8:
            wait_for_summaries()
    wait_for_summaries()
    assert summed > 3


CALL = st.sampled_from(["c1", "c2"])
IDS = st.sampled_from([None, "t1", "t2", "t3", "t4"])
MESSAGES = st.one_of(
    st.builds(lambda text, turn: ChatMessage("user", text, turn=turn), st.text("ab.é ", min_size=1, max_size=30), IDS),
    st.builds(
        lambda text, turn, calls: ChatMessage(
            "assistant", text, turn=turn, tool_calls=[{"id": call} for call in calls] or None
        ),
        st.one_of(st.none(), st.text("ab.é ", min_size=1, max_size=30)),
        IDS,
        st.lists(CALL, unique=True),
    ),
    st.builds(lambda call, turn: ChatMessage("tool", "r", tool_call_id=call, turn=turn), CALL, IDS),
    st.builds(lambda role, turn: ChatMessage(role, "s", turn=turn), st.sampled_from(["system", "developer"]), IDS),
)
HISTORIES = st.lists(MESSAGES, max_size=20)
QUESTION = ChatMessage("user", "now?", id="q")
STRATEGIES: list[list[dict[str, t.Any]]] = [
    [],
    [{"type": "window", "turns": 2}],
    [{"type": "window", "messages": 3}],
    [{"type": "tokens", "context_window": 120, "reserve": 20}],
    [{"type": "hierarchical", "context_window": 200, "reserve": 20, "summary_threshold": 20, "recent": 2}],
    [{"type": "window", "turns": 3}, {"type": "hierarchical", "context_window": 120, "reserve": 20}],
    [{"type": "hierarchical", "context_window": 300, "reserve": 20, "recent": 0}, {"type": "tokens"}],
]


class Summed(Listed):
    """Messages with a summary of the older ones."""

    def __init__(self, messages: list[ChatMessage], covered: int) -> None:
        super().__init__(messages)
        self._covered = covered

    def summary(self, newer: cabc.Sequence[ChatMessage]) -> Summary | None:
        if not self._covered:
            return None
        text = "What was said."
        return Summary(thread_id="t", first=1, last=self._covered, text=text, facts=("a fact",), timestamp="")


@pytest.mark.scenario("H14", "A2")
@pytest.mark.parametrize("strategy", STRATEGIES, ids=str)
@given(messages=HISTORIES, covered=st.integers(0, 20))
def test_what_is_sent_is_acceptable_and_fits_or_is_told(
    strategy: list[dict[str, t.Any]], messages: list[ChatMessage], covered: int
) -> None:
    stored = [message.numbered(place) for place, message in enumerate(messages, 1)]
    before = [message.to_record() for message in stored]
    history = History(Summed(stored, min(covered, len(stored))))
    view = apply_chain(make_chain(strategy, "here"), history, Prompt(QUESTION, "Be brief."))
    system = system_message(Prompt(QUESTION, "Be brief.", summary=view.summary), view.messages)
    seen = [message.to_openai() for message in acceptable([*view.messages, QUESTION])]
    check_order([{"role": "system", "content": system}, *seen], QUESTION.text)
    assert [message.to_record() for message in stored] == before
    if view.budget is not None:
        # What is sent though it does not fit: the question, the first one, and what stands for the others.
        assert view.budget.left >= 0 or len(view.messages) <= 1
    if view.summary is not None and view.summary.last:
        assert all(t.cast(int, message.sequence) > view.summary.last for message in view.messages)


@given(messages=HISTORIES, recent=st.integers(0, 6), threshold=st.integers(1, 60), running=st.sets(IDS))
def test_parts_tile_the_history_in_whole_turns(
    messages: list[ChatMessage], recent: int, threshold: int, running: set[str | None]
) -> None:
    open_turns = {turn for turn in running if turn is not None}
    coverage = Coverage(threshold=threshold, recent=recent)
    rest = list(messages)
    parts = []
    while part := coverage.part(rest, open_turns):
        parts.append(part)
        rest = rest[len(part) :]
    assert [message for part in parts for message in part] + rest == messages
    assert not parts or len(rest) >= recent
    named = [{message.turn for message in part} - {None} for part in [*parts, rest]]
    assert sum(map(len, named)) == len(set().union(*named))
    assert not open_turns & set().union(*named[:-1])


@pytest.mark.scenario("S119", "S122")
@settings(max_examples=40, deadline=None)
@given(texts=st.lists(st.text("ab. ", min_size=1, max_size=60).filter(str.strip), max_size=25), seed=st.integers(0, 99))
def test_ranges_of_summaries_have_no_gap_and_no_overlap(texts: list[str], seed: int) -> None:
    plugin = InMemoryPlugin(clock=ManualClock())
    place = Place(plugin, Scope(OWNER), "thread")
    model = Unreliable(seed)
    summaries = Summaries(domain_storage(InMemoryStorage(), "summaries"))
    read: list[str] = []

    def summarize(previous: str | None, messages: list[dict[str, t.Any]]) -> str:
        text = "".join(model(previous, messages))
        if not text.strip() or len(text) > 1_000:
            return text
        read.extend(message["content"] for message in messages)
        return "x"

    summarising = Summarising(
        summaries=summaries,
        coverage=Coverage(threshold=20, recent=2),
        condense=Condensation(summarize=summarize, extract=lambda *given: []),
    )
    last = 0
    for number, text in enumerate(texts):
        turn, id = f"t{number}", f"m{number}"
        question = ChatMessage("user", text, turn=turn, id=id)
        answer = ChatMessage("assistant", text, turn=turn, id=f"{id}a", status="complete")
        plugin.append_messages(place.scope, place.thread_id, [question, answer])
        summarising.make(place, 20)
        t.cast(ManualClock, plugin.clock).advance(700)
        summary = summaries.holding(place)
        if summary is not None:
            assert summary.first == 1 and summary.last >= last
            assert summary.turns == summary.last // 2
            last = summary.last
    assert len(read) == last
