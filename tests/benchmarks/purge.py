"""What a purge costs, and what it costs those who chat meanwhile.

Run it as ``python -m tests.benchmarks.purge``; the server is that of ``CHAT_MEMORY_POSTGRESQL_URL``. A process takes
turns on a thread of its own, at first alone, then while ``flask chat-memory purge`` deletes all others; each turn reads
the newest messages and stores question and answer. One raw DELETE for each table, in one transaction, does the same to
a copy. Nothing is asserted.
"""

from __future__ import annotations

import argparse
import collections.abc as cabc
import contextlib
import json
import os
import pathlib
import re
import secrets
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import typing as t

import sqlalchemy as sa

sys.path.insert(0, str(pathlib.Path(__file__).parents[2]))

from flask_chat_memory.message import ChatMessage
from flask_chat_memory.plugins.records import Scope
from flask_chat_memory.plugins.sql.engines import check_url
from flask_chat_memory.plugins.sql.rows import columns_of
from flask_chat_memory.plugins.sql.tables import define_tables
from flask_chat_memory.plugins.sql.tables import scope_key
from flask_chat_memory.plugins.sql.tables import thread_key
from flask_chat_memory.plugins.sqlalchemy import SQLAlchemyPlugin
from tests.benchmarks.report import environment
from tests.benchmarks.report import milliseconds
from tests.benchmarks.report import table
from tests.benchmarks.report import target
from tests.benchmarks.report import TARGET_HEADER
from tests.benchmarks.store import bodies
from tests.benchmarks.systems.plugin import PluginSystem
from tests.operated_app import CONFIG
from tests.sql_servers import POSTGRESQL
from tests.sql_servers import schema_in

