"""Where the database of the plugin comes from: a URL, or an engine of the site."""

from __future__ import annotations

import collections.abc as cabc
import functools
import gc
import os
import pathlib
import typing as t
import weakref

import pytest
import sqlalchemy as sa

from flask_chat_memory import ConfigurationError
from flask_chat_memory import StorageError
from flask_chat_memory.plugins.sqlalchemy import SQLAlchemyPlugin
from flask_chat_memory.testing.contracts.forks import Child
from flask_chat_memory.testing.contracts.forks import needs_fork
from flask_chat_memory.testing.contracts.parts import together
from tests.test_sqlalchemy_plugin import every_call
from tests.test_sqlalchemy_plugin import OWNER
from tests.test_sqlalchemy_plugin import texts
from tests.test_sqlalchemy_plugin import user

PRAGMAS = ("journal_mode", "synchronous", "busy_timeout")


@pytest.fixture
def url(tmp_path: pathlib.Path) -> str:
    return f"sqlite:///{tmp_path}/chat.sqlite3"


@pytest.fixture
def engine(url: str) -> cabc.Iterator[sa.Engine]:
    engine = sa.create_engine(url)
    yield engine
    engine.dispose()


def test_a_database_that_cannot_be_opened_is_a_storage_error(tmp_path: pathlib.Path) -> None:
    folder = tmp_path / "folder"
    folder.write_text("in the way")
    plugin = SQLAlchemyPlugin({"url": f"sqlite:///{folder}/chat.sqlite3"})
    with pytest.raises(StorageError) as caught:
        plugin.load_messages(OWNER, "thread-1")
    assert str(tmp_path) not in str(caught.value)
    folder.unlink()
    assert plugin.load_messages(OWNER, "thread-1") == []
    plugin.close()


def test_a_file_that_is_no_database_is_left_as_it_is(tmp_path: pathlib.Path) -> None:
    file = tmp_path / "chat.sqlite3"
    file.write_bytes(b"something else entirely, " * 100)
    plugin = SQLAlchemyPlugin({"url": f"sqlite:///{file}"})
    with pytest.raises(StorageError):
        plugin.append_messages(OWNER, "thread-1", [user("x")])
    assert file.read_bytes() == b"something else entirely, " * 100
    plugin.close()


@pytest.mark.scenario("H4")
def test_the_files_are_for_the_eyes_of_their_owner(tmp_path: pathlib.Path) -> None:
    plugin = SQLAlchemyPlugin({"url": f"sqlite:///{tmp_path}/folder/chat.sqlite3"})
    plugin.append_messages(OWNER, "thread-1", [user("x")])
    modes = {path.name: path.stat().st_mode & 0o077 for path in (tmp_path / "folder").iterdir()}
    assert len(modes) == 3
    assert set(modes.values()) == {0}
    plugin.close()


def pragmas(connection: t.Any) -> tuple[object, ...]:
    return tuple(connection.execute(f"PRAGMA {name}").fetchone()[0] for name in PRAGMAS)


@pytest.mark.scenario("S191")
def test_every_engine_of_ours_waits_for_locks_and_writes_safely(tmp_path: pathlib.Path) -> None:
    seen: list[tuple[object, ...]] = []
    gone = []

    def look(connection: t.Any, _record: object, _proxy: object) -> None:
        seen.append(pragmas(connection))

    sa.event.listen(sa.pool.Pool, "checkout", look)
    try:
        for n in range(20):
            plugin = SQLAlchemyPlugin({"url": f"sqlite:///{tmp_path}/{n}.sqlite3"})
            plugin.append_messages(OWNER, "thread-1", [user("x")])
            together([functools.partial(plugin.load_messages, OWNER, "thread-1")] * 3)
            plugin.close()
            gone.append(weakref.ref(plugin))
            del plugin
    finally:
        sa.event.remove(sa.pool.Pool, "checkout", look)
    assert len(seen) >= 20
    full = 2
    assert {(mode, synchronous) for mode, synchronous, _ in seen} == {("wal", full)}
    assert all(isinstance(timeout, int) and timeout >= 5000 for _, _, timeout in seen)
    gc.collect()
    assert [reference for reference in gone if reference() is not None] == []


