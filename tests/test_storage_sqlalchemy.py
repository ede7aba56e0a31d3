"""What is particular to documents in a SQL database."""

from __future__ import annotations

import pathlib

import pytest
import sqlalchemy as sa

from flask_chat_memory import ConfigurationError
from flask_chat_memory.storage.rules import end_of_range
from flask_chat_memory.storage.sql import statements
from flask_chat_memory.storage.sqlalchemy import define_document_table
from flask_chat_memory.storage.sqlalchemy import SQLAlchemyStorage
from flask_chat_memory.testing import ManualClock


def test_the_table_is_defined_once_on_the_metadata_of_a_site() -> None:
    metadata = sa.MetaData()
    table = define_document_table(metadata)
    assert define_document_table(metadata) is table
    define_document_table(metadata, "other_")
    assert sorted(metadata.tables) == [
        *("chat_memory_document", "chat_memory_version"),
        *("other_document", "other_version"),
    ]


def test_the_table_of_a_site_is_used(tmp_path: pathlib.Path) -> None:
    metadata, engine = sa.MetaData(), sa.create_engine(f"sqlite:///{tmp_path}/site.sqlite3")
    table = define_document_table(metadata, "bot_")
    metadata.create_all(engine)
    clock = ManualClock()
    storage = SQLAlchemyStorage({"engine": engine, "create_tables": False, "table_prefix": "bot_"}, clock=clock)
    storage.save("a/é", {"text": "é"})
    with engine.connect() as connection:
        [row] = connection.execute(sa.select(table.c.name, table.c.body, table.c.updated_at))
    assert tuple(row) == ("a/é", '{"text":"é"}', clock.now)
    storage.close()
    with engine.connect() as connection:
        assert connection.scalar(sa.select(sa.func.count()).select_from(table)) == 1
    engine.dispose()


def test_a_document_and_its_neighbours_in_the_order_of_code_points(tmp_path: pathlib.Path) -> None:
    storage = SQLAlchemyStorage({"url": f"sqlite:///{tmp_path}/documents.sqlite3"})
    keys = ["a/\ud7ff", "a/\ue000", "a/\U0010ffff", "a/\U0010ffff\U0010ffffx", "b", "a"]
    for key in keys:
        storage.save(key, {})
    for start in ("a/", "a/\ud7ff", "a/\U0010ffff", "a/\U0010ffff\U0010ffff", "\U0010ffff", ""):
        assert storage.list(f"{start}*") == sorted(key for key in keys if key.startswith(start))


@pytest.mark.parametrize(
    ("start", "end"),
    [("a", "b"), ("a/", "a0"), ("\ud7ff", "\ue000"), ("a\U0010ffff", "b"), ("\U0010ffff", None), ("", None)],
)
def test_the_end_of_a_range(start: str, end: str | None) -> None:
    assert end_of_range(start) == end


def test_all_documents_are_one_query(tmp_path: pathlib.Path) -> None:
    statements: list[str] = []
    engine = sa.create_engine(f"sqlite:///{tmp_path}/documents.sqlite3")
    sa.event.listen(engine, "connect", lambda connection, _: connection.set_trace_callback(statements.append))
    storage = SQLAlchemyStorage({"engine": engine})
    for n in range(20):
        storage.save(f"a/{n:02}", {"text": str(n)})
    statements.clear()
    assert len(storage.load_all("a/*")) == len(storage.search("", "a/*")) == 20
    assert [statement[:6] for statement in statements] == ["SELECT", "SELECT"]
    engine.dispose()


def test_outside_an_app_a_database_is_needed() -> None:
    with pytest.raises(ConfigurationError, match="give url or engine"):
        SQLAlchemyStorage()


def test_old_documents_are_removed_some_at_a_time(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(statements, "CHUNK", 3)
    clock = ManualClock()
    storage = SQLAlchemyStorage({"url": f"sqlite:///{tmp_path}/documents.sqlite3"}, clock=clock)
    for place in range(10):
        storage.save(f"a/{place}", {})
        storage.save(f"a/{place}/x", {})
    clock.advance(1)
    storage.save("a/4", {})
    assert storage.clean_up(clock.now, "a/?") == 9
    assert storage.list("a/?") == ["a/4"]
    assert storage.clean_up(clock.now) == 10
    assert storage.list() == ["a/4"]
    storage.close()
