"""The tables in the databases of a site: their version, and how they are brought to that of the release."""

from __future__ import annotations

import collections.abc as cabc
import contextlib
import os
import pathlib
import re
import signal

import pytest
import sqlalchemy as sa
from alembic.script import ScriptDirectory

from flask_chat_memory import StorageError
from flask_chat_memory.migrations.upgrading import FOLDER
from flask_chat_memory.migrations.upgrading import upgrade
from flask_chat_memory.migrations.version import schema_versions
from flask_chat_memory.plugins.sql.tables import Tables
from flask_chat_memory.storage.sql.tables import DocumentTables
from flask_chat_memory.testing.contracts.forks import Child
from flask_chat_memory.testing.contracts.forks import needs_fork
from flask_chat_memory.testing.contracts.forks import Say
from tests.migrated import all_tables
from tests.migrated import fill
from tests.migrated import is_filled
from tests.migrated import later_release as later_release
from tests.migrated import proposals
from tests.migrated import schemas_of
from tests.migrated import upgrade_all
from tests.migrated import versions
from tests.sql_servers import Place
from tests.sql_servers import schema_of_our_own
from tests.test_sqlalchemy_plugin import every_call
from tests.test_sqlalchemy_plugin import OWNER
from tests.test_sqlalchemy_plugin import user

TODAY = {"threads_0001", "documents_0001"}
Release = cabc.Callable[[], None]


def described(place: Place, prefix: str) -> dict[str, object]:
    """Return all that the database tells of its tables with a prefix."""
    inspector = sa.inspect(place.engine)
    found: dict[str, object] = {}
    for name in inspector.get_table_names():
        if name.startswith(prefix):
            columns = [
                {**column, "type": repr(column["type"]), "collation": getattr(column["type"], "collation", None)}
                for column in inspector.get_columns(name)
            ]
            indexes = sorted(inspector.get_indexes(name), key=lambda index: str(index["name"]))
            key = inspector.get_pk_constraint(name)["constrained_columns"]
            options = inspector.get_table_options(name) if place.engine.dialect.name == "mysql" else {}
            facts = (columns, indexes, key, options)
            found[name.removeprefix(prefix)] = repr(facts).replace(prefix, "")
    return found


def test_the_versions_of_the_code_are_those_of_the_last_migrations() -> None:
    assert set(ScriptDirectory(FOLDER).get_heads()) == {Tables.version, DocumentTables.version}


@pytest.mark.scenario("S186", "S187")
def test_an_empty_database_gets_the_tables_and_nothing_more_is_done_then(any_place: Place) -> None:
    assert [one.steps for one in upgrade_all(any_place)] == [("threads_0001",), ("documents_0001",)]
    assert versions(any_place) == TODAY
    every_call(any_place.make_plugin(create_tables=False))
    assert [(one.found, one.steps) for one in upgrade_all(any_place)] == [("threads_0001", ()), ("documents_0001", ())]


def test_migrations_and_first_use_make_the_same_tables(any_place: Place) -> None:
    upgrade_all(any_place, table_prefix="migrated_")
    for schema in schemas_of(any_place, table_prefix="used_"):
        schema.make_ready(create=True)
    migrated, used = described(any_place, "migrated_"), described(any_place, "used_")
    assert len(migrated) == 9
    assert migrated == used
    assert versions(any_place, "migrated_") == versions(any_place, "used_") == TODAY


@pytest.mark.scenario("S186")
def test_alembic_proposes_nothing_on_a_database_that_was_upgraded(any_place: Place) -> None:
    metadata = all_tables()
    sa.Table("product", metadata, sa.Column("id", sa.Integer, primary_key=True)).create(any_place.engine)
    upgrade_all(any_place)
    assert proposals(any_place, metadata) == []
    metadata.tables["product"].append_column(sa.Column("name", sa.String(10)))
    assert [change[0] for change in proposals(any_place, metadata)] == ["add_column"]


def test_tables_of_which_no_version_is_noted_are_recognised(any_place: Place) -> None:
    fill(any_place)
    any_place.run("DROP TABLE chat_memory_version")
    assert {one.state for one in schema_versions(schemas_of(any_place))} == {"unmarked"}
    assert is_filled(any_place)
    planned = [upgrade(schema, dry_run=True) for schema in schemas_of(any_place)]
    assert "chat_memory_version" not in sa.inspect(any_place.engine).get_table_names()
    assert upgrade_all(any_place) == planned
    assert versions(any_place) == TODAY
    assert {one.state for one in schema_versions(schemas_of(any_place))} == {"current"}
    assert is_filled(any_place)


OTHER_TABLES = {
    "another column": (
        "ALTER TABLE chat_memory_mark ADD COLUMN colour INTEGER",
        r"chat_memory_mark\.colour is not known",
    ),
    "no such column": ("ALTER TABLE chat_memory_thread DROP COLUMN title", r"chat_memory_thread\.title is missing"),
    "a name too few": ("ALTER TABLE chat_memory_mark RENAME TO opinion", r"lacks the tables chat_memory_mark,"),
}


