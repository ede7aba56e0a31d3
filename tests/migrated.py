"""What the tests of migrations share."""

from __future__ import annotations

import pathlib
import shutil
import typing as t

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from flask_chat_memory.migrations import upgrading
from flask_chat_memory.plugins.sql.schema import Schema
from flask_chat_memory.plugins.sql.tables import Tables
from flask_chat_memory.plugins.sqlalchemy import define_tables
from flask_chat_memory.storage.sqlalchemy import define_document_table
from tests.sql_servers import Place
from tests.test_sqlalchemy_plugin import OWNER
from tests.test_sqlalchemy_plugin import user

SECOND = """
import sqlalchemy as sa
from alembic import op

revision = "threads_0002"
down_revision = "threads_0001"
branch_labels = None
depends_on = None


def upgrade():
    table = op.get_context().opts["table_prefix"] + "thread"
    known = [column["name"] for column in sa.inspect(op.get_bind()).get_columns(table)]
    if "language" not in known:
        op.add_column(table, sa.Column("language", sa.String(16)))
    op.execute(f"UPDATE {table} SET language = 'en' WHERE language IS NULL")
    message = op.get_context().opts["table_prefix"] + "message"
    with op.batch_alter_table(message) as batch:
        batch.alter_column("role", type_=sa.String(32), existing_type=sa.String(16), existing_nullable=False)
"""
"""A migration as a later release may have one: a column, what it holds, and another type of a column."""


def schemas_of(place: Place, **options: t.Any) -> list[Schema]:
    """Return the tables of threads and those of documents."""
    return [*place.make_plugin(**options).schemas(), *place.make_storage(**options).schemas()]


def upgrade_all(place: Place, **options: t.Any) -> list[upgrading.Upgraded]:
    return [upgrading.upgrade(schema) for schema in schemas_of(place, **options)]


def versions(place: Place, prefix: str = "chat_memory_") -> set[str]:
    return {version for (version,) in place.run(f"SELECT version_num FROM {prefix}version")}


def fill(place: Place) -> None:
    """Store something in tables that the first use makes."""
    place.make_plugin().append_messages(OWNER, "thread-1", [user("stored")], key="k")
    place.make_storage().save("a/b", {"text": "stored"})


def is_filled(place: Place) -> bool:
    """Tell whether what :func:`fill` has stored is there."""
    messages = place.make_plugin(create_tables=False).load_messages(OWNER, "thread-1")
    document = place.make_storage(create_tables=False).load("a/b")
    return [message.text for message in messages] == ["stored"] and document == {"text": "stored"}


def proposals(place: Place, metadata: sa.MetaData) -> list[t.Any]:
    """Return what Alembic would change in the database."""
    with place.engine.connect() as connection:
        options = {"compare_type": True, "compare_server_default": True}
        return t.cast("list[t.Any]", compare_metadata(MigrationContext.configure(connection, opts=options), metadata))


def all_tables(prefix: str = "chat_memory_") -> sa.MetaData:
    metadata = sa.MetaData()
    define_tables(metadata, prefix)
    define_document_table(metadata, prefix)
    return metadata


@pytest.fixture
def later_release(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> t.Callable[[], None]:
    """Lets the code be that of a later release, with one more migration."""

    def release() -> None:
        folder = tmp_path / "migrations"
        shutil.copytree(upgrading.FOLDER, folder)
        (folder / "versions" / "threads_0002.py").write_text(SECOND)
        monkeypatch.setattr(upgrading, "FOLDER", str(folder))
        monkeypatch.setattr(Tables, "version", "threads_0002")

    return release
