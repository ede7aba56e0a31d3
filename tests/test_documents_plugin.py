"""Threads as documents: the shipped contract over several storages, and how the documents look."""

from __future__ import annotations

import collections.abc as cabc
import datetime as dt
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
from flask_chat_memory.plugins.abilities import KeepsLiveTurns
from flask_chat_memory.plugins.documents import DocumentsPlugin
from flask_chat_memory.plugins.records import Appended
from flask_chat_memory.plugins.records import Mark
from flask_chat_memory.plugins.records import Renewal
from flask_chat_memory.plugins.rules import MAX_THREAD_ID
from flask_chat_memory.storage.file import FileStorage
from flask_chat_memory.storage.in_memory import InMemoryStorage
from flask_chat_memory.storage.keys import segment
from flask_chat_memory.storage.rules import Document
from flask_chat_memory.storage.sqlalchemy import SQLAlchemyStorage
from flask_chat_memory.testing import contracts
from flask_chat_memory.testing import ManualClock
from flask_chat_memory.testing.contracts.failures import BreakStore
from flask_chat_memory.testing.contracts.failures import Damage
from flask_chat_memory.testing.contracts.parts import able
from flask_chat_memory.testing.contracts.parts import answer
from flask_chat_memory.testing.contracts.parts import ask
from flask_chat_memory.testing.contracts.parts import exchange
from flask_chat_memory.testing.contracts.parts import MakePlugin
from flask_chat_memory.testing.contracts.parts import OWNER
from flask_chat_memory.testing.contracts.parts import STRANGER
from flask_chat_memory.testing.contracts.parts import texts
from flask_chat_memory.testing.contracts.parts import THREAD
from flask_chat_memory.testing.contracts.turns import end
from flask_chat_memory.testing.contracts.turns import start

from .every_contract import LastingContract
from .own_storage import OwnStorage


class TestOverFiles(LastingContract):
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


class TestOverSQL(
    contracts.PersistenceContract,
    contracts.CurrentThreadContract,
    contracts.ListsThreadsContract,
    contracts.PurgesThreadsContract,
    contracts.CorruptionContract,
    contracts.FailingStoreContract,
):
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


class TestOverTheSitesOwn(LastingContract):
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


KEY = "conversations/@user%3a1/default/abc123"
ONGOING = "conversations/@user%3a1/default.current"
LEDGER = "conversations/usage/@user%3a1/default"


