"""What storing and loading in files costs: a bare file of JSON lines, and the plugin ``file``, in one run.

Run it as ``python -m tests.benchmarks.files``. It measures as :mod:`tests.benchmarks.turn` does. Nothing is asserted.
"""

from __future__ import annotations

import argparse
import collections.abc as cabc
import functools
import os
import pathlib
import random
import sys
import tempfile
import typing as t

import msgspec

sys.path.insert(0, str(pathlib.Path(__file__).parents[2]))

from flask_chat_memory.message import ChatMessage
from flask_chat_memory.plugins.file import FilePlugin
from flask_chat_memory.plugins.records import Scope
from tests.benchmarks.plugins import Plugin
from tests.benchmarks.report import environment
from tests.benchmarks.report import median
from tests.benchmarks.report import milliseconds
from tests.benchmarks.report import ratio
from tests.benchmarks.report import table
from tests.benchmarks.report import target
from tests.benchmarks.report import TARGET_HEADER
from tests.benchmarks.store import bodies
from tests.benchmarks.store import Body
from tests.benchmarks.store import OTHER_LENGTH
from tests.benchmarks.store import OTHER_THREADS
from tests.benchmarks.store import SCOPE
from tests.benchmarks.store import System
from tests.benchmarks.store import THREAD_ID
from tests.benchmarks.turn import ALL
from tests.benchmarks.turn import APPEND
from tests.benchmarks.turn import BOTH
from tests.benchmarks.turn import measure
from tests.benchmarks.turn import NEWEST
from tests.benchmarks.turn import OPERATIONS
from tests.benchmarks.turn import Results
from tests.benchmarks.turn import stopwatch
from tests.benchmarks.turn import TURN

DELETE = "delete a thread"
LIMITS = {APPEND: 3.0, NEWEST: 3.0, BOTH: 3.0, TURN: 3.0, ALL: 2.0, DELETE: 1.5}
BLOCK = 16 * 1024


class RawFile:
    """Opens the file each time, as several processes must; appends its lines and syncs, or reads from the end."""

    name = "raw file"

    def __init__(self, path: pathlib.Path, messages: cabc.Sequence[Body]) -> None:
        self._path = path
        self.append(messages, "")
        self._size = os.path.getsize(path)

    def message(self, body: Body) -> Body:
        return body

    def append(self, messages: cabc.Sequence[Body], key: str) -> None:
        descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        os.write(descriptor, b"".join(msgspec.json.encode(message) + b"\n" for message in messages))
        os.fsync(descriptor)
        os.close(descriptor)

    def load(self, limit: int | None) -> list[Body]:
        with open(self._path, "rb", buffering=0) as file:
            size = os.fstat(file.fileno()).st_size
            if limit is None:
                lines = file.read().splitlines()
            else:
                # Enough for the messages of the benchmark.
                lines = os.pread(file.fileno(), BLOCK, max(0, size - BLOCK)).splitlines()[-limit:]
        return [msgspec.json.decode(line) for line in lines]

    def turn(self, question: Body, answer: Body, limit: int) -> None:
        self.load(limit)
        self.append([question], "")
        self.append([answer], "")

    def cut(self, length: int) -> None:
        os.truncate(self._path, self._size)

    def close(self) -> None: ...


class OurFile(Plugin):
    name = "plugin file"

    def __init__(self, folder: pathlib.Path, messages: cabc.Sequence[Body]) -> None:
        self._plugin = FilePlugin({"folder": str(folder)})
        for number in range(OTHER_THREADS):
            other = [ChatMessage.from_dict(body) for body in bodies(OTHER_LENGTH)]
            self._plugin.save_messages(Scope(f"user:{number + 2}"), "other", other)
        self._plugin.save_messages(SCOPE, THREAD_ID, [ChatMessage.from_dict(body) for body in messages])
        [self._body] = (path for path in folder.rglob("*.jsonl") if THREAD_ID in path.with_suffix(".json").read_text())
        self._size = os.path.getsize(self._body)

    def cut(self, length: int) -> None:
        os.truncate(self._body, self._size)


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure what a turn costs in files.")
    parser.add_argument("--quick", action="store_true", help="show that it works; the figures mean nothing")
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--lengths", type=int, nargs="+", default=[10, 100, 1000, 10000], help="messages, even")
    arguments = parser.parse_args()
    rounds = 2 if arguments.quick else arguments.rounds
    lengths = sorted(arguments.lengths)
    with tempfile.TemporaryDirectory() as folder:
        systems = {length: make_systems(pathlib.Path(folder), length) for length in lengths}
        results = measure(systems, rounds)
    with tempfile.TemporaryDirectory() as folder:
        results |= measure_deleting(pathlib.Path(folder), lengths, rounds)
    print(f"{environment()} {rounds} rounds.\n")
    show(results, lengths)


def make_systems(folder: pathlib.Path, length: int) -> list[System]:
    """Give both systems the same messages."""
    messages = bodies(length)
    return [RawFile(folder / f"{length}.jsonl", messages), OurFile(folder / str(length), messages)]


def measure_deleting(folder: pathlib.Path, lengths: cabc.Sequence[int], rounds: int) -> Results:
    """Delete a thread, and by hand the files that one consists of, each for good."""
    results: Results = {}
    plugin = FilePlugin({"folder": str(folder), "threads": "many"})
    plugin.save_messages(SCOPE, "stays", [])
    stays = set(folder.rglob("*.json*"))
    threads = {length: [ChatMessage.from_dict(body) for body in bodies(length)] for length in lengths}
    visits = [(length, name) for length in lengths for name in (RawFile.name, OurFile.name)]
    for _ in range(rounds):
        for length, name in random.sample(visits, len(visits)):
            plugin.save_messages(SCOPE, THREAD_ID, threads[length])
            files = sorted(set(folder.rglob("*.json*")) - stays)
            if name == RawFile.name:
                seconds = stopwatch(functools.partial(unlink, files))
            else:
                seconds = stopwatch(functools.partial(plugin.delete_thread, SCOPE, THREAD_ID))
            results.setdefault((DELETE, name, length), []).append([seconds])
    return results


def unlink(files: cabc.Sequence[pathlib.Path]) -> None:
    for file in files:
        os.unlink(file)
    descriptor = os.open(files[0].parent, os.O_RDONLY)
    os.fsync(descriptor)
    os.close(descriptor)


def show(results: Results, lengths: cabc.Sequence[int]) -> None:
    rows = [
        [operation, name, *(milliseconds(median(results[operation, name, length])) for length in lengths)]
        for operation in (*OPERATIONS, DELETE)
        for name in (RawFile.name, OurFile.name)
    ]
    print(table(["median in ms", "system", *(f"{length:,}" for length in lengths)], rows))
    print(table(TARGET_HEADER, targets(results, lengths)))


def targets(results: Results, lengths: cabc.Sequence[int]) -> t.Iterator[list[str]]:
    for operation, limit in LIMITS.items():
        for length in lengths:
            against = ratio(results[operation, OurFile.name, length], results[operation, RawFile.name, length])
            yield target(f"{operation}: against {RawFile.name}, {length:,} messages", against, limit)
    full = next((length for length in lengths if length >= 20), lengths[0])
    for operation, shortest in ((APPEND, lengths[0]), (NEWEST, full), (TURN, full)):
        growth = ratio(results[operation, OurFile.name, lengths[-1]], results[operation, OurFile.name, shortest])
        yield target(f"{operation}: {lengths[-1]:,} messages against {shortest:,}", growth, 1.25)


if __name__ == "__main__":
    main()
