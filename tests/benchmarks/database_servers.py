"""What storing and loading costs on PostgreSQL or MariaDB: the driver alone, and the plugin, in one run.

Run it as ``python -m tests.benchmarks.database_servers --url postgresql://postgres@127.0.0.1:5432/test``. The tables
are made in schemas, or databases, with random names, which are dropped in the end. The systems are visited in a new
random order in every round; a ratio is the median over the rounds of the ratio of that round's medians. Nothing is
asserted.
"""

from __future__ import annotations

import argparse
import collections.abc as cabc
import contextlib
import os
import pathlib
import secrets
import sys
import typing as t

import sqlalchemy as sa

sys.path.insert(0, str(pathlib.Path(__file__).parents[2]))

from flask_chat_memory.plugins.records import Scope
from flask_chat_memory.plugins.sql.engines import check_url
from flask_chat_memory.plugins.sqlalchemy import SQLAlchemyPlugin
from tests.benchmarks.plugins import OurSqlalchemy
from tests.benchmarks.plugins import Plugin
from tests.benchmarks.raw_servers import RawMariaDB
from tests.benchmarks.raw_servers import RawPostgreSQL
from tests.benchmarks.report import environment
from tests.benchmarks.report import median
from tests.benchmarks.report import milliseconds
from tests.benchmarks.report import ratio
from tests.benchmarks.report import table
from tests.benchmarks.report import target
from tests.benchmarks.report import TARGET_HEADER
from tests.benchmarks.store import messages
from tests.benchmarks.store import OTHER_LENGTH
from tests.benchmarks.store import OTHER_THREADS
from tests.benchmarks.store import SCOPE
from tests.benchmarks.store import THREAD_ID
from tests.benchmarks.turn import ALL
from tests.benchmarks.turn import APPEND
from tests.benchmarks.turn import BOTH
from tests.benchmarks.turn import growth
from tests.benchmarks.turn import measure
from tests.benchmarks.turn import NEWEST
from tests.benchmarks.turn import OPERATIONS
from tests.benchmarks.turn import Results
from tests.benchmarks.turn import TURN
from tests.benchmarks.turn import WINDOW
from tests.sql_servers import database_in
from tests.sql_servers import schema_in

LIMITS = {APPEND: 1.5, NEWEST: 1.5, BOTH: 1.5, TURN: 1.5, ALL: 1.5}


class OurServer(Plugin):
    name = OurSqlalchemy.name

    def __init__(self, url: sa.URL, raw: RawPostgreSQL | RawMariaDB, length: int) -> None:
        self._plugin = SQLAlchemyPlugin({"url": url.render_as_string(hide_password=False)})
        self.cut = raw.cut
        for number in range(OTHER_THREADS):
            owner = Scope(f"user:{number + 2}")
            self._plugin.save_messages(owner, secrets.token_urlsafe(16), messages(OTHER_LENGTH))
        self._plugin.save_messages(SCOPE, THREAD_ID, messages(length))


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure what a turn costs on a server.")
    parser.add_argument("--url", default=os.environ.get("CHAT_MEMORY_POSTGRESQL_URL"))
    parser.add_argument("--quick", action="store_true", help="show that it works; the figures mean nothing")
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--lengths", type=int, nargs="+", default=[10, 100, 1000, 10000], help="messages, even")
    arguments = parser.parse_args()
    rounds = 2 if arguments.quick else arguments.rounds
    lengths = sorted(arguments.lengths)
    server = check_url(arguments.url)
    is_postgresql = server.get_backend_name() == "postgresql"
    raw_kind: type[RawPostgreSQL | RawMariaDB] = RawPostgreSQL if is_postgresql else RawMariaDB
    with contextlib.ExitStack() as stack:
        systems = {}
        for length in lengths:
            url = stack.enter_context(schema_in(server) if is_postgresql else database_in(server))
            raw = raw_kind(url)
            stack.callback(raw.close)
            ours = OurServer(url, raw, length)
            stack.callback(ours.close)
            systems[length] = [raw, ours]
        results = measure(t.cast(t.Any, systems), rounds)
    print(f"{environment()} {rounds} rounds.")
    show(results, lengths, raw_kind.name)


def show(results: Results, lengths: cabc.Sequence[int], raw: str) -> None:
    print(f"Median in ms (ratio to {raw}); growth: {lengths[-1]:,} messages against {lengths[0]:,}.\n")
    for operation in OPERATIONS:
        rows = []
        for name in (raw, OurServer.name):
            cells = [
                f"{milliseconds(median(samples))} ({ratio(samples, results[operation, raw, length]):.2f}x)"
                for length in lengths
                for samples in [results[operation, name, length]]
            ]
            rows.append([name, *cells, f"{growth(results, operation, name, lengths[-1], lengths[0]):.2f}x"])
        print(f"### {operation.capitalize()}\n")
        print(table(["system", *(f"{length:,}" for length in lengths), "growth"], rows))
    print(f"### Targets\n\n{table(TARGET_HEADER, targets(results, lengths, raw))}")


def targets(results: Results, lengths: cabc.Sequence[int], raw: str) -> t.Iterator[list[str]]:
    for operation, limit in LIMITS.items():
        for length in lengths:
            against = ratio(results[operation, OurServer.name, length], results[operation, raw, length])
            yield target(f"{operation}: against {raw}, {length:,} messages", against, limit)
    full = next((length for length in lengths if length >= WINDOW), lengths[-1])
    for operation in (APPEND, NEWEST):
        what = f"{operation}: {lengths[-1]:,} messages against {full:,}"
        yield target(what, growth(results, operation, OurServer.name, lengths[-1], full), 1.25)


if __name__ == "__main__":
    main()