def test_a_document_is_readable(tmp_path: pathlib.Path) -> None:
    plugin = DocumentsPlugin({"storage": FileStorage({"folder": str(tmp_path)})}, clock=ManualClock(1_777_543_200.0))
    answered = ChatMessage("assistant", "Hi there!", model="m-1", usage={"total": 150})
    plugin.append_messages(Scope("user:Bob"), "abc123", [ChatMessage("user", "Hello"), answered], key="question:1")

    paths = sorted(tmp_path.rglob("*.json"))

    folder = pathlib.Path("conversations/@user%3a=42ob")
    assert [path.relative_to(tmp_path) for path in paths] == [
        folder / "default/abc123.json",
        folder / "default.current.json",
    ]
    assert json.loads(paths[1].read_text()) == {"owner": "user:Bob", "chatbot": "default", "thread_id": "abc123"}
    assert json.loads(paths[0].read_text()) == {
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


def test_a_document_tells_all_that_belongs_to_a_thread() -> None:
    storage, clock = InMemoryStorage(), ManualClock(1_777_543_200.0)
    plugin = able(DocumentsPlugin({"storage": storage}, clock=clock), KeepsLiveTurns)
    plugin.append_messages(OWNER, "abc123", exchange("1"))
    plugin.append_messages(OWNER, "abc123", exchange("2"))
    plugin.update_thread(OWNER, "abc123", title="A talk", pinned=True, archived=True, configuration="c")
    plugin.mark_message(OWNER, "abc123", "a-1", Mark(1, "good"))
    start(plugin, "3", thread_id="abc123", replaces=3)
    plugin.renew_turns([Renewal(OWNER, "abc123", "3", "so far")], clock() + 60)

    document = storage.load(KEY) or {}

    assert [message["content"] for message in document["messages"]] == ["question 1", "answer 1", "question 3"]
    assert document["sequences"] == [1, 2, 5]
    assert [message["content"] for message in document["hidden"]] == ["question 2", "answer 2"]
    assert document["hidden_sequences"] == [3, 4]
    assert document["lines"] == {"visible": [[1, 2], [5, None]], "others": [[[1, 4]]]}
    assert {name: document[name] for name in ("title", "pinned", "archived", "configuration")} == {
        "title": "A talk",
        "pinned": True,
        "archived": True,
        "configuration": "c",
    }
    assert document["marks"] == {"a-1": {"rating": 1, "comment": "good"}}
    assert document["live"] == [
        {
            "turn": "3",
            "question_id": "q-3",
            "answer_id": "a-3",
            "lease": 1_777_543_260.0,
            "text": "so far",
            "stop_wanted": False,
        }
    ]
    assert "last_sequence" not in document
    plugin.clear_messages(OWNER, "abc123")
    assert (storage.load(KEY) or {})["last_sequence"] == 5


def test_the_order_of_keys_is_no_matter() -> None:
    storage = InMemoryStorage()
    plugin = DocumentsPlugin({"storage": storage, "max_messages": 2})
    for n in range(100):
        plugin.append_messages(OWNER, "abc123", [ask(str(n))], key=f"question:{n}")
    document = storage.load(KEY) or {}
    document["append_keys"] = dict(reversed(document["append_keys"].items()))
    storage.save(KEY, document)

    plugin.append_messages(OWNER, "abc123", [ask("100")], key="question:100")

    expected = {f"question:{n}": n + 1 for n in range(1, 101)}
    assert (storage.load(KEY) or {})["append_keys"] == expected


BY_HAND = {"messages": [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hi there!"}]}


def test_a_document_that_people_wrote_is_a_thread() -> None:
    storage, clock = InMemoryStorage(), ManualClock()
    storage.save(KEY, BY_HAND)
    plugin = DocumentsPlugin({"storage": storage}, clock=clock)

    [thread] = plugin.list_threads(OWNER)
    assert (thread.id, thread.messages, thread.created_at, thread.last_activity) == ("abc123", 2, clock(), clock())
    assert list(plugin.all_threads()) == [(OWNER, thread)]
    assert [found.message.text for found in plugin.search_messages(OWNER, "hello").found] == ["Hello"]
    # Nobody knows how old it is.
    clock.advance(1e9)
    assert list(plugin.purge_threads(clock())) == []

    plugin.append_messages(OWNER, "abc123", exchange("1"))

    assert texts(plugin.load_messages(OWNER, "abc123")) == ["Hello", "Hi there!", "question 1", "answer 1"]
    assert [message.sequence for message in plugin.load_messages(OWNER, "abc123")] == [1, 2, 3, 4]


@pytest.mark.parametrize("name", ["updated_at", "timestamp", "created_at"])
def test_a_document_may_say_how_old_it_is(name: str) -> None:
    storage = InMemoryStorage()
    storage.save(KEY, {**BY_HAND, name: "2026-04-30T10:00:00Z"})
    plugin = DocumentsPlugin({"storage": storage, "expiry": 60}, clock=ManualClock(1_777_543_261.0))

    assert not plugin.has_thread(OWNER, "abc123")
    assert [thread.last_activity for _, thread in plugin.all_threads()] == [1_777_543_200.0]


def test_where_a_document_lies_says_whose_it_is() -> None:
    storage = InMemoryStorage()
    storage.save(KEY, {**BY_HAND, "thread_id": "other", "owner": "user:2", "chatbot": "support"})
    plugin = DocumentsPlugin({"storage": storage})

    assert [(scope, thread.id) for scope, thread in plugin.all_threads()] == [(OWNER, "abc123")]
    plugin.update_thread(OWNER, "abc123", title="mine")
    document = storage.load(KEY) or {}
    assert (document["thread_id"], document["owner"], document["chatbot"]) == ("abc123", "user:1", "default")


def test_long_names_are_told_by_the_document(caplog: pytest.LogCaptureFixture) -> None:
    storage = InMemoryStorage()
    plugin = DocumentsPlugin({"storage": storage})
    scope, thread_id = Scope("你" * 255, "好" * 64), "🙂" * MAX_THREAD_ID
    plugin.append_messages(scope, thread_id, exchange("1"))
    plugin.append_messages(scope, thread_id, [answer("1")], reply_to="q-1")
    assert list(plugin.usage_scopes()) == [scope]
    [key] = [key for key in storage.list() if not key.startswith("conversations/usage/") and key.count("/") == 3]

    assert [(scope, thread.id) for scope, thread in plugin.all_threads()] == [(scope, thread_id)]
    assert [thread.id for thread in plugin.list_threads(scope)] == [thread_id]
    assert plugin.current_thread(scope) == thread_id

    for name in ("owner", "chatbot", "thread_id"):
        document = storage.load(key) or {}
        storage.save(key, {**document, name: "another"})
        assert list(plugin.all_threads()) == []
        assert key in caplog.text
        storage.save(key, document)
        caplog.clear()


def test_the_documents_of_scopes_do_not_meet(caplog: pytest.LogCaptureFixture) -> None:
    plugin = DocumentsPlugin({"storage": InMemoryStorage(), "threads": "many"})
    scopes = [Scope("user:1", chatbot) for chatbot in ("a", "a.current", "usage", "@a", "current")]
    for scope in scopes:
        for thread_id in ("a", "a.current", "current", "usage", "@a"):
            plugin.append_messages(scope, thread_id, [ask(thread_id)])
            plugin.append_messages(scope, thread_id, [answer(thread_id)], reply_to=f"q-{thread_id}")
    for scope in scopes:
        assert len(plugin.list_threads(scope)) == 5
        assert plugin.current_thread(scope) == "a"
        assert [day.turns for day in plugin.list_usage(scope)] == [5]
    assert len(list(plugin.all_threads())) == 25
    assert caplog.text == ""


@pytest.mark.scenario("S046", "H8")
def test_created_at_stays_and_updated_at_moves() -> None:
    storage, clock = InMemoryStorage(), ManualClock()
    plugin = DocumentsPlugin({"storage": storage}, clock=clock)
    plugin.append_messages(OWNER, "abc123", exchange("1"))
    clock.advance(60)
    plugin.append_messages(OWNER, "abc123", exchange("2"))
    clock.advance(60)
    plugin.save_messages(OWNER, "abc123", exchange("3"))

    document = storage.load(KEY) or {}

    times = [dt.datetime.fromisoformat(document[name]).timestamp() for name in ("created_at", "updated_at")]
    assert times == [clock.now - 120, clock.now]


QUESTION = {"role": "user", "content": "x"}
NO_THREADS: list[Document] = [
    *({"messages": messages} for messages in (7, [7], [{"role": "nobody"}], None, "", {}, {"role": "user"})),
    *({"messages": [QUESTION], "sequences": given} for given in ([1, 2], "1", [True], [1.5], ["1"], None)),
    *({"messages": [QUESTION], "append_keys": given} for given in ([1], "k", None, {"k": [1]})),
    *({"messages": [QUESTION], "hidden": given} for given in (7, [QUESTION], [{"role": "nobody"}])),
    *({"messages": [QUESTION], "marks": given} for given in (1, {"a": {"rating": 2}})),
    {"messages": [QUESTION], "title": 7},
    {"messages": [QUESTION], "pinned": "yes"},
    {"messages": [QUESTION], "lines": []},
    {"messages": [QUESTION], "live": [{"turn": "1"}]},
]


@pytest.mark.parametrize("document", NO_THREADS, ids=str)
def test_a_document_that_is_no_thread_is_reported_and_kept(
    document: Document, caplog: pytest.LogCaptureFixture
) -> None:
    storage = InMemoryStorage()
    storage.save(KEY, document)
    plugin = DocumentsPlugin({"storage": storage, "threads": "many", "max_threads": 1})

    with pytest.raises(CorruptRecord, match="abc123"):
        plugin.load_messages(OWNER, "abc123")
    with pytest.raises(CorruptRecord):
        plugin.append_messages(OWNER, "abc123", exchange("1"))
    plugin.append_messages(OWNER, "neighbour", exchange("1"))
    assert [thread.id for thread in plugin.list_threads(OWNER)] == ["neighbour"]
    assert [thread.id for _, thread in plugin.all_threads()] == ["neighbour"]
    assert "abc123" in caplog.text
    with pytest.raises(CorruptRecord):
        plugin.move_threads(OWNER, STRANGER)
    assert plugin.has_thread(STRANGER, "neighbour")
    assert storage.load(KEY) == document


def test_an_unreadable_ongoing_thread_is_still_the_ongoing_one() -> None:
    storage = InMemoryStorage()
    plugin = DocumentsPlugin({"storage": storage})
    plugin.append_messages(OWNER, "abc123", exchange("1"))
    storage.save(KEY, {"messages": 7})

    assert plugin.current_thread(OWNER) == "abc123"
    for write in (lambda: plugin.load_current(OWNER), lambda: plugin.append_messages(OWNER, "new", [ask("2")])):
        with pytest.raises(CorruptRecord):
            write()
    assert plugin.delete_thread(OWNER, "abc123")
    assert plugin.append_messages(OWNER, "new", [ask("2")]) == Appended("new", 1)


def test_an_unreadable_thread_keeps_no_turn_of_another_from_being_renewed(caplog: pytest.LogCaptureFixture) -> None:
    storage = InMemoryStorage()
    plugin = able(DocumentsPlugin({"storage": storage, "threads": "many"}), KeepsLiveTurns)
    start(plugin, "1", thread_id="abc123")
    start(plugin, "2", thread_id="thread-2")
    storage.save(KEY, {"messages": 7})
    turns = [Renewal(OWNER, "abc123", "1"), Renewal(OWNER, "thread-2", "2"), Renewal(OWNER, "abc123", "gone")]

    assert plugin.renew_turns(turns, 1e12) == set()

    assert [live.lease for live in plugin.live_turns(OWNER, "thread-2")] == [1e12]
    assert "abc123" in caplog.text


def test_an_answer_is_stored_though_the_ledger_cannot_be_read(caplog: pytest.LogCaptureFixture) -> None:
    storage = InMemoryStorage()
    storage.save(LEDGER, {"days": 7})
    plugin = DocumentsPlugin({"storage": storage})
    plugin.append_messages(OWNER, THREAD, [ask("1")])

    assert plugin.append_messages(OWNER, THREAD, [answer("1")], reply_to="q-1") == Appended(THREAD, 2)

    assert "an answer is not counted" in caplog.text
    assert storage.load(LEDGER) == {"days": 7}
    with pytest.raises(CorruptRecord):
        plugin.list_usage(OWNER)


class WatchedStorage(OwnStorage):
    """Tells which keys it was asked for, and which patterns."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: set[str] = set()

    def load(self, key: str) -> Document | None:
        self.asked.add(key)
        return super().load(key)

    def list(self, pattern: str = "*") -> list[str]:
        self.asked.add(pattern)
        return super().list(pattern)


@pytest.mark.parametrize("threads", ["one", "many"])
def test_a_turn_reads_no_other_thread(threads: str) -> None:
    storage = WatchedStorage()
    plugin = able(DocumentsPlugin({"storage": storage, "threads": threads}), KeepsLiveTurns)
    if threads == "many":
        for n in range(5):
            plugin.append_messages(OWNER, f"thread-{n}", exchange(str(n)))
    storage.asked.clear()
    plugin.append_messages(OWNER, "abc123", exchange("a"))
    assert storage.asked == {KEY, ONGOING, "conversations/@user%3a1/default/*"}
    storage.asked.remove("conversations/@user%3a1/default/*")

    start(plugin, "1", thread_id="abc123")
    plugin.renew_turns([Renewal(OWNER, "abc123", "1", "so far")], plugin.clock() + 60)
    end(plugin, "1", thread_id="abc123")
    plugin.load_messages(OWNER, "abc123", limit=20)

    assert storage.asked == {KEY, ONGOING, LEDGER}


def test_what_the_site_opened_stays_open(tmp_path: pathlib.Path) -> None:
    storage = SQLAlchemyStorage({"url": f"sqlite:///{tmp_path}/documents.sqlite3"})
    plugin = DocumentsPlugin({"storage": storage})
    plugin.append_messages(OWNER, THREAD, exchange("1"))
    plugin.close()
    assert len(storage.list()) == 2
    storage.close()


def test_a_storage_is_needed() -> None:
    with pytest.raises(ConfigurationError, match="give storage"):
        DocumentsPlugin()
    with pytest.raises(ConfigurationError, match="no storage 'fil'"):
        DocumentsPlugin({"storage": "fil"})


def test_the_storage_is_not_shown() -> None:
    options = DocumentsPlugin.Options.make({"storage": {"type": "redis", "url": "redis://:secret@h/0"}}, "KEY")
    assert "secret" not in repr(options)