def test_an_engine_of_the_site_is_left_alone(engine: sa.Engine) -> None:
    with engine.connect() as connection:
        before = pragmas(connection.connection)
    plugin = SQLAlchemyPlugin({"engine": engine})
    every_call(plugin)
    plugin.append_messages(OWNER, "thread-1", [user("kept")])
    plugin.close()
    with engine.connect() as connection:
        assert pragmas(connection.connection) == before
        assert connection.scalar(sa.text("SELECT count(*) FROM chat_memory_thread")) == 1
    with pytest.raises(StorageError, match="closed"):
        plugin.has_thread(OWNER, "thread-1")


@pytest.mark.scenario("S190")
def test_a_plugin_that_is_dropped_leaves_the_engine_of_the_site(engine: sa.Engine) -> None:
    pool = engine.pool
    every_call(SQLAlchemyPlugin({"engine": engine}))
    gc.collect()
    assert engine.pool is pool


@pytest.mark.parametrize("options", [{}, {"poolclass": sa.StaticPool}])
def test_an_engine_of_a_database_in_memory_is_refused(options: dict[str, t.Any]) -> None:
    engine = sa.create_engine("sqlite://", **options)
    with pytest.raises(ConfigurationError, match="in_memory"):
        SQLAlchemyPlugin({"engine": engine})
    engine.dispose()


@needs_fork
def test_a_forked_process_opens_connections_of_its_own(engine: sa.Engine) -> None:
    @sa.event.listens_for(engine, "connect")
    def mark(_connection: object, record: t.Any) -> None:
        record.info["process"] = os.getpid()

    @sa.event.listens_for(engine, "checkout")
    def check(_connection: object, record: t.Any, _proxy: object) -> None:
        assert record.info["process"] == os.getpid()

    plugin = SQLAlchemyPlugin({"engine": engine})
    plugin.append_messages(OWNER, "thread-1", [user("parent")])
    assert Child(lambda _say: plugin.append_messages(OWNER, "thread-1", [user("child")])).wait() == 0
    assert texts(plugin.load_messages(OWNER, "thread-1")) == ["parent", "child"]


@pytest.mark.scenario("S190")
def test_a_closed_plugin_gives_one_clear_error(url: str) -> None:
    plugin = SQLAlchemyPlugin({"url": url})
    plugin.append_messages(OWNER, "thread-1", [user("x")])
    plugin.close()
    plugin.close()
    errors = []
    for call in (
        lambda: plugin.has_thread(OWNER, "thread-1"),
        lambda: plugin.load_messages(OWNER, "thread-1"),
        lambda: plugin.append_messages(OWNER, "thread-1", [user("y")]),
        lambda: plugin.current_thread(OWNER),
        lambda: plugin.renew_turns([], 0),
    ):
        with pytest.raises(StorageError) as caught:
            call()
        errors.append(str(caught.value))
    assert set(errors) == {"the plugin is closed"}


@pytest.mark.parametrize(
    "url",
    [
        "sqlite://",
        "sqlite:///:memory:",
        "sqlite:///file:chat?mode=memory&cache=shared&uri=true",
        "sqlite:///file::memory:?uri=true",
        "sqlite:///file::memory:?cache=shared&uri=true",
        "oracle://chat:secret@db/chat",
        "postgresql+psycopg2://chat:secret@db/chat",
        "mysql+mysqldb://chat:secret@db/chat",
        "sqlite+aiosqlite:///chat.sqlite3",
        "no url, but a secret",
        "postgresql://chat:secret@db:port/chat",
    ],
)
def test_a_url_that_cannot_keep_threads_is_refused_by_name_and_unseen(url: str) -> None:
    with pytest.raises(ConfigurationError, match="url") as caught:
        SQLAlchemyPlugin({"url": url})
    assert "secret" not in str(caught.value)


def test_url_and_engine_exclude_each_other(url: str, engine: sa.Engine) -> None:
    with pytest.raises(ConfigurationError, match="url or engine"):
        SQLAlchemyPlugin({"url": url, "engine": engine})
    with pytest.raises(ConfigurationError, match="url or engine"):
        SQLAlchemyPlugin()


def test_a_url_is_masked_wherever_it_is_shown(tmp_path: pathlib.Path) -> None:
    options = SQLAlchemyPlugin.Options.make({"url": f"sqlite:///{tmp_path}/secret.sqlite3"}, "CHAT_MEMORY_OPTIONS")
    for shown in (repr(options), str(options), f"{options}", repr([options])):
        assert "secret" not in shown
        assert "***" in shown
