"""The shipped contract of storages over every kind of storage that needs no server."""

from __future__ import annotations

import collections.abc as cabc
import contextlib
import pathlib
import shutil

import pytest
import sqlalchemy as sa

from flask_chat_memory.storage.base import Storage
from flask_chat_memory.storage.file import FileStorage
from flask_chat_memory.storage.in_memory import InMemoryStorage
from flask_chat_memory.storage.sqlalchemy import SQLAlchemyStorage
from flask_chat_memory.testing import contracts
from flask_chat_memory.testing.contracts.storage import MakeStorage
from flask_chat_memory.testing.contracts.stores import BreakStorage
from flask_chat_memory.testing.contracts.stores import DamageDocument

from .own_storage import OwnStorage
from .sql_servers import Places


class EveryStorageContract(
    contracts.StorageContract,
    contracts.StoragePersistenceContract,
    contracts.StorageForkContract,
    contracts.StorageProcessContract,
    contracts.StorageCorruptionContract,
    contracts.FailingStorageContract,
):
    """Needs the fixtures ``make_storage``, ``damage_document`` and ``break_storage``."""


class TestInMemoryStorage(contracts.StorageContract, contracts.StorageForkContract):
    @pytest.fixture
    def make_storage(self) -> MakeStorage:
        return InMemoryStorage


class TestOwnStorage(
    contracts.StorageContract,
    contracts.StoragePersistenceContract,
    contracts.StorageForkContract,
    contracts.StorageCorruptionContract,
):
    @pytest.fixture
    def make_storage(self) -> MakeStorage:
        records: dict[str, bytes] = {}
        return lambda: OwnStorage(records)

    @pytest.fixture
    def damage_document(self) -> DamageDocument:
        def damage(storage: Storage, key: str) -> None:
            assert isinstance(storage, OwnStorage)
            storage.records[key] = b"{{"

        return damage


class TestFileStorage(EveryStorageContract):
    @pytest.fixture
    def make_storage(self, tmp_path: pathlib.Path) -> MakeStorage:
        return lambda: FileStorage({"folder": str(tmp_path / "documents")})

    @pytest.fixture
    def damage_document(self, tmp_path: pathlib.Path) -> DamageDocument:
        def damage(_storage: Storage, key: str) -> None:
            [path] = (tmp_path / "documents").glob(f"{key}.*")
            path.write_text("---\na: {{\n---\nx" if path.suffix == ".md" else "{{")

        return damage

    @pytest.fixture
    def break_storage(self, tmp_path: pathlib.Path) -> BreakStorage:
        def break_storage(_storage: Storage) -> None:
            shutil.rmtree(tmp_path / "documents")
            (tmp_path / "documents").write_text("in the way")

        return break_storage


class TestSQLAlchemyStorage(EveryStorageContract):
    @pytest.fixture
    def url(self, tmp_path: pathlib.Path) -> str:
        return f"sqlite:///{tmp_path}/documents.sqlite3"

    @pytest.fixture
    def make_storage(self, url: str) -> cabc.Iterator[MakeStorage]:
        with sql_storages(url) as make:
            yield make

    @pytest.fixture
    def damage_document(self, url: str) -> DamageDocument:
        update = "UPDATE chat_memory_document SET body = '{{' WHERE name = :key"
        return lambda _storage, key: run_sql(url, update, key=key)

    @pytest.fixture
    def break_storage(self, url: str) -> BreakStorage:
        return lambda _storage: run_sql(url, "DROP TABLE chat_memory_document")


class TestPostgreSQLStorage(TestSQLAlchemyStorage):
    @pytest.fixture
    def url(self, sql_places: Places) -> cabc.Iterator[str]:
        with sql_places.lend("postgresql") as place:
            yield place.url


class TestMariaDBStorage(TestSQLAlchemyStorage):
    @pytest.fixture
    def url(self, sql_places: Places) -> cabc.Iterator[str]:
        with sql_places.lend("mariadb") as place:
            yield place.url


@contextlib.contextmanager
def sql_storages(url: str) -> cabc.Iterator[MakeStorage]:
    """Give what opens the same database each time."""
    opened: list[Storage] = []

    def make() -> Storage:
        opened.append(SQLAlchemyStorage({"url": url}))
        return opened[-1]

    yield make
    for storage in opened:
        storage.close()


def run_sql(url: str, statement: str, **parameters: object) -> None:
    engine = sa.create_engine(url)
    with engine.begin() as connection:
        connection.execute(sa.text(statement), parameters)
    engine.dispose()
