"""What is particular to the plugin on PostgreSQL and MariaDB: names, sizes, tables and the work of a turn."""

from __future__ import annotations

import collections.abc as cabc
import itertools
import json
import typing as t

import psycopg
import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from flask_chat_memory import ChatMessage
from flask_chat_memory import LiveTurn
from flask_chat_memory import Mark
from flask_chat_memory import Renewal
from flask_chat_memory import Scope
from flask_chat_memory.plugins.sql.postgresql import PostgreSQLStatements
from flask_chat_memory.plugins.sql.tables import scope_key
from flask_chat_memory.plugins.sql.tables import thread_key
from flask_chat_memory.plugins.sql.transaction import Prepared
from flask_chat_memory.plugins.sqlalchemy import define_tables
from flask_chat_memory.testing.contracts.parts import answer
from flask_chat_memory.testing.contracts.parts import ask
from flask_chat_memory.testing.contracts.parts import exchange
from tests.sql_servers import database_of_our_own
from tests.sql_servers import Place
from tests.sql_servers import schema_of_our_own
from tests.test_sqlalchemy_plugin import every_call
from tests.test_sqlalchemy_plugin import OWNER
from tests.test_sqlalchemy_plugin import texts
from tests.test_sqlalchemy_plugin import user
from tests.test_sqlalchemy_plugin_work import add_threads

ALIKE = ["bob", "Bob", "bob ", "bób", "bo\u0301b", "bob\t", "bob🙂", "bob🙃", "ｂｏｂ"]
"""What a collation for people may take for the same."""


def test_names_are_compared_byte_by_byte(place: Place) -> None:
    plugin = place.make_plugin(threads="many")
    for name in ALIKE:
        plugin.append_messages(Scope(f"user:{name}", "default"), "thread-1", [user(f"owner {name}")])
        plugin.append_messages(Scope("user:1", name), "thread-1", [user(f"chatbot {name}")])
        plugin.append_messages(OWNER, name, [user(f"thread {name}")])
    for name in ALIKE:
        assert texts(plugin.load_messages(Scope(f"user:{name}", "default"), "thread-1")) == [f"owner {name}"]
        assert texts(plugin.load_messages(Scope("user:1", name), "thread-1")) == [f"chatbot {name}"]
        assert texts(plugin.load_messages(OWNER, name)) == [f"thread {name}"]


def test_owners_that_look_alike_are_counted_and_moved_apart(place: Place) -> None:
    plugin = place.make_plugin(threads="many", max_threads=1)
    for name in ALIKE:
        plugin.append_messages(Scope(name), "thread-1", [user(name)])
    assert [name for name in ALIKE if not plugin.has_thread(Scope(name), "thread-1")] == []
    plugin.move_threads(Scope(ALIKE[0]), Scope("somebody"))
    assert [name for name in ALIKE if not plugin.has_thread(Scope(name), "thread-1")] == [ALIKE[0]]


def test_keys_and_ids_of_messages_are_compared_byte_by_byte(place: Place) -> None:
    plugin = place.make_plugin()
    for round_ in range(2):
        for name in ALIKE:
            appended = plugin.append_messages(OWNER, "thread-1", [user(name)], key=name)
            assert appended is not None
            assert appended.repeated == bool(round_)
    plugin.append_messages(OWNER, "thread-1", [user("?", "bob")])
    for name in ALIKE:
        found = plugin.append_messages(OWNER, "thread-1", [user("!")], key=f"answer {name}", reply_to=name)
        assert (found is not None) == (name == "bob")
    for place_, name in enumerate(ALIKE):
        live = LiveTurn(name, f"q-{name}", f"a-{name}", lease=plugin.clock() + 30)
        plugin.start_turn(OWNER, "thread-1", user(name, f"q-{name}"), key=f"question {place_}", live=live)
    assert [live.turn for live in plugin.live_turns(OWNER, "thread-1")] == ALIKE


@pytest.mark.scenario("S027")
def test_the_longest_names_of_the_largest_characters_have_room(place: Place) -> None:
    plugin = place.make_plugin()
    wide = "🙂"
    scope, thread_id, key = Scope(wide * 255, wide * 64), wide * 122, wide * 128
    question = ChatMessage("user", "?", id=wide * 128, turn=wide * 127 + "t")
    live = LiveTurn(wide * 128, wide * 128, wide * 128, lease=plugin.clock() + 30)
    plugin.start_turn(scope, thread_id, question, key=key, live=live)
    end = [ChatMessage("assistant", "!", id=wide * 1000, turn=wide * 1000)]
    assert plugin.end_turn(scope, thread_id, live.turn, end, key=wide * 127 + "k", reply_to=wide * 128) is not None
    assert plugin.append_messages(scope, thread_id, [user("thanks")], key="thanks", reply_to=wide * 1000) is not None
    assert plugin.append_messages(scope, thread_id, [user("thanks")], key="?", reply_to=wide * 999) is None
    assert plugin.load_messages(scope, thread_id, limit=2)[0] == end[0]


