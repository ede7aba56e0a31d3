"""Encrypted documents: the shipped contract over each kind of storage, what is hidden, what is noticed."""

from __future__ import annotations

import base64
import collections.abc as cabc
import json
import pathlib
import typing as t

import flask
import pytest
import redis

from flask_chat_memory import ChatMemory
from flask_chat_memory import ConfigurationError
from flask_chat_memory import DecryptionFailed
from flask_chat_memory import Storage
from flask_chat_memory.storage.encrypted import EncryptedStorage
from flask_chat_memory.storage.file import FileStorage
from flask_chat_memory.storage.in_memory import InMemoryStorage
from flask_chat_memory.testing.contracts.storage import MakeStorage
from flask_chat_memory.testing.contracts.stores import DamageDocument

from . import test_storage_contract
from .encryption import NEW
from .encryption import OLD
from .encryption import OTHER
from .own_storage import OwnStorage
from .redis_servers import remove_keys

SECRET = "zanzibar"


def encrypted(storage: t.Any, *keys: str) -> EncryptedStorage:
    return EncryptedStorage({"storage": storage, "keys": list(keys or (NEW, OLD))})


class TestOverInMemory(test_storage_contract.TestInMemoryStorage):
    @pytest.fixture
    def make_storage(self) -> MakeStorage:
        return lambda: encrypted("in_memory")


class TestOverOwn(test_storage_contract.TestOwnStorage):
    @pytest.fixture
    def records(self) -> dict[str, bytes]:
        return {}

    @pytest.fixture
    def make_storage(self, records: dict[str, bytes]) -> MakeStorage:
        return lambda: encrypted(OwnStorage(records))

    @pytest.fixture
    def damage_document(self, records: dict[str, bytes]) -> DamageDocument:
        def damage(_storage: Storage, key: str) -> None:
            records[key] = b'{"text": "in clear"}'

        return damage


class TestOverFile(test_storage_contract.TestFileStorage):
    @pytest.fixture
    def make_storage(self, tmp_path: pathlib.Path) -> MakeStorage:
        return lambda: encrypted({"type": "file", "folder": str(tmp_path / "documents")})


class TestOverSQLAlchemy(test_storage_contract.TestSQLAlchemyStorage):
    @pytest.fixture
    def make_storage(self, url: str) -> cabc.Iterator[MakeStorage]:
        opened: list[Storage] = []

        def make() -> Storage:
            opened.append(encrypted({"type": "sqlalchemy", "url": url}))
            return opened[-1]

        yield make
        for storage in opened:
            storage.close()


def test_files_hold_nothing_of_a_document_but_its_key(tmp_path: pathlib.Path) -> None:
    storage = encrypted({"type": "file", "folder": str(tmp_path)})
    storage.save("site/key-in-clear", {"text": f"# {SECRET}", SECRET: [SECRET]})
    assert storage.list() == ["site/key-in-clear"]
    data = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert SECRET.encode() not in data
    for shift in range(3):
        assert base64.b64encode(b" " * shift + SECRET.encode())[4:8] not in data


def test_redis_holds_nothing_of_a_document_but_its_key(redis_url: str, key_prefix: str) -> None:
    storage = encrypted({"type": "redis", "url": redis_url, "key_prefix": key_prefix})
    storage.save("site/a", {"value": SECRET})
    assert storage.load("site/a") == {"value": SECRET}
    assert storage.search("ZANZI") == [("site/a", {"value": SECRET})]
    with redis.Redis.from_url(redis_url) as client:
        dumps = [client.dump(key) for key in client.scan_iter(f"{key_prefix}*")]
        assert len(dumps) > 1
        assert all(SECRET.encode() not in t.cast(bytes, dump) for dump in dumps)
        remove_keys(client, key_prefix)
    storage.close()


@pytest.mark.scenario("N40")
@pytest.mark.parametrize("change", ["moved", "in clear", "other name", "cut", "no text"])
def test_what_was_changed_or_moved_is_noticed_and_kept(change: str) -> None:
    own = OwnStorage()
    storage = encrypted(own)
    storage.save("a", {"value": SECRET})
    storage.save("b", {"value": "b"})
    stored = json.loads(own.records["a"])
    changed = {
        "moved": json.loads(own.records["b"]),
        "in clear": {"value": 1},
        "other name": {"text": stored["encrypted"]},
        "cut": {"encrypted": stored["encrypted"][:-4]},
        "no text": {"encrypted": [stored["encrypted"]]},
    }
    own.records["a"] = json.dumps(changed[change]).encode()
    before = dict(own.records)
    for read in (storage.load, lambda _key: storage.search("b")):
        with pytest.raises(DecryptionFailed, match="the stored document 'a' cannot be read") as caught:
            read("a")
        assert SECRET not in str(caught.value)
    assert own.records == before
    assert storage.load("b") == {"value": "b"}


