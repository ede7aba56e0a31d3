"""What a message costs: made, encoded and decoded, against msgspec alone on the same dicts.

Run it as ``python -m tests.benchmarks.messages``. Nothing is asserted.
"""

from __future__ import annotations

import argparse
import collections.abc as cabc
import gc
import pathlib
import random
import sys
import time
import typing as t

import msgspec

sys.path.insert(0, str(pathlib.Path(__file__).parents[2]))

from flask_chat_memory.message import ChatMessage
from tests.benchmarks.report import environment
from tests.benchmarks.report import median
from tests.benchmarks.report import milliseconds
from tests.benchmarks.report import ratio
from tests.benchmarks.report import Rounds
from tests.benchmarks.report import table
from tests.benchmarks.report import target
from tests.benchmarks.report import TARGET_HEADER
from tests.benchmarks.store import ALPHABET
from tests.benchmarks.store import Body
from tests.benchmarks.store import exchange

COUNT = 1000
GREEK = "αβγδεζηθικλμνξοπρστυφχψω"

Steps = dict[str, cabc.Callable[[list[t.Any]], list[t.Any]]]

BARE: Steps = {
    "encode": lambda bodies: [msgspec.json.encode(body) for body in bodies],
    "decode": lambda texts: [msgspec.json.decode(text) for text in texts],
}
OURS: Steps = {
    "make": lambda bodies: [ChatMessage.from_dict(body) for body in bodies],
    "encode": lambda messages: [message.to_json() for message in messages],
    "decode": lambda texts: ChatMessage.from_rows(enumerate(texts, 1)),
}


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure what a message costs.")
    parser.add_argument("--quick", action="store_true", help="show that it works; the figures mean nothing")
    parser.add_argument("--rounds", type=int, default=100)
    arguments = parser.parse_args()
    rounds = 3 if arguments.quick else arguments.rounds
    rows, targets = [], []
    for name, bodies in kinds().items():
        bare, ours = measure(bodies, rounds)
        total = ratio(ours["all"], bare["all"])
        steps = [milliseconds(median(times[step])) for times in (bare, ours) for step in times]
        rows.append([name, *steps, f"{total:.2f}x"])
        targets.append(target(name, total, 4))
    print(f"{environment()} {rounds} rounds.")
    print(f"{COUNT:,} messages of 300 characters, median in ms; msgspec is given the dicts.\n")
    header = ["messages", "msgspec: encode", "decode", "all", "ours: make", "encode", "decode", "all", "ratio"]
    print(table(header, rows))
    print(table(TARGET_HEADER, targets))


def kinds() -> dict[str, list[Body]]:
    result = {}
    for script, alphabet in (("ASCII", ALPHABET), ("Greek", GREEK)):
        bodies = [body for _ in range(COUNT // 2) for body in exchange(alphabet)]
        result[f"as a turn stores them, {script}"] = bodies
        result[f"role and content alone, {script}"] = [
            {"role": body["role"], "content": body["content"]} for body in bodies
        ]
    return result


def measure(bodies: list[Body], rounds: int) -> list[dict[str, Rounds]]:
    """Return the times of each step and of all, of msgspec and of ours."""
    results: list[dict[str, Rounds]] = [{}, {}]
    for _ in range(rounds):
        for place in random.sample((0, 1), 2):
            gc.collect()
            steps = (BARE, OURS)[place]
            times = run(steps, bodies)
            for step, seconds in times.items():
                results[place].setdefault(step, []).append([seconds])
            results[place].setdefault("all", []).append([sum(times.values())])
    return results


def run(steps: Steps, values: list[t.Any]) -> dict[str, float]:
    times = {}
    for name, step in steps.items():
        start = time.perf_counter()
        values = step(values)
        times[name] = time.perf_counter() - start
    return times


if __name__ == "__main__":
    main()
