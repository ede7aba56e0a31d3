"""The tables of the plugin: made on first use, named by the site, known to its migrations."""

from __future__ import annotations

import collections.abc as cabc
import pathlib
import sqlite3

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from flask_chat_memory import ConfigurationError
from flask_chat_memory import StorageError
from flask_chat_memory.plugins.sqlalchemy import define_tables
from flask_chat_memory.plugins.sqlalchemy import SQLAlchemyPlugin
from flask_chat_memory.testing.contracts.forks import Child
from flask_chat_memory.testing.contracts.forks import needs_fork
from flask_chat_memory.testing.contracts.parts import together
from tests.test_sqlalchemy_plugin import every_call
from tests.test_sqlalchemy_plugin import OWNER
from tests.test_sqlalchemy_plugin import user


@pytest.fixture
def url(tmp_path: pathlib.Path) -> str:
    return f"sqlite:///{tmp_path}/chat.sqlite3"


@pytest.fixture
def engine(url: str) -> cabc.Iterator[sa.Engine]:
    engine = sa.create_engine(url)
    yield engine
    engine.dispose()


def table_names(engine: sa.Engine) -> list[str]:
    return sorted(sa.inspect(engine).get_table_names())


@pytest.mark.scenario("S062")
def test_many_threads_create_the_tables_at_once(url: str) -> None:
    plugin = SQLAlchemyPlugin({"url": url})
    appended = together([lambda: plugin.append_messages(OWNER, "thread-1", [user("x")])] * 8)
    assert sorted(batch.sequence for batch in appended if batch) == list(range(1, 9))
    plugin.close()


@pytest.mark.scenario("S062", "S187")
@needs_fork
def test_many_processes_create_the_tables_at_once(url: str, engine: sa.Engine) -> None:
    def first_use() -> None:
        plugin = SQLAlchemyPlugin({"url": url})
        assert plugin.load_messages(OWNER, "thread-0") == []
        plugin.append_messages(OWNER, "thread-1", [user("x")])

    children = [Child(lambda _say: first_use()) for _ in range(4)]
    assert [child.wait() for child in children] == [0] * 4
    assert len(table_names(engine)) == 8
    plugin = SQLAlchemyPlugin({"url": url})
    assert len(plugin.load_messages(OWNER, "thread-1")) == 4
    plugin.close()


def test_nothing_is_opened_before_the_first_use(url: str, tmp_path: pathlib.Path) -> None:
    SQLAlchemyPlugin({"url": url}).close()
    assert list(tmp_path.iterdir()) == []


def test_missing_tables_are_a_storage_error_without_sql(url: str, engine: sa.Engine) -> None:
    plugin = SQLAlchemyPlugin({"url": url, "create_tables": False})
    for call in (
        lambda: plugin.load_messages(OWNER, "thread-1"),
        lambda: plugin.append_messages(OWNER, "thread-1", [user("secret")]),
    ):
        with pytest.raises(StorageError) as caught:
            call()
        assert isinstance(caught.value.__cause__, sqlite3.OperationalError)
        assert not any(word in str(caught.value) for word in ("SELECT", "chat_memory", "secret", "no such table"))
    assert table_names(engine) == []
    plugin.close()


def test_tables_that_come_later_are_used(url: str, engine: sa.Engine) -> None:
    plugin = SQLAlchemyPlugin({"url": url, "create_tables": False})
    with pytest.raises(StorageError):
        plugin.has_thread(OWNER, "thread-1")
    metadata = sa.MetaData()
    define_tables(metadata)
    metadata.create_all(engine)
    plugin.append_messages(OWNER, "thread-1", [user("x")])
    assert plugin.has_thread(OWNER, "thread-1")
    plugin.close()


@pytest.mark.scenario("S189")
def test_every_method_uses_the_table_prefix(engine: sa.Engine) -> None:
    plugin = SQLAlchemyPlugin({"engine": engine, "table_prefix": "site_", "max_messages": 2, "max_threads": 1})
    every_call(plugin)
    names = table_names(engine)
    assert len(names) == 8
    assert all(name.startswith("site_") for name in names)
    indexes = [index["name"] for name in names for index in sa.inspect(engine).get_indexes(name)]
    assert all(str(index).startswith("site_") for index in indexes)


@pytest.mark.scenario("A35")
@pytest.mark.parametrize("prefix", ["a b", "x;", "'", "1a", "", "a" * 33])
def test_a_table_prefix_that_is_no_name_is_refused(url: str, prefix: str) -> None:
    with pytest.raises(ConfigurationError, match="table_prefix"):
        SQLAlchemyPlugin({"url": url, "table_prefix": prefix})


def test_two_prefixes_are_two_stores(engine: sa.Engine) -> None:
    one, two = (SQLAlchemyPlugin({"engine": engine, "table_prefix": prefix}) for prefix in ("one_", "two_"))
    one.append_messages(OWNER, "thread-1", [user("x")])
    assert not two.has_thread(OWNER, "thread-1")


def test_tables_that_are_on_the_metadata_already_are_reused() -> None:
    metadata = sa.MetaData()
    first = define_tables(metadata)
    assert all(a is b for a, b in zip(first.all(), define_tables(metadata).all(), strict=True))
    define_tables(metadata, "other_")
    assert len(metadata.tables) == 16


@pytest.mark.scenario("S186")
@pytest.mark.parametrize("created_by", ["the plugin", "the site"])
def test_alembic_proposes_nothing_for_tables_on_the_metadata_of_the_site(engine: sa.Engine, created_by: str) -> None:
    metadata = sa.MetaData()
    sa.Table("product", metadata, sa.Column("id", sa.Integer, primary_key=True))
    define_tables(metadata)
    if created_by == "the plugin":
        metadata.tables["product"].create(engine)
        every_call(SQLAlchemyPlugin({"engine": engine}))
    else:
        metadata.create_all(engine)
        every_call(SQLAlchemyPlugin({"engine": engine, "create_tables": False}))
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True, "compare_server_default": True})
        assert compare_metadata(context, metadata) == []