LENGTH = 10
"""Messages of a thread."""
ALONE = 20.0
"""Seconds for which turns are taken before the purge."""
PAUSE = 0.02
"""Seconds between two turns."""
DAY = 86_400.0
TABLES = ("message", "append_key", "live", "mark", "current", "thread")


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure what a purge costs, and those who chat meanwhile.")
    parser.add_argument("--threads", type=int, default=100_000, help="threads that are purged")
    parser.add_argument("--only", nargs="+", choices=PLACES, default=list(PLACES), help="databases")
    parser.add_argument("--take-turns", metavar="URL", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.take_turns:
        take_turns(arguments.take_turns)
        return
    print(f"{environment()} {arguments.threads:,} threads, {arguments.threads * LENGTH:,} messages.\n", flush=True)
    rows, targets = [], []
    for name in arguments.only:
        with PLACES[name](arguments.threads) as (url, copy):
            found = measure(url)
            raw = delete_raw(copy)
        alone, during = found["alone"], found["during"]
        speeds = [f"{arguments.threads / seconds * 60:,.0f}" for seconds in (found["seconds"], raw)]
        latencies = [milliseconds(seconds) for seconds in (alone, during, found["worst"])]
        rows.append([name, f"{found['memory']:.0f}", *latencies, str(found["turns"]), *speeds])
        targets += [
            target(f"{name}: memory", found["memory"], 100, " MB"),
            target(f"{name}: p99 of a turn during the purge against alone", during / alone, 5),
            target(f"{name}: p99 of a turn during the purge", during * 1000, 250, " ms"),
        ]
    header = ["", "MB at most", "p99 alone, ms", "p99 during, ms", "slowest, ms", "turns during"]
    print(table([*header, "threads a minute", "raw DELETE"], rows))
    print(table(TARGET_HEADER, targets))


def measure(url: str) -> dict[str, float]:
    """Purge while somebody chats; return seconds and MB."""
    command = [sys.executable, "-m", "tests.benchmarks.purge", "--take-turns", url]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as turns:
        assert turns.stdout and turns.stdin
        samples: list[float] = []
        deadline = time.monotonic() + ALONE
        while time.monotonic() < deadline:
            samples.append(float(turns.stdout.readline()))
        purge = [sys.executable, "-m", "flask", "--app", "tests.operated_app", "chat-memory", "purge"]
        config = json.dumps({"CHAT_MEMORY_PLUGIN": "sqlalchemy", "CHAT_MEMORY_OPTIONS": {"url": url}})
        start = time.perf_counter()
        process = subprocess.Popen([*purge, "--days", "30", "--yes"], env={**os.environ, CONFIG: config})
        during, memory = [], 0.0
        while process.poll() is None:
            memory = max(memory, _most_memory(process.pid))
            during.append(float(turns.stdout.readline()))
        seconds = time.perf_counter() - start
        turns.stdin.close()
        turns.stdout.read()
    assert process.returncode == 0
    times = {"alone": _p99(samples), "during": _p99(during), "worst": max(during), "seconds": seconds}
    return {**times, "turns": len(during), "memory": memory}


def _most_memory(process: int) -> float:
    """Return the MB that a process of Linux has ever had; 0 of one that has ended."""
    status = pathlib.Path(f"/proc/{process}/status").read_text()
    found = re.search(r"VmHWM:\s+(\d+)", status)
    return int(found[1]) / 1000 if found else 0.0


def take_turns(url: str) -> None:
    """Take turns until standard input ends, and tell the seconds of each."""
    os.set_blocking(sys.stdin.fileno(), False)
    with contextlib.closing(SQLAlchemyPlugin({"url": url})) as plugin:
        system = PluginSystem(plugin, LENGTH)
        while sys.stdin.buffer.read(1) is None:
            question, answer = (system.message(body) for body in bodies(2))
            start = time.perf_counter()
            system.turn(question, answer, 20)
            print(time.perf_counter() - start, flush=True)
            time.sleep(PAUSE)


def _p99(samples: list[float]) -> float:
    return statistics.quantiles(samples, n=100)[98]


def delete_raw(url: str) -> float:
    """Return the seconds of one DELETE for each table, all in one transaction."""
    engine = sa.create_engine(check_url(url))
    idle = f"SELECT thread_key FROM chat_memory_thread WHERE last_activity < {time.time() - 30 * DAY}"
    with engine.connect() as connection:
        start = time.perf_counter()
        for name in TABLES:
            connection.exec_driver_sql(f"DELETE FROM chat_memory_{name} WHERE thread_key IN ({idle})")
        connection.commit()
        seconds = time.perf_counter() - start
    engine.dispose()
    return seconds


def fill(url: str, threads: int) -> None:
    """Store threads of as many owners, all of them idle for longer than 30 days."""
    with contextlib.closing(SQLAlchemyPlugin({"url": url})) as plugin:
        plugin.has_thread(Scope("user:1"), "any")
    tables = define_tables(sa.MetaData())
    engine = sa.create_engine(check_url(url))
    idle = time.time() - 60 * DAY
    for start in range(0, threads, 1000):
        rows: dict[sa.Table, list[dict[str, t.Any]]] = {}
        for number in range(start, min(start + 1000, threads)):
            scope, thread_id = Scope(f"idle:{number}"), secrets.token_urlsafe(16)
            key = {"thread_key": thread_key(scope, thread_id)}
            names = {"owner": scope.owner, "chatbot": scope.chatbot, "thread_id": thread_id, "title": "About this"}
            numbers = {"sequence": LENGTH, "messages": LENGTH, "tokens": 0, "created_at": idle, "last_activity": idle}
            rows.setdefault(tables.thread, []).append({**key, **names, **numbers})
            rows.setdefault(tables.current, []).append({**key, "scope_key": scope_key(scope)})
            for place, body in enumerate(bodies(LENGTH), 1):
                message = columns_of(ChatMessage.from_dict(body))
                rows.setdefault(tables.message, []).append({**key, "sequence": place, **message})
                name = {"append_key": f"key:{secrets.token_urlsafe(16)}", "sequence": place}
                rows.setdefault(tables.append_key, []).append({**key, **name})
        with engine.begin() as connection:
            for of, values in rows.items():
                connection.execute(sa.insert(of), values)
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.exec_driver_sql("ANALYZE")
    engine.dispose()


@contextlib.contextmanager
def sqlite(threads: int) -> cabc.Iterator[tuple[str, str]]:
    with tempfile.TemporaryDirectory() as folder:
        fill(f"sqlite:///{folder}/chat.sqlite3", threads)
        shutil.copy(f"{folder}/chat.sqlite3", f"{folder}/copy.sqlite3")
        yield f"sqlite:///{folder}/chat.sqlite3", f"sqlite:///{folder}/copy.sqlite3"


@contextlib.contextmanager
def postgresql(threads: int) -> cabc.Iterator[tuple[str, str]]:
    server = check_url(os.environ[POSTGRESQL])
    with schema_in(server) as url, schema_in(server) as copy:
        shown = [place.render_as_string(hide_password=False) for place in (url, copy)]
        fill(shown[0], threads)
        fill(shown[1], 0)
        schemas = [str(place.query["options"]).rpartition("=")[2] for place in (url, copy)]
        engine = sa.create_engine(url)
        with engine.begin() as connection:
            for name in TABLES:
                source, goal = (f"{schema}.chat_memory_{name}" for schema in schemas)
                connection.exec_driver_sql(f"INSERT INTO {goal} SELECT * FROM {source}")
                connection.exec_driver_sql(f"ANALYZE {goal}")
        engine.dispose()
        yield shown[0], shown[1]


PLACES: dict[str, cabc.Callable[[int], contextlib.AbstractContextManager[tuple[str, str]]]] = {
    "SQLite": sqlite,
    "PostgreSQL": postgresql,
}


if __name__ == "__main__":
    main()
