"""What storing and loading costs on each backend: the driver alone, and the plugin, in one run.

Run it as ``python -m tests.benchmarks.backends``; the servers are those of ``CHAT_MEMORY_POSTGRESQL_URL``,
``CHAT_MEMORY_MARIADB_URL`` and ``CHAT_MEMORY_REDIS_URL``. A ratio is the median over the rounds of the ratio of that
round's medians. Nothing is asserted.
"""

from __future__ import annotations

import argparse
import collections.abc as cabc
import contextlib
import dataclasses
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[2]))

from tests.benchmarks import tables
from tests.benchmarks.import_time import import_times
from tests.benchmarks.measure import ALL
from tests.benchmarks.measure import APPEND
from tests.benchmarks.measure import BOTH
from tests.benchmarks.measure import DELETE
from tests.benchmarks.measure import measure
from tests.benchmarks.measure import NEWEST
from tests.benchmarks.measure import peak
from tests.benchmarks.measure import TURN
from tests.benchmarks.report import environment
from tests.benchmarks.report import ratio
from tests.benchmarks.report import table
from tests.benchmarks.report import target
from tests.benchmarks.report import TARGET_HEADER
from tests.benchmarks.store import System
from tests.benchmarks.systems import encrypted
from tests.benchmarks.systems import files
from tests.benchmarks.systems import mariadb
from tests.benchmarks.systems import postgresql
from tests.benchmarks.systems import redis
from tests.benchmarks.systems import sqlite


@dataclasses.dataclass(frozen=True)
class Backend:
    """Something that keeps threads.

    :ivar systems: gives the systems whose thread has a length, the plugin last.
    :ivar limits: how many times as long as the others it may take.
    """

    title: str
    systems: cabc.Callable[[int], contextlib.AbstractContextManager[list[System]]]
    limits: dict[str, float]


def _limits(append: float, newest: float, turn: float, whole: float) -> dict[str, float]:
    return {APPEND: append, NEWEST: newest, BOTH: turn, TURN: turn, ALL: whole, DELETE: 1.5}


_ENCRYPTED = _limits(1.5, 1.5, 1.5, 1.5)
BACKENDS = {
    "sqlite": Backend("SQLite", sqlite.systems, _limits(2, 3, 2, 1.5)),
    "postgresql": Backend("PostgreSQL", postgresql.systems, _limits(1.5, 1.5, 1.5, 1.5)),
    "mariadb": Backend("MariaDB", mariadb.systems, {}),
    "redis": Backend("Redis", redis.systems, _limits(2, 1.5, 2, 1.5)),
    "files": Backend("Files", files.systems, _limits(3, 3, 3, 2)),
    "encrypted-sqlite": Backend("Encrypted, in SQLite", encrypted.on_sqlite, _ENCRYPTED),
    "encrypted-postgresql": Backend("Encrypted, in PostgreSQL", encrypted.on_postgresql, _ENCRYPTED),
    "encrypted-redis": Backend("Encrypted, in Redis", encrypted.on_redis, _ENCRYPTED),
    "encrypted-files": Backend("Encrypted, in files", encrypted.on_files, _ENCRYPTED),
}
IMPORT = "import"


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure what storing and loading costs on each backend.")
    parser.add_argument("--quick", action="store_true", help="show that it works; the figures mean nothing")
    parser.add_argument("--rounds", type=int, default=30)
    parts = [*BACKENDS, IMPORT]
    parser.add_argument("--only", nargs="+", choices=parts, default=parts, help="the parts to measure, in this order")
    parser.add_argument(
        "--lengths", type=int, nargs="+", default=[10, 100, 1000, 10_000, 100_000], help="messages, even"
    )
    arguments = parser.parse_args()
    rounds, lengths = (2 if arguments.quick else arguments.rounds), sorted(arguments.lengths)
    print(f"{environment()} {rounds} rounds.", flush=True)
    rest = []
    for name in arguments.only:
        if name == IMPORT:
            rest.append(target("importing the extension, too", ratio(*import_times(rounds)), 1.1))
        else:
            rest += run(BACKENDS[name], lengths, rounds)
    print(f"### Growth, memory, import\n\n{table(TARGET_HEADER, rest)}")


def run(backend: Backend, lengths: cabc.Sequence[int], rounds: int) -> list[list[str]]:
    """Measure a backend and print its tables; return the rows about growth and memory."""
    with contextlib.ExitStack() as stack:
        systems = {length: stack.enter_context(backend.systems(length)) for length in lengths}
        results = measure(systems, rounds)
        used = peak(systems[lengths[-1]][-1])
        names = [system.name for system in systems[lengths[0]]]
    print(f"\n### {backend.title}\n\n{tables.times(results, names, lengths)}")
    if backend.limits:
        print(tables.targets(results, names, lengths, backend.limits), flush=True)
    return [
        *tables.growth(results, names[-1], lengths, backend.title),
        target(f"{backend.title}: MB to load the newest of {lengths[-1]:,}", used, 1, ""),
    ]


if __name__ == "__main__":
    main()
