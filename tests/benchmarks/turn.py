"""What storing and loading costs: the driver alone, SQLAlchemy Core by hand, and the plugins, in one run.

Run it as ``python -m tests.benchmarks.turn``. The systems are visited in a new random order in every round; a ratio
is the median over the rounds of the ratio of that round's medians. Nothing is asserted.
"""

from __future__ import annotations

import argparse
import collections.abc as cabc
import contextlib
import gc
import pathlib
import random
import secrets
import shutil
import sys
import tempfile
import time
import typing as t

sys.path.insert(0, str(pathlib.Path(__file__).parents[2]))

from tests.benchmarks.core_sqlite import CoreSqlite
from tests.benchmarks.plugins import OurInMemory
from tests.benchmarks.plugins import OurSqlalchemy
from tests.benchmarks.raw_sqlite import RawSqlite
from tests.benchmarks.report import environment
from tests.benchmarks.report import median
from tests.benchmarks.report import milliseconds
from tests.benchmarks.report import ratio
from tests.benchmarks.report import Rounds
from tests.benchmarks.report import table
from tests.benchmarks.report import target
from tests.benchmarks.report import TARGET_HEADER
from tests.benchmarks.store import exchange
from tests.benchmarks.store import seed
from tests.benchmarks.store import System

WINDOW = 20
FEWER = 10
"""Messages that the shortest thread has, too: what more there is to read cannot be told from growth."""
SAMPLES = 5

RAW, PLUGIN = RawSqlite.name, OurSqlalchemy.name
APPEND, FEW, NEWEST, BOTH, ALL, TURN = (
    "append one exchange",
    f"newest {FEWER}",
    f"newest {WINDOW}",
    f"newest {WINDOW}, then append",
    "load all",
    "a turn as a conversation stores it",
)
OPERATIONS = {
    APPEND: "Two messages, one commit.",
    FEW: "As many as the shortest thread has.",
    NEWEST: "A thread of 10 has only 10 to give.",
    BOTH: "One commit.",
    ALL: "Every message of the thread.",
    TURN: f"Newest {WINDOW}, the question, the answer: two commits. The plugins keep a lease and keys besides.",
}

Results = dict[tuple[str, str, int], Rounds]
"""Samples by operation, system and thread length."""


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure what a turn costs.")
    parser.add_argument("--quick", action="store_true", help="show that it works; the figures mean nothing")
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--lengths", type=int, nargs="+", default=[10, 100, 1000, 10000], help="messages, even")
    arguments = parser.parse_args()
    rounds = 2 if arguments.quick else arguments.rounds
    lengths = sorted(arguments.lengths)
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        systems: dict[int, list[System]] = {length: make_systems(pathlib.Path(folder), length) for length in lengths}
        for system in (system for group in systems.values() for system in group):
            stack.callback(system.close)
        results = measure(systems, rounds)
    show(results, lengths, rounds)


def make_systems(folder: pathlib.Path, length: int) -> list[System]:
    """Give every system its own copy of the same database."""
    original = folder / f"{length}.sqlite3"
    seed(original, length)
    paths = [pathlib.Path(shutil.copy(original, folder / f"{length}-{number}.sqlite3")) for number in range(3)]
    return [RawSqlite(paths[0]), CoreSqlite(paths[1]), OurSqlalchemy(paths[2]), OurInMemory(length)]


def measure(systems: cabc.Mapping[int, list[System]], rounds: int) -> Results:
    results: Results = {}
    gc.collect()
    # The threads of the plugin in memory would be searched for garbage while others are measured.
    gc.freeze()
    for _ in range(rounds):
        visits = [(length, system) for length, group in systems.items() for system in group]
        for length, system in random.sample(visits, len(visits)):
            for operation, samples in visit(system, length).items():
                results.setdefault((operation, system.name, length), []).append(samples)
    return results


def visit(system: System, length: int) -> dict[str, list[float]]:
    """Take samples of every operation, the first of each not counted, on a thread of nearly the same length."""
    assert len(system.load(None)) == length
    gc.collect()
    results = {}
    for operation in OPERATIONS:
        calls = [prepare(system, operation) for _ in range(SAMPLES + 1)]
        results[operation] = [stopwatch(call) for call in calls][1:]
        if operation in (APPEND, BOTH, TURN):
            system.cut(length)
    return results


def prepare(system: System, operation: str) -> cabc.Callable[[], object]:
    """Make the messages, and return what is left to do."""
    question, answer = (system.message(body) for body in exchange())
    key = f"question:{secrets.token_urlsafe(16)}"

    def both() -> None:
        system.load(WINDOW)
        system.append([question, answer], key)

    calls: dict[str, cabc.Callable[[], object]] = {
        APPEND: lambda: system.append([question, answer], key),
        FEW: lambda: system.load(FEWER),
        NEWEST: lambda: system.load(WINDOW),
        BOTH: both,
        ALL: lambda: system.load(None),
        TURN: lambda: system.turn(question, answer, WINDOW),
    }
    return calls[operation]


def stopwatch(call: cabc.Callable[[], object]) -> float:
    start = time.perf_counter()
    result = call()
    seconds = time.perf_counter() - start
    del result
    return seconds


def show(results: Results, lengths: cabc.Sequence[int], rounds: int) -> None:
    print(f"{environment()} {rounds} rounds of {SAMPLES} samples.")
    print(f"Median in ms (ratio to {RAW}); growth: {lengths[-1]:,} messages against {lengths[0]:,}.\n")
    for operation, note in OPERATIONS.items():
        rows = [row(results, operation, name, lengths) for name in (RAW, CoreSqlite.name, PLUGIN, OurInMemory.name)]
        print(f"### {operation.capitalize()}\n\n{note}\n")
        print(table(["system", *(f"{length:,}" for length in lengths), "growth"], rows))
    print(f"### Targets\n\n{table(TARGET_HEADER, targets(results, lengths))}")


def row(results: Results, operation: str, name: str, lengths: cabc.Sequence[int]) -> list[str]:
    cells = []
    for length in lengths:
        samples = results[operation, name, length]
        against = "" if name == RAW else f" ({ratio(samples, results[operation, RAW, length]):.2f}x)"
        cells.append(milliseconds(median(samples)) + against)
    return [name, *cells, f"{growth(results, operation, name, lengths[-1], lengths[0]):.2f}x"]


def growth(results: Results, operation: str, name: str, longest: int, shortest: int) -> float:
    return ratio(results[operation, name, longest], results[operation, name, shortest])


def targets(results: Results, lengths: cabc.Sequence[int]) -> t.Iterator[list[str]]:
    longest, shortest = lengths[-1], lengths[0]
    full = next((length for length in lengths if length >= WINDOW), longest)
    for operation, length in dict.fromkeys([(APPEND, shortest), (FEW, shortest), (NEWEST, shortest), (NEWEST, full)]):
        what = f"{operation}: {longest:,} messages against {length:,}"
        yield target(what, growth(results, operation, PLUGIN, longest, length), 1.2)
    for operation, limit in ((APPEND, 2), (NEWEST, 3)):
        for length in lengths:
            against = ratio(results[operation, PLUGIN, length], results[operation, RAW, length])
            yield target(f"{operation}: against {RAW}, {length:,} messages", against, limit)


if __name__ == "__main__":
    main()