@pytest.mark.scenario("N39")
def test_keys_are_changed_without_losing_what_the_old_one_hid() -> None:
    own = OwnStorage()
    encrypted(own, OLD).save("a", {"value": 1})
    both = encrypted(own, NEW, OLD)
    assert both.load("a") == {"value": 1}
    with pytest.raises(DecryptionFailed, match="add the old key to the end of the option 'keys'"):
        encrypted(own, NEW).load("a")
    both.save("a", t.cast(t.Any, both.load("a")))
    assert encrypted(own, NEW).load("a") == {"value": 1}
    with pytest.raises(DecryptionFailed):
        encrypted(own, OTHER).load("a")


def test_what_the_site_opened_stays_open() -> None:
    class Closing(OwnStorage):
        closed = False

        def close(self) -> None:
            self.closed = True

    own = Closing()
    encrypted(own).close()
    assert not own.closed
    made = encrypted(Closing)
    made.close()
    assert t.cast(Closing, made._storage).closed


WRONG: dict[str, tuple[dict[str, t.Any], str]] = {
    "no storage": ({"keys": [NEW]}, "CHAT_MEMORY_STORAGE lacks the option 'storage'"),
    "None": ({"storage": None, "keys": [NEW]}, "CHAT_MEMORY_STORAGE: storage is None; name the storage"),
    "unknown": ({"storage": "disk", "keys": [NEW]}, "CHAT_MEMORY_STORAGE: storage: no storage 'disk'"),
    "itself": (
        {"storage": {"type": "encrypted", "storage": "file", "keys": [NEW]}, "keys": [NEW]},
        "'encrypted' itself",
    ),
    "no keys": ({"storage": "file"}, "CHAT_MEMORY_STORAGE lacks the option 'keys'"),
    "a short key": ({"storage": "file", "keys": ["c2hvcnQ="]}, r"keys\[0\] is no base64 of 32 bytes; make a key"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_refused_at_start_up(name: str) -> None:
    options, text = WRONG[name]
    app = flask.Flask("site")
    app.config.update(CHAT_MEMORY_STORAGE={"type": "encrypted", **options})
    with pytest.raises(ConfigurationError, match=text) as caught:
        ChatMemory(app)
    assert "c2hvcnQ" not in str(caught.value)


def test_the_options_of_the_wrapped_storage_are_made_plain(tmp_path: pathlib.Path) -> None:
    app = flask.Flask("site", instance_path=str(tmp_path))
    wrapped = {"type": "file", "folder": "hidden"}
    app.config.update(CHAT_MEMORY_STORAGE={"type": "encrypted", "storage": wrapped, "keys": [NEW]})
    memory = ChatMemory(app)
    with app.app_context():
        memory.storage("site").save("a", {"value": SECRET})
        assert memory.storage("site").load("a") == {"value": SECRET}
    [path] = (tmp_path / "hidden" / "site").iterdir()
    assert SECRET not in path.read_text()


@pytest.mark.parametrize(("plugin", "kind"), [("file", FileStorage), ("in_memory", InMemoryStorage)])
def test_documents_beside_encrypted_conversations_are_encrypted(
    plugin: str, kind: type[Storage], tmp_path: pathlib.Path
) -> None:
    app = flask.Flask("site", instance_path=str(tmp_path))
    app.config.update(CHAT_MEMORY_PLUGIN="encrypted", CHAT_MEMORY_OPTIONS={"plugin": plugin, "keys": [NEW]})
    memory = ChatMemory(app)
    with app.app_context():
        documents = memory.storage("site")
        documents.save("a", {"value": SECRET})
        assert documents.load("a") == {"value": SECRET}
        storage = documents._storage
        assert isinstance(storage, EncryptedStorage)
        assert isinstance(storage._storage, kind)
        assert SECRET not in json.dumps(storage._storage.load("site/a"))


def test_a_wrapped_plugin_that_needs_a_storage_is_refused_without_one(tmp_path: pathlib.Path) -> None:
    app = flask.Flask("site", instance_path=str(tmp_path))
    app.config.update(CHAT_MEMORY_PLUGIN="encrypted", CHAT_MEMORY_OPTIONS={"plugin": "documents", "keys": [NEW]})
    with pytest.raises(ConfigurationError, match="plugin 'documents' needs a storage"):
        ChatMemory(app)
    app = flask.Flask("site", instance_path=str(tmp_path))
    app.config.update(CHAT_MEMORY_PLUGIN="encrypted", CHAT_MEMORY_STORAGE="file")
    app.config.update(CHAT_MEMORY_OPTIONS={"plugin": "documents", "keys": [NEW]})
    memory = ChatMemory(app)
    with app.app_context():
        conversation = memory.start_conversation("user:1")
        conversation.turn(SECRET).finish(SECRET)
        assert [message.text for message in conversation.history()] == [SECRET, SECRET]
    data = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert data
    assert SECRET.encode() not in data
