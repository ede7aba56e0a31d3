"""A purge of many threads at once, on each database."""

from __future__ import annotations

import collections.abc as cabc
import pathlib
import time

import pytest
import sqlalchemy as sa

from flask_chat_memory import ChatMessage
from flask_chat_memory import Mark
from flask_chat_memory import Scope
from flask_chat_memory.plugins.sql import purging
from flask_chat_memory.plugins.sqlalchemy import SQLAlchemyPlugin
from flask_chat_memory.testing import ManualClock
from flask_chat_memory.testing.contracts.purging import purge

from .apps import background
from .sql_servers import Places

DATABASES = pytest.mark.parametrize("plugin", ["sqlite", "postgresql", "mariadb"], indirect=True)
OWNERS = 12
THREADS = 4
"""Of each owner."""


@pytest.fixture
def plugin(
    request: pytest.FixtureRequest, tmp_path: pathlib.Path, sql_places: Places
) -> cabc.Iterator[SQLAlchemyPlugin]:
    """A plugin with threads of many owners, all of them idle since the time 0."""
    options = {"threads": "many", "expiry": None}
    if request.param == "sqlite":
        plugin = SQLAlchemyPlugin({**options, "url": f"sqlite:///{tmp_path}/chat.sqlite3"})
        yield filled(plugin)
        plugin.close()
        return
    with sql_places.lend(request.param) as place:
        yield filled(place.make_plugin(**options))


def filled(plugin: SQLAlchemyPlugin) -> SQLAlchemyPlugin:
    plugin.clock = ManualClock(0.0)
    for owner in range(OWNERS):
        for n in range(THREADS):
            say(plugin, owner, n)
    plugin.clock = time.time
    return plugin


def say(plugin: SQLAlchemyPlugin, owner: int, n: int) -> None:
    messages = [ChatMessage("user", "x", id="q"), ChatMessage("assistant", "y", id="a")]
    plugin.append_messages(Scope(f"user:{owner}"), f"{owner}-{n}", messages, key=f"question:{time.monotonic_ns()}")


def rows(plugin: SQLAlchemyPlugin, table: str) -> set[str]:
    """Return the keys of the threads of which a table has rows."""
    column = getattr(plugin._database.schema.tables, table).c.thread_key
    with plugin._database._engine.connect() as connection:
        return set(connection.scalars(sa.select(column)))


@DATABASES
def test_nothing_of_a_purged_thread_is_left(plugin: SQLAlchemyPlugin) -> None:
    scope = Scope("user:0")
    plugin.mark_message(scope, "0-0", "q", Mark(rating=1))
    say(plugin, 1, 0)
    gone = purge(plugin, 1.0, batch=7)
    assert len(gone) == len(set(gone)) == OWNERS * THREADS - 1
    kept = rows(plugin, "thread")
    assert len(kept) == 1
    assert rows(plugin, "message") == rows(plugin, "append_key") == rows(plugin, "current") == kept
    assert rows(plugin, "mark") == rows(plugin, "live") == set()


@DATABASES
def test_those_who_write_meanwhile_leave_nothing_without_a_thread(plugin: SQLAlchemyPlugin) -> None:
    def write() -> None:
        for owner in range(OWNERS):
            say(plugin, owner, owner % THREADS)

    with background(write):
        purge(plugin, 1.0, batch=5)
    kept = rows(plugin, "thread")
    assert len(kept) == OWNERS
    assert rows(plugin, "message") == rows(plugin, "append_key") == kept
    assert rows(plugin, "current") <= kept


@pytest.mark.scenario("S175")
@DATABASES
def test_two_purges_at_once_remove_each_thread_once(plugin: SQLAlchemyPlugin) -> None:
    found: list[object] = []
    with background(lambda: found.extend(purge(plugin, 1.0, batch=5))):
        ours = purge(plugin, 1.0, batch=5)
    assert len(found) + len(ours) == OWNERS * THREADS
    assert rows(plugin, "thread") == rows(plugin, "message") == set()


@pytest.mark.parametrize("plugin", ["sqlite"], indirect=True)
def test_transactions_keep_to_their_time(plugin: SQLAlchemyPlugin, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(purging, "GOAL", 0.0)
    assert {len(purged.threads) for purged in plugin.purge_threads(1.0)} == {purging.FIRST, 1}
