"""Many processes on one PostgreSQL or MariaDB: laws 6 to 8 where statements meet."""

from __future__ import annotations

import collections.abc as cabc
import functools
import os
import threading
import typing as t

import pytest
import sqlalchemy as sa

from flask_chat_memory import Appended
from flask_chat_memory import LiveTurn
from flask_chat_memory import Scope
from flask_chat_memory.plugins.records import Mark
from flask_chat_memory.plugins.sql.tables import thread_key
from flask_chat_memory.plugins.sqlalchemy import SQLAlchemyPlugin
from flask_chat_memory.testing.contracts.forks import Child
from flask_chat_memory.testing.contracts.forks import needs_fork
from flask_chat_memory.testing.contracts.forks import Say
from flask_chat_memory.testing.contracts.parts import answer
from flask_chat_memory.testing.contracts.parts import ask
from flask_chat_memory.testing.contracts.parts import exchange
from flask_chat_memory.testing.contracts.parts import PATIENCE
from flask_chat_memory.testing.contracts.parts import sequences
from flask_chat_memory.testing.contracts.parts import texts
from flask_chat_memory.testing.contracts.parts import together
from flask_chat_memory.testing.contracts.threads import assert_whole_batches
from flask_chat_memory.testing.contracts.threads import batch
from tests.redis_servers import wait_until
from tests.sql_servers import Place
from tests.sql_servers import schema_of_our_own
from tests.test_sqlalchemy_plugin import OTHER
from tests.test_sqlalchemy_plugin import OWNER
from tests.test_sqlalchemy_servers_connections import hooked_engine

PROCESSES = 8
ROUNDS = int(os.environ.get("CHAT_MEMORY_TEST_ROUNDS", "20"))
"""Exchanges of each process."""

pytestmark = needs_fork


def at_once(work: cabc.Callable[[int, Say], object]) -> None:
    children = [Child(functools.partial(work, n)) for n in range(PROCESSES)]
    assert [child.wait() for child in children] == [0] * PROCESSES


def orphans(place: Place) -> int:
    """Count the rows that belong to no thread."""
    tables = ("message", "append_key", "live", "mark", "current")
    counts = [
        place.run(
            f"SELECT count(*) FROM chat_memory_{table} AS part WHERE NOT EXISTS "
            "(SELECT 1 FROM chat_memory_thread AS thread WHERE thread.thread_key = part.thread_key)"
        )[0][0]
        for table in tables
    ]
    return sum(counts)


def counts(place: Place) -> list[tuple[t.Any, ...]]:
    """Return what the threads say of their messages, and what there is."""
    rows = place.run(
        "SELECT thread.messages, (SELECT count(*) FROM chat_memory_message AS message "
        "WHERE message.thread_key = thread.thread_key) FROM chat_memory_thread AS thread"
    )
    return [tuple(row) for row in rows]


@pytest.mark.parametrize("key", [None, "key"])
@pytest.mark.parametrize("options", [{}, {"max_messages": 10_000}, {"max_messages": 30}])
def test_one_thread_of_many_processes(place: Place, key: str | None, options: dict[str, t.Any]) -> None:
    def write(writer: int, _say: Say) -> None:
        plugin = place.make_plugin(**options)
        last = 0
        for round_ in range(ROUNDS):
            name = key and f"{key} {writer} {round_}"
            appended = plugin.append_messages(OWNER, "thread-1", batch(writer, round_), key=name)
            assert appended is not None
            assert not appended.repeated
            assert appended.sequence > last
            last = appended.sequence

    at_once(write)
    messages = place.make_plugin().load_messages(OWNER, "thread-1")
    total = 3 * PROCESSES * ROUNDS
    assert sequences(messages)[-1] == total
    if options.get("max_messages") != 30:
        assert sequences(messages) == list(range(1, total + 1))
        assert_whole_batches(messages)
    assert counts(place) == [(len(messages), len(messages))]
    assert orphans(place) == 0


