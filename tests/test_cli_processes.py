"""Commands in processes of their own: watched on a terminal, and killed."""

from __future__ import annotations

import pathlib
import random
import subprocess
import time
import typing as t

import pytest
import sqlalchemy as sa

from flask_chat_memory import ChatMessage
from flask_chat_memory import Scope
from flask_chat_memory.plugins.abilities import PurgesThreads
from flask_chat_memory.plugins.sqlalchemy import SQLAlchemyPlugin

from .operated_sites import COMMAND
from .operated_sites import DAY
from .operated_sites import Operated
from .operated_sites import operated as operated
from .operated_sites import THREADS
from .terminal import on_terminal

OLD = 60
"""Threads that a purge has to remove."""


@pytest.mark.parametrize("operated", ["sqlite"], indirect=True)
def test_a_terminal_shows_question_and_progress(operated: Operated) -> None:
    command = [*COMMAND, "purge", "--days", "30"]
    shown, code = on_terminal(command, b"y\n", "[y/N]", operated.environment())
    assert code == 0, shown
    assert "Delete conversations without activity for 30 days of all chatbots for ever? [y/N]" in shown
    assert "Purging" in shown.partition("[y/N]")[2]
    assert "Deleted 1 conversations with 2 messages." in shown
    assert operated.left() == set(THREADS) - {("user:1", "old")}


def add_old_threads(plugin: t.Any) -> None:
    at = time.time() - 40 * DAY
    plugin.clock = lambda: at
    for n in range(OLD):
        plugin.append_messages(Scope(f"old:{n % 50}"), f"old-{n}", [ChatMessage("user", "x"), ChatMessage("user", "y")])
    plugin.clock = time.time


def traces(site: Operated) -> object:
    """Return all that is stored, in the store's own terms."""
    plugin = site.plugin
    if isinstance(plugin, SQLAlchemyPlugin):
        with plugin._database._engine.connect() as connection:
            return {
                table.name: sorted(map(repr, connection.execute(sa.select(table))))
                for table in plugin._database.schema.tables.all()
            }
    if plugin.id == "redis":
        prefix = site.app.config["CHAT_MEMORY_OPTIONS"]["key_prefix"]
        server: t.Any = plugin
        return sorted(name for names in server._server.scan(f"{prefix}*") for name in names)
    folder = pathlib.Path(site.app.instance_path)
    return sorted(str(path) for path in folder.rglob("*") if "locks" not in path.parts)


@pytest.mark.scenario("S175")
@pytest.mark.parametrize("operated", ["sqlite", "postgresql", "mariadb", "redis", "file"], indirect=True)
def test_a_purge_that_was_killed_is_finished_by_the_next_one(operated: Operated) -> None:
    operated.run("purge", "--days", "30", "--yes")
    undisturbed = traces(operated)
    add_old_threads(operated.plugin)
    assert isinstance(operated.plugin, PurgesThreads)
    process = subprocess.Popen([*COMMAND, "purge", "--days", "30", "--yes"], env=operated.environment())
    moment = random.randrange(OLD // 10, OLD)
    while process.poll() is None and sum(1 for _ in operated.plugin.all_threads()) > moment:
        pass
    process.kill()
    process.wait()
    assert operated.run("purge", "--days", "30", "--yes").exit_code == 0
    assert traces(operated) == undisturbed
