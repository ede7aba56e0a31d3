"""Threads as documents: the shipped contract over several storages, and how the documents look."""

from __future__ import annotations

import collections.abc as cabc
import json
import pathlib
import shutil
import sqlite3
import typing as t

import pytest

from flask_chat_memory import ChatMemoryPlugin
from flask_chat_memory import ChatMessage
from flask_chat_memory import ConfigurationError
from flask_chat_memory import CorruptRecord
from flask_chat_memory import Scope
from flask_chat_memory.plugins.documents import DocumentsPlugin
from flask_chat_memory.storage.domains import segment
from flask_chat_memory.storage.file import FileStorage
from flask_chat_memory.storage.in_memory import InMemoryStorage
from flask_chat_memory.storage.rules import Document
from flask_chat_memory.storage.sqlalchemy import SQLAlchemyStorage
from flask_chat_memory.testing import contracts
from flask_chat_memory.testing import ManualClock
from flask_chat_memory.testing.contracts.failures import BreakStore
from flask_chat_memory.testing.contracts.failures import Damage
from flask_chat_memory.testing.contracts.parts import exchange
from flask_chat_memory.testing.contracts.parts import MakePlugin
from flask_chat_memory.testing.contracts.parts import OWNER
from flask_chat_memory.testing.contracts.parts import texts
from flask_chat_memory.testing.contracts.parts import THREAD

from .own_storage import OwnStorage


class DocumentsContract(
    contracts.PluginContract,
    contracts.PersistenceContract,
    contracts.ExpiryContract,
    contracts.MaxMessagesContract,
    contracts.ThreadsContract,
    contracts.ForkContract,
    contracts.CorruptionContract,
    contracts.PurgesThreadsContract,
):
    """Needs the fixtures ``make_plugin`` and ``damage``."""


class TestOverFiles(DocumentsContract, contracts.FailingStoreContract):
    @pytest.fixture
    def make_plugin(self, tmp_path: pathlib.Path) -> MakePlugin:
        storage = {"type": "file", "folder": str(tmp_path / "documents")}
        return lambda **options: DocumentsPlugin({"storage": storage, **options})

    @pytest.fixture
    def damage(self, tmp_path: pathlib.Path) -> Damage:
        def damage(_plugin: ChatMemoryPlugin, scope: Scope, thread_id: str) -> None:
            folder = tmp_path / "documents" / "conversations" / f"@{segment(scope.owner)}" / scope.chatbot
            path = folder / f"{thread_id}.json"
            document = json.loads(path.read_text())
            document["messages"][-1] = {"role": "nobody"}
            path.write_text(json.dumps(document))

        return damage

    @pytest.fixture
    def break_store(self, tmp_path: pathlib.Path) -> BreakStore:
        def break_store(_plugin: ChatMemoryPlugin) -> None:
            shutil.rmtree(tmp_path / "documents")
            (tmp_path / "documents").write_text("in the way")

        return break_store


class TestOverSQL(DocumentsContract, contracts.FailingStoreContract):
    @pytest.fixture
    def make_plugin(self, tmp_path: pathlib.Path) -> cabc.Iterator[MakePlugin]:
        opened: list[DocumentsPlugin] = []

        def make(**options: t.Any) -> ChatMemoryPlugin:
            storage = {"type": "sqlalchemy", "url": f"sqlite:///{tmp_path}/documents.sqlite3"}
            opened.append(DocumentsPlugin({"storage": storage, **options}))
            return opened[-1]

        yield make
        for plugin in opened:
            plugin.close()

    @pytest.fixture
    def damage(self, tmp_path: pathlib.Path) -> Damage:
        update = "UPDATE chat_memory_document SET body = '{{' WHERE name = ?"

        def damage(_plugin: ChatMemoryPlugin, scope: Scope, thread_id: str) -> None:
            key = f"conversations/@{segment(scope.owner)}/{scope.chatbot}/{segment(thread_id)}"
            run_sql(tmp_path, update, key)

        return damage

    @pytest.fixture
    def break_store(self, tmp_path: pathlib.Path) -> BreakStore:
        return lambda _plugin: run_sql(tmp_path, "DROP TABLE chat_memory_document")


class TestOverTheSitesOwn(DocumentsContract, contracts.FailingStoreContract):
    @pytest.fixture
    def storage(self) -> BreakableStorage:
        return BreakableStorage()

    @pytest.fixture
    def make_plugin(self, storage: BreakableStorage) -> MakePlugin:
        return lambda **options: DocumentsPlugin({"storage": storage, **options})

    @pytest.fixture
    def damage(self, storage: BreakableStorage) -> Damage:
        def damage(_plugin: ChatMemoryPlugin, scope: Scope, thread_id: str) -> None:
            key = f"conversations/@{segment(scope.owner)}/{scope.chatbot}/{segment(thread_id)}"
            storage.records[key] = b'{"messages": 7}'

        return damage

    @pytest.fixture
    def break_store(self, storage: BreakableStorage) -> BreakStore:
        def break_store(_plugin: ChatMemoryPlugin) -> None:
            storage.broken = True

        return break_store


