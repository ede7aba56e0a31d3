"""Takes samples of systems, interleaved: they are visited in a new random order in every round."""

from __future__ import annotations

import collections.abc as cabc
import functools
import gc
import random
import secrets
import time
import tracemalloc
import typing as t

from tests.benchmarks.report import Rounds
from tests.benchmarks.store import bodies
from tests.benchmarks.store import Body
from tests.benchmarks.store import exchange
from tests.benchmarks.store import System

WINDOW = 20
FEWER = 10
"""Messages that the shortest thread has, too: what more there is to read cannot be told from growth."""
WHOLE = 10_000
"""Longer threads are not loaded whole, nor deleted."""
SAMPLES = 5
DELETED = 2

APPEND, FEW, NEWEST, BOTH, TURN, ALL, DELETE = (
    "append one exchange",
    f"newest {FEWER}",
    f"newest {WINDOW}",
    f"newest {WINDOW}, then append",
    "a turn as a conversation stores it",
    "load all",
    "delete the thread",
)
OPERATIONS = (APPEND, FEW, NEWEST, BOTH, TURN, ALL, DELETE)
_WRITES = {APPEND, BOTH, TURN}
_OF_WHOLE = {ALL, DELETE}

Results = dict[tuple[str, str, int], Rounds]
"""Samples by operation, system and thread length."""
Call = cabc.Callable[[], object]


def measure(systems: cabc.Mapping[int, cabc.Sequence[System]], rounds: int) -> Results:
    """Return samples of each system, by the length of its thread."""
    results: Results = {}
    doomed = {length: bodies(length) for length in systems if length <= WHOLE}
    visits = [(length, system) for length, group in systems.items() for system in group]
    for length, system in visits:
        assert len(system.load(None)) == length
    gc.collect()
    gc.freeze()
    for _ in range(rounds):
        for length, system in random.sample(visits, len(visits)):
            gc.collect()
            for operation in OPERATIONS:
                if operation not in _OF_WHOLE or length in doomed:
                    samples = visit(system, operation, length, doomed.get(length, []))
                    results.setdefault((operation, system.name, length), []).append(samples)
    gc.unfreeze()
    return results


def visit(system: System, operation: str, length: int, doomed: cabc.Sequence[Body]) -> list[float]:
    """Take samples of an operation, the first not counted, on a thread of nearly the same length."""
    if operation == DELETE:
        calls = [doom(system, doomed) for _ in range(DELETED + 1)]
    else:
        calls = [prepare(system, operation) for _ in range(SAMPLES + 1)]
    samples = [stopwatch(call) for call in calls][1:]
    if operation in _WRITES:
        system.cut(length)
    return samples


def doom(system: System, messages: cabc.Sequence[Body]) -> Call:
    """Make a thread, and return what deletes it."""
    owner = f"doomed:{secrets.token_hex(8)}"
    system.add(owner, [system.message(body) for body in messages])
    return functools.partial(system.delete, owner)


def prepare(system: System, operation: str) -> Call:
    """Make the messages, and return what is left to do."""
    question, answer = (system.message(body) for body in exchange())
    key = f"question:{secrets.token_urlsafe(16)}"

    def both() -> None:
        system.load(WINDOW)
        system.append([question, answer], key)

    calls: dict[str, Call] = {
        APPEND: lambda: system.append([question, answer], key),
        FEW: lambda: system.load(FEWER),
        NEWEST: lambda: system.load(WINDOW),
        BOTH: both,
        TURN: lambda: system.turn(question, answer, WINDOW),
        ALL: lambda: system.load(None),
    }
    return calls[operation]


def stopwatch(call: Call) -> float:
    start = time.perf_counter()
    result = call()
    seconds = time.perf_counter() - start
    del result
    return seconds


def peak(system: System) -> float:
    """Return the MB that are allocated at most while the newest messages are loaded."""
    system.load(WINDOW)
    tracemalloc.start()
    messages: list[t.Any] = system.load(WINDOW)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    del messages
    return most / 1e6
