"""What encryption costs: the plugin ``sqlalchemy`` on SQLite, plain and wrapped, in one run.

Run it as ``python -m tests.benchmarks.encrypted``. It measures as :mod:`tests.benchmarks.turn` does.
"""

from __future__ import annotations

import argparse
import collections.abc as cabc
import pathlib
import sys
import tempfile
import typing as t

sys.path.insert(0, str(pathlib.Path(__file__).parents[2]))

from flask_chat_memory.message import ChatMessage
from flask_chat_memory.plugins.encrypted import EncryptedPlugin
from flask_chat_memory.plugins.records import Scope
from tests.benchmarks.plugins import OurSqlalchemy
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
from tests.benchmarks.turn import TURN
from tests.encryption import NEW

LIMIT = 1.5


class Plain(OurSqlalchemy):
    name = "plain"

    def __init__(self, path: pathlib.Path, messages: cabc.Sequence[Body]) -> None:
        super().__init__(path)
        self._fill(messages)

    def _fill(self, messages: cabc.Sequence[Body]) -> None:
        for number in range(OTHER_THREADS):
            other = [ChatMessage.from_dict(body) for body in bodies(OTHER_LENGTH)]
            self._plugin.save_messages(Scope(f"user:{number + 2}"), "other", other)
        self._plugin.save_messages(SCOPE, THREAD_ID, [ChatMessage.from_dict(body) for body in messages])


class Encrypted(Plain):
    name = "encrypted"

    def __init__(self, path: pathlib.Path, messages: cabc.Sequence[Body]) -> None:
        self._path = path
        options = {"plugin": "sqlalchemy", "keys": [NEW], "options": {"url": f"sqlite:///{path}"}}
        self._plugin = t.cast(t.Any, EncryptedPlugin(options))
        self._fill(messages)


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure what encryption costs.")
    parser.add_argument("--quick", action="store_true", help="show that it works; the figures mean nothing")
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--lengths", type=int, nargs="+", default=[10, 100, 1000, 10000], help="messages, even")
    arguments = parser.parse_args()
    rounds = 2 if arguments.quick else arguments.rounds
    lengths = sorted(arguments.lengths)
    with tempfile.TemporaryDirectory() as folder:
        systems = {length: make_systems(pathlib.Path(folder), length) for length in lengths}
        results = measure(systems, rounds)
        for system in [system for group in systems.values() for system in group]:
            system.close()
    print(f"{environment()} {rounds} rounds.\n")
    show(results, lengths)


def make_systems(folder: pathlib.Path, length: int) -> list[System]:
    """Give both systems the same messages."""
    messages = bodies(length)
    return [Plain(folder / f"{length}.sqlite3", messages), Encrypted(folder / f"{length}-encrypted.sqlite3", messages)]


def show(results: Results, lengths: cabc.Sequence[int]) -> None:
    rows = [
        [operation, name, *(milliseconds(median(results[operation, name, length])) for length in lengths)]
        for operation in OPERATIONS
        for name in (Plain.name, Encrypted.name)
    ]
    print(table(["median in ms", "system", *(f"{length:,}" for length in lengths)], rows))
    print(table(TARGET_HEADER, targets(results, lengths)))


def targets(results: Results, lengths: cabc.Sequence[int]) -> cabc.Iterator[list[str]]:
    for operation in (APPEND, NEWEST, BOTH, TURN, ALL):
        for length in lengths:
            against = ratio(results[operation, Encrypted.name, length], results[operation, Plain.name, length])
            yield target(f"{operation}: {length:,} messages", against, LIMIT)


if __name__ == "__main__":
    main()