def test_eight_threads_of_many_processes(place: Place) -> None:
    def write(writer: int, _say: Say) -> None:
        plugin = place.make_plugin()
        for round_ in range(ROUNDS):
            for reader in range(PROCESSES):
                scope = Scope(f"user:{(writer + reader) % PROCESSES}")
                turn = f"{writer}-{round_}"
                live = LiveTurn(turn, f"q-{turn}", f"a-{turn}", plugin.clock() + 30)
                plugin.start_turn(scope, "thread-1", ask(turn), key=f"question:{turn}", live=live)
                end = plugin.end_turn(
                    scope, "thread-1", turn, [answer(turn)], key=f"answer:{turn}", reply_to=f"q-{turn}"
                )
                assert end is not None

    at_once(write)
    plugin = place.make_plugin()
    for n in range(PROCESSES):
        messages = plugin.load_messages(Scope(f"user:{n}"), "thread-1")
        assert sequences(messages) == list(range(1, 2 * PROCESSES * ROUNDS + 1))
        assert len({message.id for message in messages}) == len(messages)
        assert plugin.live_turns(Scope(f"user:{n}"), "thread-1") == []
    assert orphans(place) == 0


def test_a_key_that_all_send_is_stored_once(place: Place) -> None:
    place.make_plugin().append_messages(OWNER, "thread-1", exchange("0"))

    def write(_writer: int, _say: Say) -> None:
        plugin = place.make_plugin()
        for n in range(ROUNDS):
            appended = plugin.append_messages(OWNER, "thread-1", exchange(str(n)), key=f"question:{n}")
            assert appended is not None
            assert appended.sequence == 2 * n + 3

    at_once(write)
    assert len(place.make_plugin().load_messages(OWNER, "thread-1")) == 2 * ROUNDS + 2
    assert counts(place) == [(2 * ROUNDS + 2, 2 * ROUNDS + 2)]


def test_first_messages_that_come_at_once_make_one_conversation(place: Place) -> None:
    def write(writer: int, _say: Say) -> None:
        plugin = place.make_plugin()
        for n in range(ROUNDS):
            plugin.append_messages(Scope(f"user:{n}"), f"thread-{writer}", exchange(str(writer)), key=f"{writer}")

    at_once(write)
    plugin = place.make_plugin()
    for n in range(ROUNDS):
        current, messages = plugin.load_current(Scope(f"user:{n}"))
        assert current is not None
        assert sorted(texts(messages)) == sorted(texts(sum((exchange(str(w)) for w in range(PROCESSES)), [])))
    assert len(counts(place)) == ROUNDS
    assert orphans(place) == 0


def test_new_conversations_that_come_at_once_are_limited(place: Place) -> None:
    options = {"threads": "many", "max_threads": 3}

    def write(writer: int, _say: Say) -> None:
        plugin = place.make_plugin(**options)
        for n in range(ROUNDS):
            thread_id = f"thread-{writer}-{n}"
            plugin.append_messages(OWNER, thread_id, [ask("1")], key="1")
            plugin.append_messages(OWNER, thread_id, [answer("1")], key="2", reply_to="q-1")

    at_once(write)
    assert len(counts(place)) == 3
    assert {stored for stored, _ in counts(place)} <= {1, 2}
    assert all(stored == there for stored, there in counts(place))
    assert orphans(place) == 0


REMOVALS: dict[str, cabc.Callable[[SQLAlchemyPlugin], object]] = {
    "delete": lambda plugin: plugin.delete_thread(OWNER, "thread-1"),
    "clear": lambda plugin: plugin.clear_messages(OWNER, "thread-1"),
    "replace": lambda plugin: plugin.save_messages(OWNER, "thread-1", []),
    "move": lambda plugin: plugin.move_threads(OWNER, OTHER),
    "purge": lambda plugin: list(plugin.purge_threads(plugin.clock() + 60)),
    "delete and begin anew": lambda plugin: (
        plugin.delete_thread(OWNER, "thread-1"),
        plugin.append_messages(OWNER, "thread-1", exchange("new"), key="new"),
    ),
}


@pytest.mark.scenario("N19")
@pytest.mark.parametrize("removal", REMOVALS)
def test_an_answer_never_comes_after_its_question_is_gone(place: Place, removal: str) -> None:
    plugin = place.make_plugin()
    answered = 0
    for n in range(ROUNDS):
        plugin.append_messages(OWNER, "thread-1", [ask("1")], key=f"1-{n}")
        end, _ = together(
            [
                lambda n=n: plugin.append_messages(  # type: ignore[misc]
                    OWNER, "thread-1", [answer("1")], key=f"2-{n}", reply_to="q-1"
                ),
                lambda: REMOVALS[removal](plugin),
            ]
        )
        answered += end is not None
        there = texts(plugin.load_messages(OWNER, "thread-1"))
        moved = texts(plugin.load_messages(OTHER, "thread-1"))
        if removal == "move":
            assert there == []
            assert moved == (["question 1", "answer 1"] if end else ["question 1"])
        else:
            assert there == (["question new", "answer new"] if "anew" in removal else [])
        assert orphans(place) == 0
        for scope in (OWNER, OTHER):
            plugin.delete_thread(scope, "thread-1")
    assert counts(place) == []