@pytest.mark.parametrize("other", OTHER_TABLES)
def test_other_tables_under_our_names_are_refused_and_left(file_place: Place, other: str) -> None:
    change, said = OTHER_TABLES[other]
    fill(file_place)
    file_place.run("DELETE FROM chat_memory_version")
    file_place.run(change)
    before = described(file_place, "")
    threads, _ = schemas_of(file_place)
    for dry_run in (True, False):
        with pytest.raises(StorageError, match=said):
            upgrade(threads, dry_run=dry_run)
    assert (described(file_place, ""), versions(file_place)) == (before, set())


def test_names_that_compare_as_people_do_are_refused(place: Place) -> None:
    fill(place)
    place.run("DELETE FROM chat_memory_version")
    place.run(
        'ALTER TABLE chat_memory_thread ALTER COLUMN owner TYPE varchar(255) COLLATE "default"'
        if place.is_postgresql
        else "ALTER TABLE chat_memory_thread MODIFY owner VARCHAR(255) COLLATE utf8mb4_general_ci NOT NULL"
    )
    threads, _ = schemas_of(place)
    with pytest.raises(StorageError, match=r"chat_memory_thread\.owner has another collation"):
        upgrade(threads)


def test_a_table_that_is_missing_is_told(file_place: Place) -> None:
    fill(file_place)
    file_place.run("DROP TABLE chat_memory_mark")
    threads, _ = schemas_of(file_place)
    assert [one.state for one in schema_versions([threads])] == ["incomplete"]
    for dry_run in (True, False):
        with pytest.raises(StorageError, match="lacks the tables chat_memory_mark, "):
            upgrade(threads, dry_run=dry_run)


def test_an_index_of_the_site_does_not_make_tables_strange(file_place: Place) -> None:
    fill(file_place)
    file_place.run("DELETE FROM chat_memory_version")
    file_place.run("CREATE INDEX of_the_site ON chat_memory_thread (created_at)")
    upgrade_all(file_place)
    assert versions(file_place) == TODAY


@pytest.mark.scenario("S185")
def test_a_later_release_upgrades_filled_tables_in_place(any_place: Place, later_release: Release) -> None:
    fill(any_place)
    later_release()
    plugin = any_place.make_plugin()
    with pytest.raises(StorageError, match=r"threads_0001, and .* works with threads_0002: run 'flask chat-memory up"):
        plugin.has_thread(OWNER, "thread-1")
    assert [one.state for one in schema_versions(schemas_of(any_place))] == ["older", "current"]
    assert [one.steps for one in upgrade_all(any_place)] == [("threads_0002",), ()]
    assert versions(any_place) == {"threads_0002", "documents_0001"}
    assert any_place.run("SELECT language FROM chat_memory_thread") == [("en",)]
    # Without a restart.
    assert plugin.has_thread(OWNER, "thread-1")
    assert is_filled(any_place)
    every_call(plugin, "thread-2")


def test_tables_without_a_version_go_all_the_way(file_place: Place, later_release: Release) -> None:
    fill(file_place)
    file_place.run("DELETE FROM chat_memory_version")
    later_release()
    assert upgrade_all(file_place)[0].steps == ("threads_0001", "threads_0002")
    assert file_place.run("SELECT language FROM chat_memory_thread") == [("en",)]
    assert is_filled(file_place)


@pytest.mark.scenario("S185")
def test_newer_tables_are_refused_and_left_as_they_are(any_place: Place) -> None:
    fill(any_place)
    any_place.run("UPDATE chat_memory_version SET version_num = 'threads_0002' WHERE version_num = 'threads_0001'")
    any_place.run("DROP TABLE chat_memory_mark")
    plugin, other = any_place.make_plugin(), any_place.make_plugin(create_tables=False)
    threads, documents = schemas_of(any_place)
    said = r"has tables of version threads_0002, and this release .* none after threads_0001"
    for call in (
        lambda: plugin.has_thread(OWNER, "thread-1"),
        lambda: other.has_thread(OWNER, "thread-1"),
        lambda: plugin.append_messages(OWNER, "thread-1", [user("more")]),
        lambda: upgrade(threads),
        lambda: upgrade(threads, dry_run=True),
    ):
        with pytest.raises(StorageError, match=said):
            call()
    assert [(one.state, one.found, one.wanted) for one in schema_versions([threads, documents])] == [
        ("newer", "threads_0002", "threads_0001"),
        ("current", "documents_0001", "documents_0001"),
    ]
    assert any_place.run("SELECT count(*) FROM chat_memory_message") == [(1,)]
    assert "chat_memory_mark" not in sa.inspect(any_place.engine).get_table_names()


def test_newer_documents_are_refused(file_place: Place) -> None:
    fill(file_place)
    file_place.run("UPDATE chat_memory_version SET version_num = 'documents_0002' WHERE version_num = 'documents_0001'")
    with pytest.raises(StorageError, match="documents_0002, .* documents_0001"):
        file_place.make_storage().load("a/b")