@pytest.mark.scenario("S024", "S025", "S026")
@pytest.mark.parametrize("key", [None, "k"])
def test_long_texts_come_back_whole(place: Place, key: str | None) -> None:
    plugin = place.make_plugin()
    plugin.append_messages(OWNER, "thread-1", [user("first")])
    long = [user(character * length) for character, length in (("x", 70_000), ("🙂", 100_000), ("é", 2_000_000))]
    plugin.append_messages(OWNER, "thread-1", long, key=key)
    assert plugin.load_messages(OWNER, "thread-1", after=1) == long


@pytest.mark.scenario("S151")
@pytest.mark.parametrize("key", [None, "%s %(now)s :name \\' \" ` ; --"])
def test_text_is_no_part_of_a_statement(place: Place, key: str | None) -> None:
    plugin = place.make_plugin()
    hostile = "%s %(now)s %% :name {0} \\ \\' ' \" ` ; -- /* $1 \x1a \x7f \u2028 \n\r\t {a,NULL} NULL"
    scope = Scope(hostile, hostile[:64])
    for n in range(2):
        key = key and f"{key}{n}"
        plugin.append_messages(scope, hostile, [ChatMessage("user", hostile, id=hostile, turn=hostile)], key=key)
    assert texts(plugin.load_messages(scope, hostile)) == [hostile] * 2
    assert plugin.append_messages(scope, hostile, [user("!")], key=f"{key}!", reply_to=hostile) is not None


def test_special_characters_come_back_as_law_9_has_them(place: Place) -> None:
    plugin = place.make_plugin()
    message = ChatMessage("user", "a\0b\ud800c", metadata={"x\0": ["\udfff", "\x01"]})
    plugin.append_messages(OWNER, "thread-1", [message], key="k")
    assert plugin.load_messages(OWNER, "thread-1") == [message]
    assert message.text == "a\ufffdb\ufffdc"


@pytest.mark.scenario("S004")
def test_the_tables_are_pinned(place: Place) -> None:
    every_call(place.make_plugin())
    if place.is_postgresql:
        columns = place.run(
            "SELECT DISTINCT collation_name FROM information_schema.columns "
            "WHERE table_schema = current_schema() AND data_type = 'character varying' AND column_name <> 'role'"
        )
        assert [tuple(row) for row in columns] == [("C",)]
        return
    tables = place.run(
        "SELECT DISTINCT engine, table_collation, row_format FROM information_schema.tables "
        "WHERE table_schema = DATABASE()"
    )
    assert [tuple(row) for row in tables] == [("InnoDB", "utf8mb4_bin", "Dynamic")]
    columns = place.run(
        "SELECT data_type, collation_name, count(*) FROM information_schema.columns "
        "WHERE table_schema = DATABASE() AND collation_name IS NOT NULL AND column_name <> 'role' GROUP BY 1, 2"
    )
    assert {tuple(row[:2]) for row in columns} == {("varchar", "utf8mb4_nopad_bin"), ("longtext", "utf8mb4_bin")}


@pytest.mark.scenario("S186")
@pytest.mark.parametrize("created_by", ["the plugin", "the site"])
def test_alembic_proposes_nothing(place: Place, created_by: str) -> None:
    metadata = sa.MetaData()
    define_tables(metadata)
    if created_by == "the site":
        metadata.create_all(place.engine)
    every_call(place.make_plugin(create_tables=created_by == "the plugin"))
    with place.engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True, "compare_server_default": True})
        assert compare_metadata(context, metadata) == []


def test_a_table_that_is_missing_beside_others_is_not_made_anew(place: Place) -> None:
    place.make_plugin().append_messages(OWNER, "thread-1", [user("x")])
    place.run("ALTER TABLE chat_memory_thread RENAME TO put_aside")
    plugin = place.make_plugin()
    for _ in range(2):
        with pytest.raises(Exception, match="lacks a table"):
            plugin.load_messages(OWNER, "thread-1")
    place.run("ALTER TABLE put_aside RENAME TO chat_memory_thread")
    assert texts(plugin.load_messages(OWNER, "thread-1")) == ["x"]


