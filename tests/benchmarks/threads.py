"""What it costs to list the newest of many threads and to search all of them: the driver alone, and the plugin.

Run it as ``python -m tests.benchmarks.threads``; the servers are those of ``CHAT_MEMORY_POSTGRESQL_URL`` and
``CHAT_MEMORY_MARIADB_URL``. A ratio is the median over the rounds of the ratio of that round's medians. Nothing is
asserted.
"""

from __future__ import annotations

import argparse
import collections.abc as cabc
import contextlib
import functools
import gc
import os
import pathlib
import random
import secrets
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
from flask_chat_memory.plugins.sql.tables import thread_key
from flask_chat_memory.plugins.sqlalchemy import SQLAlchemyPlugin
from tests.benchmarks.measure import SAMPLES
from tests.benchmarks.measure import stopwatch
from tests.benchmarks.report import environment
from tests.benchmarks.report import median
from tests.benchmarks.report import milliseconds
from tests.benchmarks.report import ratio
from tests.benchmarks.report import Rounds
from tests.benchmarks.report import table
from tests.benchmarks.report import target
from tests.benchmarks.report import TARGET_HEADER
from tests.benchmarks.store import exchange
from tests.sql_servers import database_in
from tests.sql_servers import MARIADB
from tests.sql_servers import POSTGRESQL
from tests.sql_servers import schema_in

THREADS = 10_000
MESSAGES = 100_000
PAGE = 50
FOUND = 20
"""Messages that have what is searched for."""
NEEDLE = "Needle in the haystack"
LISTED, SEARCHED = Scope("user:1"), Scope("user:2")

_LIST = """
    SELECT thread_id, created_at, last_activity, messages, tokens, title, pinned, archived, configuration
    FROM chat_memory_thread WHERE owner = {0} AND chatbot = {0} ORDER BY last_activity DESC LIMIT {0}
"""
_SEARCH = "SELECT thread_key, body FROM chat_memory_message WHERE {1}(folded, {0}) > 0"

Calls = dict[str, cabc.Callable[[], cabc.Sequence[object]]]
"""What is measured, of one system."""


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure what listing and searching threads costs.")
    parser.add_argument("--quick", action="store_true", help="show that it works; the figures mean nothing")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--only", nargs="+", choices=PLACES, default=list(PLACES), help="databases")
    arguments = parser.parse_args()
    rounds, share = (2, 100) if arguments.quick else (arguments.rounds, 1)
    operations = {
        f"list {PAGE} of {THREADS // share:,} threads": 3.0,
        f"search {MESSAGES // share:,} messages": 1.5,
    }
    print(f"{environment()} {rounds} rounds.\n")
    rows, targets = [], []
    for name in arguments.only:
        with PLACES[name]() as url:
            raw, ours = measure(url, rounds, share)
        for place, (operation, limit) in enumerate(operations.items()):
            found = ratio(ours[place], raw[place])
            times = [milliseconds(median(samples[place])) for samples in (raw, ours)]
            rows.append([f"{name}: {operation}", *times, f"{found:.2f}x"])
            if name != "MariaDB":
                targets.append(target(f"{name}: {operation}", found, limit))
    print(table(["median in ms", "driver", "plugin sqlalchemy", "ratio"], rows))
    print(table(TARGET_HEADER, targets))


def measure(url: sa.URL, rounds: int, share: int) -> list[list[Rounds]]:
    """Return the samples of the driver and of the plugin, for each operation."""
    plugin = SQLAlchemyPlugin({"url": url.render_as_string(hide_password=False), "threads": "many"})
    engine = sa.create_engine(check_url(str(plugin.options.url)), isolation_level="AUTOCOMMIT")
    with contextlib.closing(plugin), engine.connect() as connection:
        plugin.has_thread(LISTED, "any")
        with sa.create_engine(engine.url).begin() as filling:
            fill(filling, THREADS // share, MESSAGES // share)
        systems = [driver_calls(connection), plugin_calls(plugin)]
        results: list[list[Rounds]] = [[[] for _ in calls] for calls in systems]
        for calls in systems:
            assert [len(call()) for call in calls.values()] == [PAGE, FOUND]
        gc.collect()
        gc.freeze()
        for _ in range(rounds):
            for place in random.sample(range(len(systems)), len(systems)):
                for samples, call in zip(results[place], systems[place].values(), strict=True):
                    samples.append([stopwatch(call) for _ in range(SAMPLES + 1)][1:])
        gc.unfreeze()
    engine.dispose()
    return results


def driver_calls(connection: sa.Connection) -> Calls:
    cursor = connection.connection.cursor()
    is_sqlite = connection.dialect.name == "sqlite"
    parts = ("?" if is_sqlite else "%s", "strpos" if connection.dialect.name == "postgresql" else "instr")

    def rows(statement: str, *values: object) -> cabc.Sequence[object]:
        cursor.execute(statement.format(*parts), values)
        return t.cast("cabc.Sequence[object]", cursor.fetchall())

    return {
        "list": functools.partial(rows, _LIST, LISTED.owner, LISTED.chatbot, PAGE),
        "search": functools.partial(rows, _SEARCH, NEEDLE.lower()),
    }


def plugin_calls(plugin: SQLAlchemyPlugin) -> Calls:
    return {
        "list": lambda: plugin.list_threads(LISTED, limit=PAGE),
        "search": lambda: plugin.search_messages(SEARCHED, NEEDLE, limit=PAGE).found,
    }


def fill(connection: sa.Connection, threads: int, messages: int) -> None:
    """Give one owner all the threads, and another the messages, in a hundredth as many threads."""
    tables = define_tables(sa.MetaData())
    now = time.time()
    long = messages // 100

    def thread(scope: Scope, length: int) -> dict[str, t.Any]:
        thread_id = secrets.token_urlsafe(16)
        activity = now - random.random() * 1e6
        numbers = {"sequence": length, "messages": length, "tokens": 0}
        times = {"created_at": activity, "last_activity": activity}
        names = {"owner": scope.owner, "chatbot": scope.chatbot, "thread_id": thread_id, "title": "About this and that"}
        return {"thread_key": thread_key(scope, thread_id), **names, **times, **numbers}

    searched = [thread(SEARCHED, long) for _ in range(100)]
    connection.execute(sa.insert(tables.thread), [thread(LISTED, 20) for _ in range(threads)] + searched)
    marked = set(random.sample(range(messages), FOUND))
    bodies = (ChatMessage.from_dict(body) for _ in range(messages // 2) for body in exchange())
    rows = []
    for place, message in enumerate(bodies):
        if place in marked:
            message = message.replace(content=f"{message.text} {NEEDLE}")
        key = {"thread_key": searched[place // long]["thread_key"], "sequence": place % long + 1}
        rows.append({**key, **columns_of(message)})
    connection.execute(sa.insert(tables.message), rows)
    names = f"{tables.thread.name}, {tables.message.name}"
    if connection.dialect.name != "sqlite":
        connection.exec_driver_sql(f"ANALYZE {'' if connection.dialect.name == 'postgresql' else 'TABLE '}{names}")


@contextlib.contextmanager
def file() -> cabc.Iterator[sa.URL]:
    with tempfile.TemporaryDirectory() as folder:
        yield sa.make_url(f"sqlite:///{folder}/chat.sqlite3")


PLACES: dict[str, cabc.Callable[[], contextlib.AbstractContextManager[sa.URL]]] = {
    "SQLite": file,
    "PostgreSQL": lambda: schema_in(check_url(os.environ[POSTGRESQL])),
    "MariaDB": lambda: database_in(check_url(os.environ[MARIADB])),
}


if __name__ == "__main__":
    main()
