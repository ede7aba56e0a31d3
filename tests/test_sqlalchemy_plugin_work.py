"""What the statements of the plugin cost on SQLite."""

from __future__ import annotations

import collections.abc as cabc
import pathlib
import time
import typing as t

import pytest
import sqlalchemy as sa

from flask_chat_memory import ChatMessage
from flask_chat_memory import LiveTurn
from flask_chat_memory import Renewal
from flask_chat_memory.plugins.rules import new_id
from flask_chat_memory.plugins.sql.tables import define_tables
from flask_chat_memory.plugins.sql.tables import thread_key
from flask_chat_memory.plugins.sqlalchemy import SQLAlchemyPlugin
from tests.test_sqlalchemy_plugin import every_call
from tests.test_sqlalchemy_plugin import OWNER
from tests.test_sqlalchemy_plugin import texts
from tests.test_sqlalchemy_plugin import user


@pytest.fixture
def engine(tmp_path: pathlib.Path) -> cabc.Iterator[sa.Engine]:
    engine = sa.create_engine(f"sqlite:///{tmp_path}/chat.sqlite3")
    yield engine
    engine.dispose()


def add_threads(engine: sa.Engine, count: int) -> None:
    """Give the owner so many more threads, as rows."""
    table = define_tables(sa.MetaData()).thread
    numbers = {"created_at": 1.0, "sequence": 0, "messages": 0, "tokens": 0}
    names = {"owner": OWNER.owner, "chatbot": OWNER.chatbot}
    ids = [new_id() for _ in range(count)]
    now = time.time()
    with engine.begin() as connection:
        connection.execute(
            sa.insert(table),
            [
                {**names, **numbers, "thread_key": thread_key(OWNER, id), "thread_id": id, "last_activity": now - place}
                for place, id in enumerate(ids)
            ],
        )


@pytest.mark.parametrize("options", [{}, {"max_messages": 4, "expiry": None}, {"threads": "many", "max_threads": 1}])
def test_no_statement_scans_a_table(engine: sa.Engine, options: dict[str, t.Any]) -> None:
    statements: list[str] = []

    @sa.event.listens_for(engine, "connect")
    def trace(connection: t.Any, _record: object) -> None:
        # Statements arrive with their values.
        connection.set_trace_callback(statements.append)

    plugin = SQLAlchemyPlugin({"engine": engine, **options})
    plugin.has_thread(OWNER, "thread-1")
    statements.clear()
    for n in range(3):
        plugin.append_messages(OWNER, "thread-0", [user("1", f"q-{n}"), user("2"), user("3")], key=f"{n}")
    every_call(plugin)
    queries = [text for text in statements if text.split()[0] in ("SELECT", "INSERT", "UPDATE", "DELETE")]
    assert len(queries) > 30
    with engine.connect() as connection:
        plans = {
            (query, step[3])
            for query in queries
            for step in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {query.replace('-Inf', '-9e999')}")
        }
    assert {plan for plan in plans if plan[1].startswith("SCAN") and plan[1] != "SCAN CONSTANT ROW"} == set()


def count_steps(engine: sa.Engine) -> list[int]:
    """Return a list whose one number grows with each step of the database."""
    steps = [0]

    @sa.event.listens_for(engine, "connect")
    def count(connection: t.Any, _record: object) -> None:
        def step() -> int:
            steps[0] += 1
            return 0

        connection.set_progress_handler(step, 1)

    return steps


@pytest.mark.scenario("S059")
@pytest.mark.parametrize("options", [{}, {"max_messages": 30}])
def test_the_work_of_a_turn_does_not_grow_with_the_thread(engine: sa.Engine, options: dict[str, t.Any]) -> None:
    steps = count_steps(engine)
    plugin = SQLAlchemyPlugin({"engine": engine, **options})

    def turn(name: str) -> int:
        steps[0] = 0
        plugin.load_current(OWNER, limit=20)
        live = LiveTurn(name, f"q-{name}", f"a-{name}", plugin.clock() + 30)
        question = ChatMessage("user", "?", id=f"q-{name}", turn=name)
        plugin.start_turn(OWNER, "thread-1", question, key=f"question:{name}", live=live)
        plugin.renew_turns([Renewal(OWNER, "thread-1", name)], plugin.clock() + 30)
        answer = ChatMessage("assistant", "!", id=f"a-{name}", turn=name)
        plugin.end_turn(OWNER, "thread-1", name, [answer], key=f"answer:{name}", reply_to=f"q-{name}")
        return steps[0]

    for n in range(20):
        turn(f"short {n}")
    short = turn("short")
    exchange = [ChatMessage("user", "?"), ChatMessage("assistant", "!")]
    SQLAlchemyPlugin({"engine": engine}).append_messages(OWNER, "thread-1", exchange * 1000)
    turn("the first after many")
    assert turn("long") <= short * 1.1


def test_the_work_of_a_list_does_not_grow_with_the_threads(engine: sa.Engine) -> None:
    steps = count_steps(engine)
    plugin = SQLAlchemyPlugin({"engine": engine, "threads": "many"})
    plugin.has_thread(OWNER, "thread-1")

    def listed(count: int) -> int:
        add_threads(engine, count)
        steps[0] = 0
        assert len(plugin.list_threads(OWNER, limit=10)) == 10
        return steps[0]

    few = listed(20)
    assert listed(1000) <= few * 1.1


@pytest.mark.parametrize("stretches", [[], [range(91, 101)], [range(91, 101), range(41, 86)]])
def test_a_load_reads_once_and_once_more_for_each_stretch_that_is_hidden(
    engine: sa.Engine, stretches: list[range]
) -> None:
    statements: list[str] = []

    @sa.event.listens_for(engine, "connect")
    def trace(connection: t.Any, _record: object) -> None:
        connection.set_trace_callback(statements.append)

    plugin = SQLAlchemyPlugin({"engine": engine})
    plugin.append_messages(OWNER, "thread-1", [user(str(n)) for n in range(1, 101)])
    hidden = {n for stretch in stretches for n in stretch}
    plugin.change_lines(OWNER, "thread-1", lambda lines, last: lines.without(hidden, last))
    expected = [str(n) for n in range(1, 101) if n not in hidden][-10:]
    statements.clear()
    assert texts(plugin.load_messages(OWNER, "thread-1", limit=10)) == expected
    assert len(statements) == 1 + len(stretches)
    statements.clear()
    assert texts(plugin.load_current(OWNER, limit=10)[1]) == expected
    assert len(statements) == 1 + len(stretches)
