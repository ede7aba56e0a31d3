"""What it costs to choose what the model sees, by the length of the thread; and to estimate tokens.

Run it as ``python -m tests.benchmarks.short_term``. Threads are in SQLite; ``hierarchical`` has a summary of all but
the newest messages. Beside it, if the extra ``peers`` is installed, ``trim_messages`` of LangChain over the same
messages as a list, and the limit of a session of the OpenAI Agents SDK, which has the same messages in SQLite. Nothing
is asserted.
"""

from __future__ import annotations

import argparse
import asyncio
import collections.abc as cabc
import importlib.util
import pathlib
import random
import sys
import tempfile
import time
import typing as t

sys.path.insert(0, str(pathlib.Path(__file__).parents[2]))

from flask_chat_memory import ChatMessage
from flask_chat_memory import Scope
from flask_chat_memory.asking import Stored
from flask_chat_memory.location import Location
from flask_chat_memory.plugins.sqlalchemy import SQLAlchemyPlugin
from flask_chat_memory.short_term.base import Prompt
from flask_chat_memory.short_term.chain import apply_chain
from flask_chat_memory.short_term.chain import make_chain
from flask_chat_memory.short_term.estimate import tokens_of_text
from flask_chat_memory.short_term.history import History
from flask_chat_memory.short_term.summary import Summary
from flask_chat_memory.signals import nobody
from flask_chat_memory.storage.domains import domain_storage
from flask_chat_memory.storage.sqlalchemy import SQLAlchemyStorage
from flask_chat_memory.summaries import Summaries
from flask_chat_memory.visitor import NamedVisitor
from tests.benchmarks.report import environment
from tests.benchmarks.report import median
from tests.benchmarks.report import milliseconds
from tests.benchmarks.report import ratio
from tests.benchmarks.report import Rounds
from tests.benchmarks.report import table
from tests.benchmarks.report import target
from tests.benchmarks.report import TARGET_HEADER

LENGTHS = (100, 1_000, 10_000, 100_000)
RECENT = 20
"""Messages that no summary covers."""
WINDOW = 3_000
SCOPE = Scope("user:1")
QUESTION = ChatMessage("user", "And now?", id="question", turn="now")
CHAINS: dict[str, list[dict[str, t.Any]]] = {
    "window": [{"type": "window", "turns": 10}],
    "tokens": [{"type": "tokens", "context_window": WINDOW, "reserve": 0}],
    "hierarchical": [{"type": "hierarchical", "context_window": WINDOW, "reserve": 0}],
}
LIST, LANGCHAIN, AGENTS = "tokens, of a list", "langchain-core, trim_messages", "openai-agents, session limit"

Call = cabc.Callable[[], object]
Case = tuple[str, int]


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure what it costs to choose what the model sees.")
    parser.add_argument("--quick", action="store_true", help="show that it works; the figures mean nothing")
    parser.add_argument("--rounds", type=int, default=30)
    arguments = parser.parse_args()
    lengths = LENGTHS[:2] if arguments.quick else LENGTHS
    rounds = 2 if arguments.quick else arguments.rounds
    print(environment(), f"{rounds} rounds.\n")
    with tempfile.TemporaryDirectory() as folder:
        calls: dict[Case, Call] = {}
        for length in lengths:
            calls |= ours(pathlib.Path(folder), length) | peers(pathlib.Path(folder), length)
        results = measure(calls, rounds)
    names = list(dict.fromkeys(name for name, _ in results))
    rows = [[name, *(milliseconds(median(results[name, length])) for length in lengths)] for name in names]
    print(table(["what the model sees, median in ms", *(f"{length:,} messages" for length in lengths)], rows))
    growth = {name: ratio(results[name, lengths[-1]], results[name, lengths[0]]) for name in CHAINS}
    estimate = measure_estimate(rounds)
    goals = [target(f"{name}, {lengths[-1]:,} messages against {lengths[0]}", growth[name], 1.25) for name in CHAINS]
    print(table(TARGET_HEADER, [*goals, target("estimate of 1 MB against len(text.encode())", estimate, 3)]))


