"""What it costs to copy a store to another, against a loop over the rows, and to export an owner of many messages.

Run it as ``python -m tests.benchmarks.transfer``; the server is that of ``CHAT_MEMORY_POSTGRESQL_URL``. A ratio is the
median over the rounds of the ratio of that round's times. The memory is what a process needs at most that does nothing
else. Nothing is asserted.
"""

from __future__ import annotations

import argparse
import collections.abc as cabc
import contextlib
import os
import pathlib
import sqlite3
import sys
import tempfile
import time
import traceback

import psycopg
import sqlalchemy as sa

sys.path.insert(0, str(pathlib.Path(__file__).parents[2]))

from flask_chat_memory.message import ChatMessage
from flask_chat_memory.plugins.records import Scope
from flask_chat_memory.plugins.sql.engines import check_url
from flask_chat_memory.plugins.sqlalchemy import SQLAlchemyPlugin
from flask_chat_memory.transfer.copying import Copy
from flask_chat_memory.transfer.exporting import Export
from flask_chat_memory.transfer.stores import Stores
from tests.benchmarks.report import environment
from tests.benchmarks.report import ratio
from tests.benchmarks.report import table
from tests.benchmarks.report import target
from tests.benchmarks.report import TARGET_HEADER
from tests.benchmarks.store import exchange
from tests.sql_servers import POSTGRESQL
from tests.sql_servers import schema_in

EXCHANGES = 5
"""In each thread that is copied."""
EXPORTED = 100_000
"""Messages of the owner who is exported, in threads of a thousand."""
TABLES = ("thread", "message", "append_key", "current")


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure what copying and exporting costs.")
    parser.add_argument("--quick", action="store_true", help="show that it works; the figures mean nothing")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1000, help="threads of which each round copies all")
    parser.add_argument("--many", type=int, default=100_000, help="threads of the copy whose memory is measured")
    arguments = parser.parse_args()
    rounds, threads, many, exported = arguments.rounds, arguments.threads, arguments.many, EXPORTED
    if arguments.quick:
        rounds, threads, many, exported = 2, 20, 200, 2_000
    print(environment() + f" {rounds} rounds.\n")
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        seconds, megabytes = exporting(pathlib.Path(folder), exported)
        rows.append(target(f"memory of an export of {exported:,} messages ({seconds:.1f} s)", megabytes, 100.0, " MB"))
    with tempfile.TemporaryDirectory() as folder:
        seconds, megabytes = copying(pathlib.Path(folder), many)
        rows.append(target(f"memory of a copy of {many:,} threads ({seconds:.0f} s)", megabytes, 200.0, " MB"))
    with tempfile.TemporaryDirectory() as folder:
        raw, ours = copies(pathlib.Path(folder), threads, rounds)
        rows.append(
            target(f"copy {threads:,} threads of {2 * EXCHANGES} messages to PostgreSQL", ratio(ours, raw), 3.0)
        )
    print(table(TARGET_HEADER, rows))


def copies(folder: pathlib.Path, threads: int, rounds: int) -> tuple[list[list[float]], list[list[float]]]:
    """Copy from SQLite to PostgreSQL, by a loop over rows and by the copy, in turns."""
    source = folder / "source.sqlite3"
    with contextlib.closing(careless(source)) as old:
        fill(old, ((Scope(f"user:{n}"), "thread") for n in range(threads)), EXCHANGES)
        raw, ours = [], []
        for _ in range(rounds):
            with place() as url:
                raw.append([raw_copy(source, url)])
            with place() as url, contextlib.closing(SQLAlchemyPlugin({"url": url})) as new:
                new.has_thread(Scope("user:1"), "thread")
                begun = time.perf_counter()
                copy = Copy()
                for _ in copy.plugins(old, new):
                    pass
                ours.append([time.perf_counter() - begun])
                assert copy.is_whole, copy.counts
    return raw, ours


def raw_copy(source: pathlib.Path, url: str) -> float:
    """Read every row and insert it by a statement of its own; commit after each thread, as the copy does."""
    with contextlib.closing(SQLAlchemyPlugin({"url": url})) as plugin:
        plugin.has_thread(Scope("user:1"), "thread")
    dsn = check_url(url).set(drivername="postgresql").render_as_string(hide_password=False)
    begun = time.perf_counter()
    with contextlib.closing(sqlite3.connect(source)) as old, psycopg.connect(dsn) as new, new.cursor() as cursor:
        for (key,) in old.execute("SELECT thread_key FROM chat_memory_thread").fetchall():
            for name in TABLES:
                rows = old.execute(f"SELECT * FROM chat_memory_{name} WHERE thread_key = ?", (key,))
                marks = ", ".join(["%s"] * len(rows.description))
                for row in rows:
                    cursor.execute(f"INSERT INTO chat_memory_{name} VALUES ({marks})", row)
            new.commit()
    return time.perf_counter() - begun


def exporting(folder: pathlib.Path, messages: int) -> tuple[float, float]:
    """Export an owner; return seconds and megabytes."""

    def make() -> None:
        with contextlib.closing(careless(folder / "chat.sqlite3")) as plugin:
            fill(plugin, ((Scope("user:1"), f"thread-{n}") for n in range(max(1, messages // 1000))), 500)

    def work() -> None:
        with contextlib.closing(careless(folder / "chat.sqlite3")) as plugin, open(os.devnull, "wb") as file:
            for line in Export(Stores({"default": plugin}), 0.0, owner="user:1").lines():
                file.write(line)

    alone(make)
    return alone(work)


def copying(folder: pathlib.Path, threads: int) -> tuple[float, float]:
    """Copy many threads to another database; return seconds and megabytes."""

    def make() -> None:
        with contextlib.closing(careless(folder / "old.sqlite3")) as old:
            fill(old, ((Scope(f"user:{n}"), "thread") for n in range(threads)), 1)

    def work() -> None:
        with (
            contextlib.closing(careless(folder / "old.sqlite3")) as old,
            contextlib.closing(careless(folder / "new.sqlite3")) as new,
        ):
            for _ in Copy().plugins(old, new):
                pass

    alone(make)
    return alone(work)


def alone(work: cabc.Callable[[], None]) -> tuple[float, float]:
    """Do work in a process of its own; return the seconds that it takes, and the megabytes that the process needs."""
    begun = time.perf_counter()
    child = os.fork()
    if child == 0:
        try:
            work()
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    _, status, used = os.wait4(child, 0)
    assert status == 0
    return time.perf_counter() - begun, used.ru_maxrss / 1024


def careless(path: pathlib.Path) -> SQLAlchemyPlugin:
    """Open a database that waits for no disk."""
    engine = sa.create_engine(f"sqlite:///{path}")
    sa.event.listen(engine, "connect", lambda connection, _: connection.execute("PRAGMA synchronous=OFF"))
    return SQLAlchemyPlugin({"engine": engine, "threads": "many", "max_threads": 1000})


def fill(plugin: SQLAlchemyPlugin, places: cabc.Iterable[tuple[Scope, str]], exchanges: int) -> None:
    for scope, thread_id in places:
        messages = [ChatMessage.from_dict(body) for _ in range(exchanges) for body in exchange()]
        plugin.append_messages(scope, thread_id, messages, key=f"question:{thread_id}")


@contextlib.contextmanager
def place() -> cabc.Iterator[str]:
    """Give the URL of a schema on PostgreSQL that is gone afterwards."""
    with schema_in(check_url(os.environ[POSTGRESQL])) as url:
        yield url.render_as_string(hide_password=False)


if __name__ == "__main__":
    main()