def test_the_tables_are_completed_after_a_crash_while_they_were_made(place: Place) -> None:
    place.make_plugin().has_thread(OWNER, "thread-1")
    place.run("DROP TABLE chat_memory_thread")
    plugin = place.make_plugin()
    plugin.append_messages(OWNER, "thread-1", [user("x")])
    assert texts(plugin.load_messages(OWNER, "thread-1")) == ["x"]


def test_a_capital_prefix_is_found_again(place: Place) -> None:
    for n in range(2):
        plugin = place.make_plugin(table_prefix="Site_Chat_")
        plugin.append_messages(OWNER, "thread-1", [user(str(n))], key=str(n))
    assert texts(plugin.load_messages(OWNER, "thread-1")) == ["0", "1"]


@pytest.fixture
def schema() -> cabc.Iterator[Place]:
    with schema_of_our_own() as place:
        yield place


def test_an_operation_of_a_turn_is_one_round_trip_on_postgresql(schema: Place) -> None:
    sent: list[str] = []

    class Counting(psycopg.Cursor[t.Any]):
        def execute(self, query: t.Any, *arguments: t.Any, **options: t.Any) -> t.Any:
            sent.append(str(query))
            return super().execute(query, *arguments, **options)

    plugin = schema.make_plugin(engine=schema.make_engine(connect_args={"cursor_factory": Counting}), max_messages=50)
    plugin.append_messages(OWNER, "thread-1", exchange("0"), key="0")
    live = LiveTurn("1", "q-1", "a-1", plugin.clock() + 30)
    calls: list[cabc.Callable[[], object]] = [
        lambda: plugin.load_current(OWNER, limit=20),
        lambda: plugin.start_turn(OWNER, "thread-1", ask("1"), key="question:1", live=live),
        lambda: plugin.load_messages(OWNER, "thread-1", limit=20),
        lambda: plugin.end_turn(OWNER, "thread-1", "1", [answer("1")], key="answer:1", reply_to="q-1"),
        lambda: plugin.append_messages(OWNER, "thread-1", exchange("2"), key="2"),
        lambda: plugin.has_thread(OWNER, "thread-1"),
        lambda: plugin.live_turns(OWNER, "thread-1"),
    ]
    for call in calls:
        sent.clear()
        call()
        assert len(sent) == 1, sent
    assert [live.turn for live in plugin.live_turns(OWNER, "thread-1")] == []
    assert len(plugin.load_messages(OWNER, "thread-1")) == 6
    sent.clear()
    assert plugin.delete_thread(OWNER, "thread-1")
    assert len(sent) == 1, sent


@pytest.mark.scenario("S059")
@pytest.mark.parametrize("statistics", [False, True])
def test_the_newest_of_a_long_thread_are_read_alone_on_postgresql(schema: Place, statistics: bool) -> None:
    plugin = schema.make_plugin(threads="many")
    for n in range(40):
        plugin.save_messages(Scope(f"user:{n + 100}"), "short", exchange("1") * 5)
    plugin.save_messages(OWNER, "thread-1", exchange("1") * 1000)
    if statistics:
        schema.run("ANALYZE")
    statements = PostgreSQLStatements(define_tables(sa.MetaData()))
    values = {
        "thread_key": thread_key(OWNER, "thread-1"),
        "scope_key": scope_key(OWNER),
        "now": plugin.clock(),
        "cutoff": 0.0,
        "limit": 20,
        "before": 1500,
    }
    dialect = t.cast(t.Any, sa.create_engine("postgresql+psycopg://", paramstyle="format")).dialect
    with schema.engine.connect() as connection:
        driver = t.cast("psycopg.Connection[t.Any]", connection.connection.dbapi_connection)
        for statement in (statements.newest, statements.newest_of_current):
            prepared = Prepared(statement, dialect)
            explain = f"EXPLAIN (ANALYZE, FORMAT JSON) {prepared.text}"
            with psycopg.ClientCursor(driver) as cursor:
                found = cursor.execute(explain, prepared.values(values)).fetchone()
            assert found is not None
            assert max(rows_of(found[0][0]["Plan"])) == 20, json.dumps(found[0], indent=1)


def rows_of(plan: dict[str, t.Any]) -> cabc.Iterator[int]:
    """Yield how many messages each step of a plan read."""
    if plan.get("Relation Name") == "chat_memory_message":
        yield plan["Actual Rows"] + sum(value for name, value in plan.items() if name.startswith("Rows Removed"))
    yield from itertools.chain.from_iterable(map(rows_of, plan.get("Plans", [])))