def thread(length: int) -> list[ChatMessage]:
    """Return a thread whose newest question tells how many turns there were, as one does that was asked here."""
    messages = []
    for number in range(length // 2):
        told = {"view": {"turn": number + 1, "tokens": 0, "dropped": 0}}
        turn = f"t{number}"
        text = f"Question {number}: ".ljust(100, "x")
        messages.append(ChatMessage("user", text, turn=turn, id=f"q{number}", metadata=told))
        text = f"Answer {number}: ".ljust(300, "y")
        messages.append(ChatMessage("assistant", text, turn=turn, id=f"a{number}", status="complete"))
    return messages


def ours(folder: pathlib.Path, length: int) -> dict[Case, Call]:
    url = f"sqlite:///{folder}/{length}.sqlite3"
    plugin = SQLAlchemyPlugin({"url": url, "threads": "many"})
    messages = thread(length)
    plugin.save_messages(SCOPE, "thread", messages)
    summaries = Summaries(domain_storage(SQLAlchemyStorage({"url": url}), "summaries"))
    last = length - RECENT
    summary = Summary(
        thread_id="thread", first=1, last=last, last_id=f"a{last // 2 - 1}", turns=last // 2, text="x" * 2_000,
        timestamp="",
    )  # fmt: skip
    summaries.save(SCOPE, summary)

    def view(chain: t.Any) -> list[ChatMessage]:
        location = Location(plugin, SCOPE, NamedVisitor(SCOPE.owner, "thread"), nobody)
        source = Stored(location, summaries=summaries)
        return apply_chain(chain, History(source), Prompt(QUESTION, "Be brief.")).messages

    def call(name: str) -> Call:
        chain = make_chain(CHAINS[name], "here")
        return lambda: view(chain)

    tokens = make_chain(CHAINS["tokens"], "here")
    prompt = Prompt(QUESTION, "Be brief.")
    of_list: dict[Case, Call] = {(LIST, length): lambda: apply_chain(tokens, History.of(messages), prompt)}
    return {(name, length): call(name) for name in CHAINS} | of_list


def peers(folder: pathlib.Path, length: int) -> dict[Case, Call]:
    """Return what does alike in other libraries, as far as they are installed."""
    calls: dict[Case, Call] = {}
    messages = thread(length)
    if importlib.util.find_spec("langchain_core"):
        from langchain_core.messages import AIMessage
        from langchain_core.messages import HumanMessage
        from langchain_core.messages import trim_messages

        kinds = {"user": HumanMessage, "assistant": AIMessage}
        given = [kinds[message.role](message.text) for message in messages]

        def count(counted: cabc.Sequence[t.Any]) -> int:
            return sum(tokens_of_text(message.content) + 4 for message in counted)

        options = {"max_tokens": WINDOW, "token_counter": count, "strategy": "last", "start_on": "human"}
        calls[LANGCHAIN, length] = lambda: trim_messages(given, **options)
    if importlib.util.find_spec("agents"):
        from agents import SQLiteSession

        session = SQLiteSession("thread", str(folder / f"agents-{length}.sqlite3"))
        loop = asyncio.new_event_loop()
        loop.run_until_complete(session.add_items([message.to_openai() for message in messages]))
        calls[AGENTS, length] = lambda: loop.run_until_complete(session.get_items(limit=RECENT))
    return calls


def measure(calls: cabc.Mapping[Case, Call], rounds: int) -> dict[Case, Rounds]:
    results: dict[Case, Rounds] = {case: [] for case in calls}
    for call in calls.values():
        call()
    for _ in range(rounds):
        for case in random.sample(sorted(calls), len(calls)):
            results[case].append([seconds(calls[case]) for _ in range(5)])
    return results


def measure_estimate(rounds: int) -> float:
    text = "Grüße, 你好, hello. " * 40_000
    text = text[: 1_000_000 * len(text) // len(text.encode())]
    calls: dict[Case, Call] = {("encode", 0): lambda: len(text.encode()), ("estimate", 0): lambda: tokens_of_text(text)}
    results = measure(calls, rounds)
    return ratio(results["estimate", 0], results["encode", 0])


def seconds(call: Call) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