class BreakableStorage(OwnStorage):
    """A site's storage whose driver knows no errors of ours."""

    broken = False

    def save(self, key: str, document: cabc.Mapping[str, t.Any]) -> None:
        self._work()
        super().save(key, document)

    def load(self, key: str) -> Document | None:
        self._work()
        return super().load(key)

    def delete(self, key: str) -> bool:
        self._work()
        return super().delete(key)

    def _work(self) -> None:
        if self.broken:
            raise RuntimeError("hidden words")


def run_sql(folder: pathlib.Path, statement: str, *parameters: str) -> None:
    connection = sqlite3.connect(folder / "documents.sqlite3")
    with connection:
        connection.execute(statement, parameters)
    connection.close()


def test_a_document_is_readable(tmp_path: pathlib.Path) -> None:
    plugin = DocumentsPlugin({"storage": FileStorage({"folder": str(tmp_path)})}, clock=ManualClock(1_777_543_200.0))
    answer = ChatMessage("assistant", "Hi there!", model="m-1", usage={"total": 150})
    plugin.append_messages(Scope("user:Bob"), "abc123", [ChatMessage("user", "Hello"), answer], key="question:1")

    [path] = tmp_path.rglob("*.json")

    assert path.relative_to(tmp_path) == pathlib.Path("conversations/@user%3a=42ob/default/abc123.json")
    assert json.loads(path.read_text()) == {
        "thread_id": "abc123",
        "owner": "user:Bob",
        "chatbot": "default",
        "created_at": "2026-04-30T10:00:00Z",
        "updated_at": "2026-04-30T10:00:00Z",
        "messages": [
            {"role": "user", "content": "Hello"},
            {"role": "assistant", "content": "Hi there!", "usage": {"total": 150}, "model": "m-1"},
        ],
        "metadata": {"total_tokens": 150, "model": "m-1"},
        "sequences": [1, 2],
        "append_keys": {"question:1": 1},
    }


def test_a_document_that_people_wrote_is_a_thread() -> None:
    storage = InMemoryStorage()
    messages = [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hi there!"}]
    storage.save("conversations/@user%3a1/default/abc123", {"thread_id": "abc123", "messages": messages})
    plugin = DocumentsPlugin({"storage": storage})

    plugin.append_messages(OWNER, "abc123", exchange("1"))

    assert texts(plugin.load_messages(OWNER, "abc123")) == ["Hello", "Hi there!", "question 1", "answer 1"]
    assert [message.sequence for message in plugin.load_messages(OWNER, "abc123")] == [1, 2, 3, 4]


def test_created_at_stays_and_updated_at_moves() -> None:
    storage, clock = InMemoryStorage(), ManualClock()
    plugin = DocumentsPlugin({"storage": storage}, clock=clock)
    plugin.append_messages(OWNER, THREAD, exchange("1"))
    clock.advance(60)
    plugin.append_messages(OWNER, THREAD, exchange("2"))

    document = storage.load(storage.list()[0]) or {}

    assert document["created_at"] < document["updated_at"]


QUESTION = {"role": "user", "content": "x"}


@pytest.mark.parametrize(
    "document",
    [
        *({"messages": messages} for messages in (7, [7], [{"role": "nobody"}], None, "", {}, {"role": "user"})),
        *({"messages": [QUESTION], "sequences": given} for given in ([1, 2], "1", [True], [1.5], ["1"], None)),
        *({"messages": [QUESTION], "append_keys": given} for given in ([1], "k", None, {"k": [1]})),
    ],
    ids=str,
)
def test_a_document_that_is_no_thread_is_reported_and_kept(document: Document) -> None:
    storage = InMemoryStorage()
    storage.save("conversations/@user%3a1/default/abc123", document)
    plugin = DocumentsPlugin({"storage": storage})

    with pytest.raises(CorruptRecord):
        plugin.load_messages(OWNER, "abc123")
    with pytest.raises(CorruptRecord):
        plugin.append_messages(OWNER, "abc123", exchange("1"))
    assert storage.load("conversations/@user%3a1/default/abc123") == document


def test_what_the_site_opened_stays_open(tmp_path: pathlib.Path) -> None:
    storage = SQLAlchemyStorage({"url": f"sqlite:///{tmp_path}/documents.sqlite3"})
    plugin = DocumentsPlugin({"storage": storage})
    plugin.append_messages(OWNER, THREAD, exchange("1"))
    plugin.close()
    assert len(storage.list()) == 1
    storage.close()


def test_a_storage_is_needed() -> None:
    with pytest.raises(ConfigurationError, match="give storage"):
        DocumentsPlugin()
    with pytest.raises(ConfigurationError, match="no storage 'fil'"):
        DocumentsPlugin({"storage": "fil"})


def test_the_storage_is_not_shown() -> None:
    options = DocumentsPlugin.Options.make({"storage": {"type": "redis", "url": "redis://:secret@h/0"}}, "KEY")
    assert "secret" not in repr(options)