def reads(engine: sa.Engine) -> int:
    """Return how many rows the one connection has read."""
    with engine.connect() as connection:
        rows = connection.execute(sa.text("SHOW SESSION STATUS LIKE 'Handler_read%'"))
        return sum(int(row[1]) for row in rows)


@pytest.mark.scenario("S059")
def test_the_work_of_a_turn_does_not_grow_with_the_thread_on_mariadb() -> None:
    with database_of_our_own() as place:
        engine = place.make_engine(pool_size=1, max_overflow=0)
        plugin = place.make_plugin(engine=engine)
        plugin.append_messages(OWNER, "thread-1", exchange("1"))

        def turn(name: str) -> int:
            before = reads(engine)
            plugin.load_current(OWNER, limit=20)
            plugin.load_messages(OWNER, "thread-1", limit=20)
            live = LiveTurn(name, f"q-{name}", f"a-{name}", plugin.clock() + 30)
            plugin.start_turn(OWNER, "thread-1", ask(name), key=f"question:{name}", live=live)
            plugin.renew_turns([Renewal(OWNER, "thread-1", name)], plugin.clock() + 30)
            plugin.end_turn(OWNER, "thread-1", name, [answer(name)], key=f"answer:{name}", reply_to=f"q-{name}")
            return reads(engine) - before

        for n in range(20):
            turn(f"short {n}")
        short = turn("short")
        plugin.append_messages(OWNER, "thread-1", exchange("1") * 1000)
        assert turn("long") <= short * 1.1 + 10


def test_the_work_of_a_list_does_not_grow_with_the_threads_on_mariadb() -> None:
    with database_of_our_own() as place:
        engine = place.make_engine(pool_size=1, max_overflow=0)
        plugin = place.make_plugin(engine=engine, threads="many")
        plugin.has_thread(OWNER, "thread-1")

        def listed(count: int) -> int:
            add_threads(engine, count)
            before = reads(engine)
            assert len(plugin.list_threads(OWNER, limit=10)) == 10
            return reads(engine) - before

        few = listed(20)
        assert listed(1000) <= few * 1.1 + 10


def test_the_newest_are_found_behind_numbers_that_are_gone(place: Place) -> None:
    plugin = place.make_plugin(max_messages=6)
    reference = [user(str(n)) for n in range(30)]
    for message in reference:
        plugin.append_messages(OWNER, "thread-1", [message])
    assert plugin.load_messages(OWNER, "thread-1", limit=3) == reference[-3:]
    assert plugin.load_current(OWNER, limit=3)[1] == reference[-3:]
    plugin.clear_messages(OWNER, "thread-1")
    plugin.append_messages(OWNER, "thread-1", reference[:4])
    assert plugin.load_messages(OWNER, "thread-1", limit=3) == reference[1:4]
    gaps = [message.numbered(sequence) for message, sequence in zip(reference, [50, 60, 61, 90, 200], strict=False)]
    plugin.save_messages(OWNER, "thread-1", gaps)
    for limit, before in itertools.product([1, 2, 4, 5, 9], [None, 1, 51, 61, 62, 90, 91, 200, 201, 1000]):
        expected = [message for message in gaps if before is None or t.cast(int, message.sequence) < before][-limit:]
        assert plugin.load_messages(OWNER, "thread-1", limit=limit, before=before) == expected


@pytest.mark.scenario("S159", "N38")
@pytest.mark.parametrize("removal", ["delete", "purge"])
def test_a_thread_that_is_gone_leaves_no_row_behind(place: Place, removal: str) -> None:
    plugin = place.make_plugin()
    every_call(plugin)
    plugin.delete_thread(OWNER, "thread-2")
    plugin.start_turn(
        OWNER, "thread-1", user("1", "q-1"), key="question:1", live=LiveTurn("t-1", "q-1", "a-1", plugin.clock() + 30)
    )
    plugin.mark_message(OWNER, "thread-1", "q-1", Mark(1))
    if removal == "delete":
        plugin.delete_thread(OWNER, "thread-1")
    else:
        now = plugin.clock() + 60
        plugin.clock = lambda: now
        assert list(plugin.purge_threads(now))
    tables = {table.name for table in define_tables(sa.MetaData()).all()} - {"chat_memory_usage"}
    assert {table: place.run(f"SELECT count(*) FROM {table}")[0][0] for table in tables} == dict.fromkeys(tables, 0)