def test_the_version_is_read_at_the_first_use_only(file_place: Place) -> None:
    engine = file_place.make_engine()
    fill(file_place)
    plugin = file_place.make_plugin(engine=engine)
    seen: list[str] = []
    sa.event.listen(engine, "before_cursor_execute", lambda *facts: seen.append(facts[2]))
    plugin.has_thread(OWNER, "thread-1")
    assert len([statement for statement in seen if "version_num" in statement]) == 1
    del seen[:]
    every_call(plugin)
    assert seen == []


def test_to_look_at_the_version_creates_nothing(any_place: Place, tmp_path: pathlib.Path) -> None:
    assert {one.state for one in schema_versions(schemas_of(any_place))} == {"absent"}
    assert {one.found for one in [upgrade(schema, dry_run=True) for schema in schemas_of(any_place)]} == {None}
    assert list(tmp_path.iterdir()) == []
    any_place.run("CREATE TABLE chat_memory_mark (thread_key INTEGER)")
    assert [one.state for one in schema_versions(schemas_of(any_place))] == ["incomplete", "absent"]


@pytest.mark.scenario("S187")
@needs_fork
@pytest.mark.parametrize("begun", ["empty", "older"])
def test_several_hosts_upgrade_at_once(any_place: Place, later_release: Release, begun: str) -> None:
    if begun != "empty":
        fill(any_place)
        any_place.run("DELETE FROM chat_memory_version")
        later_release()

    def work(_say: Say) -> None:
        for schema in schemas_of(any_place):
            upgrade(schema)

    children = [Child(work) for _ in range(4)]
    assert [child.wait() for child in children] == [0] * 4
    assert versions(any_place) == {Tables.version, DocumentTables.version}
    assert begun == "empty" or is_filled(any_place)


@pytest.mark.scenario("S187")
@needs_fork
@pytest.mark.parametrize(
    "before",
    [
        "CREATE TABLE IF NOT EXISTS chat_memory_live",
        "CREATE INDEX IF NOT EXISTS chat_memory_message_turn",
        "INSERT INTO chat_memory_version",
        "UPDATE chat_memory_thread SET language",
        "UPDATE chat_memory_version",
    ],
)
def test_an_upgrade_that_is_killed_is_done_again(any_place: Place, later_release: Release, before: str) -> None:
    later_release()

    def work(_say: Say) -> None:
        def kill(_connection: object, _cursor: object, statement: str, *_facts: object) -> None:
            if statement.strip().startswith(before):
                os.kill(os.getpid(), signal.SIGKILL)

        engine = any_place.make_engine()
        sa.event.listen(engine, "before_cursor_execute", kill)
        [schema] = any_place.make_plugin(engine=engine).schemas()
        upgrade(schema)

    assert Child(work).wait() == -signal.SIGKILL
    upgrade_all(any_place)
    assert versions(any_place) == {"threads_0002", "documents_0001"}
    columns = sa.inspect(any_place.engine).get_columns("chat_memory_thread")
    assert [column["name"] for column in columns].count("language") == 1
    every_call(any_place.make_plugin(create_tables=False))


def test_an_engine_that_begins_transactions_by_itself(file_place: Place) -> None:
    engine = file_place.make_engine()
    sa.event.listen(engine, "connect", lambda connection, _: setattr(connection, "isolation_level", None))
    sa.event.listen(engine, "begin", lambda connection: connection.exec_driver_sql("BEGIN"))
    [schema] = file_place.make_plugin(engine=engine).schemas()
    assert upgrade(schema).steps
    every_call(file_place.make_plugin(engine=engine))
    file_place.make_plugin(engine=engine, table_prefix="other_").append_messages(OWNER, "t", [user("1")])


def test_tables_are_found_along_the_search_path() -> None:
    with schema_of_our_own() as place, schema_of_our_own() as before:
        fill(place)
        place.run("DELETE FROM chat_memory_version")
        first, second = (re.search(r"search_path[=%D3]+(\w+)", url.url) for url in (before, place))
        assert first and second
        url = place.url.replace(second[0], f"search_path={first[1]},{second[1]}")
        with contextlib.closing(Place(url)) as both:
            upgrade_all(both)
            assert is_filled(both)
        assert versions(place) == TODAY
        assert sa.inspect(before.engine).get_table_names(schema=first[1]) == []


def test_a_failing_database_is_told_without_the_words_of_its_driver(file_place: Place, tmp_path: pathlib.Path) -> None:
    (tmp_path / "chat.sqlite3").write_bytes(b"no database at all, but long enough to be read as one" * 20)
    with pytest.raises(StorageError, match="is no database of SQLite"):
        upgrade_all(file_place)
    with pytest.raises(StorageError, match="is no database of SQLite"):
        schema_versions(schemas_of(file_place))