def test_a_deadlock_is_tried_again(place: Place) -> None:
    plugin = place.make_plugin()
    plugin.append_messages(OWNER, "thread-1", exchange("1"), key="1")
    place.run("CREATE TABLE weight (n INT)")
    key = thread_key(OWNER, "thread-1")
    engine = place.make_engine()
    with engine.connect() as other:
        if place.is_postgresql:
            # The other one is patient, so that ours is the victim.
            other.execute(sa.text("SET LOCAL deadlock_timeout = '60s'"))
        # And dear to MariaDB.
        other.execute(sa.text("INSERT INTO weight VALUES (1)" + ", (1)" * 100))
        other.execute(sa.text("SELECT * FROM chat_memory_current WHERE thread_key = :key FOR UPDATE"), {"key": key})
        delete = threading.Thread(target=plugin.delete_thread, args=(OWNER, "thread-1"), daemon=True)
        delete.start()
        # MariaDB looks at its transactions anew only if nobody has asked for 0.1 seconds.
        wait_until(lambda: is_waiting(place), "the deletion waits", pause=0.25)
        update = "UPDATE chat_memory_thread SET title = 'theirs' WHERE thread_key = :key"
        other.execute(sa.text(update), {"key": key})
        other.commit()
    delete.join(PATIENCE)
    assert not delete.is_alive()
    assert not plugin.has_thread(OWNER, "thread-1")
    assert orphans(place) == 0


ADDITIONS: dict[str, cabc.Callable[[SQLAlchemyPlugin], object]] = {
    # Without a key it is no single statement.
    "a message": lambda plugin: plugin.append_messages(OWNER, "thread-1", [ask("2")]),
    "a mark": lambda plugin: plugin.mark_message(OWNER, "thread-1", "q-1", Mark(1, "good")),
}


@pytest.mark.parametrize("addition", ADDITIONS)
def test_a_deletion_on_postgresql_takes_what_was_stored_while_it_waited(addition: str) -> None:
    with schema_of_our_own() as place:
        plugin = place.make_plugin()
        plugin.append_messages(OWNER, "thread-1", exchange("1"), key="1")
        deletion = threading.Thread(target=plugin.delete_thread, args=(OWNER, "thread-1"), daemon=True)

        def delete_before_the_commit(_cursor: t.Any, text: str) -> None:
            if text == "COMMIT":
                deletion.start()
                wait_until(lambda: is_waiting(place), "the deletion waits")

        ADDITIONS[addition](place.make_plugin(engine=hooked_engine(place, before=delete_before_the_commit)))
        deletion.join(PATIENCE)
        assert not deletion.is_alive()
        assert not plugin.has_thread(OWNER, "thread-1")
        assert orphans(place) == 0


def is_waiting(place: Place) -> bool:
    if place.is_postgresql:
        query = "SELECT count(*) FROM pg_locks WHERE NOT granted AND locktype IN ('transactionid', 'tuple')"
    else:
        query = (
            "SELECT count(*) FROM information_schema.innodb_trx JOIN information_schema.processlist"
            " ON id = trx_mysql_thread_id WHERE trx_state = 'LOCK WAIT' AND db = DATABASE()"
        )
    return bool(place.run(query)[0][0])


@pytest.mark.scenario("S062", "S187")
def test_the_tables_are_made_by_many_at_once(place: Place) -> None:
    def first_use(writer: int, _say: Say) -> None:
        plugin = place.make_plugin()
        assert plugin.load_messages(OWNER, "thread-0") == []
        plugin.append_messages(Scope(f"user:{writer}"), "thread-1", exchange("1"), key="1")

    at_once(first_use)
    assert counts(place) == [(2, 2)] * PROCESSES


def test_the_same_call_again_is_a_repetition(place: Place) -> None:
    plugin = place.make_plugin()
    for repeated in (False, True, True):
        assert plugin.append_messages(OWNER, "thread-1", exchange("1"), key="1") == Appended("thread-1", 1, repeated)
