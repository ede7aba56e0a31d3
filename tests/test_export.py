"""Exports of what stores hold, and reading them."""

from __future__ import annotations

import io
import json
import typing as t

import pytest

from flask_chat_memory.errors import ImportRefused
from flask_chat_memory.plugins.in_memory import InMemoryPlugin
from flask_chat_memory.plugins.records import Scope
from flask_chat_memory.storage.in_memory import InMemoryStorage
from flask_chat_memory.testing.clock import ManualClock
from flask_chat_memory.testing.contracts.counting import tell
from flask_chat_memory.testing.contracts.counting import used
from flask_chat_memory.testing.contracts.parts import AblePlugin
from flask_chat_memory.testing.contracts.parts import assert_same
from flask_chat_memory.testing.contracts.parts import exchange
from flask_chat_memory.testing.contracts.parts import OWNER
from flask_chat_memory.testing.contracts.parts import STRANGER
from flask_chat_memory.testing.contracts.parts import THREAD
from flask_chat_memory.testing.contracts.restoring import rich_thread
from flask_chat_memory.transfer.entries import End
from flask_chat_memory.transfer.entries import Header
from flask_chat_memory.transfer.entries import line_of
from flask_chat_memory.transfer.export_file import read_export
from flask_chat_memory.transfer.export_file import ThreadInFile
from flask_chat_memory.transfer.exporting import Export
from flask_chat_memory.transfer.stores import Stores


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def plugin(clock: ManualClock) -> AblePlugin:
    plugin = t.cast(AblePlugin, InMemoryPlugin({"threads": "many"}, clock=clock))
    rich_thread(plugin, clock)
    tell(plugin, "1", used("1"), scope=STRANGER)
    plugin.append_messages(Scope("user:1", "support"), "other", exchange("1"))
    return plugin


@pytest.fixture
def stores(plugin: AblePlugin) -> Stores:
    storage = InMemoryStorage()
    storage.save("memory/users/@user%3a1/likes", {"text": "tea"})
    storage.save("memory/users/@user%3a10/likes", {"text": "coffee"})
    storage.save("site/terms", {"text": "Be kind."})
    storage.save("conversations/@user%3a1/default/x", {"messages": []})
    return Stores({"default": plugin, "support": plugin}, {"user_memory": storage, "site": storage})


def text_of(stores: Stores, **choice: t.Any) -> bytes:
    return b"".join(Export(stores, 1_800_000_000.0, **choice).lines())


def kinds(text: bytes) -> list[str]:
    return [json.loads(line)["kind"] for line in text.splitlines()]


def test_all_that_stores_hold_is_exported_once(stores: Stores) -> None:
    text = text_of(stores)
    found = kinds(text)
    counts = {kind: found.count(kind) for kind in dict.fromkeys(found)}
    assert counts == {
        "export": 1,
        "thread": 3,
        "mark": 2,
        "message": 11,
        "thread_end": 3,
        "usage": 2,
        "document": 3,
        "end": 1,
    }
    assert json.loads(text.splitlines()[-1]) == {
        "kind": "end",
        "threads": 3,
        "messages": 11,
        "documents": 3,
        "usage": 2,
    }


def test_a_thread_that_was_read_is_the_one_that_was_exported(stores: Stores, plugin: AblePlugin) -> None:
    pieces = read_export(io.BytesIO(text_of(stores)))
    assert isinstance(next(pieces), Header)
    threads = {}
    for piece in pieces:
        if isinstance(piece, ThreadInFile):
            threads[piece.scope, piece.whole.thread.id] = piece.whole
            stored = plugin.load_messages(piece.scope, piece.whole.thread.id, hidden=True)
            for _ in range(2):
                assert_same(list(piece), stored)
    assert len(threads) == 3
    assert threads[OWNER, THREAD] == plugin.find_whole(OWNER, THREAD)
    assert isinstance(piece, End)


@pytest.mark.scenario("S139", "N1")
def test_the_export_of_an_owner_holds_nothing_of_others(stores: Stores) -> None:
    text = text_of(stores, owner="user:1")
    lines = [json.loads(line) for line in text.splitlines()]
    assert lines[0]["owner"] == "user:1"
    assert {line["owner"] for line in lines if "owner" in line} == {"user:1"}
    assert [line["key"] for line in lines if line["kind"] == "document"] == ["memory/users/@user%3a1/likes"]
    assert {line["chatbot"] for line in lines if line["kind"] == "thread"} == {"default", "support"}


def test_the_export_of_a_chatbot_holds_nothing_of_others(stores: Stores) -> None:
    lines = [json.loads(line) for line in text_of(stores, chatbot="support").splitlines()]
    assert [line["id"] for line in lines if line["kind"] == "thread"] == ["other"]
    assert "document" not in kinds(text_of(stores, chatbot="support"))


def test_a_thread_that_changes_begins_again(stores: Stores, plugin: AblePlugin) -> None:
    entries = iter(Export(stores, 1.0, owner="user:10"))
    taken = [next(entries) for _ in range(3)]
    plugin.append_messages(STRANGER, THREAD, exchange("2"))
    text = b"".join(map(line_of, [*taken, *entries]))
    assert kinds(text).count("thread") == 2
    assert kinds(text).count("thread_end") == 1
    [thread] = [
        [message.text for message in piece]
        for piece in read_export(io.BytesIO(text))
        if isinstance(piece, ThreadInFile)
    ]
    assert thread == ["question 1", "answer 1", "question 2", "answer 2"]


def test_what_was_cut_off_is_refused_at_its_end(stores: Stores) -> None:
    text = text_of(stores)
    for end in [0, 1, *range(50, len(text), 97), len(text) - 1]:
        with pytest.raises(ImportRefused, match="cut off|no export"):
            list(read_export(io.BytesIO(text[:end])))


CHANGES: dict[str, tuple[bytes, bytes, str]] = {
    "no header": (b'"kind":"export"', b'"kind":"usage"', "line 1"),
    "another format": (b'"format":"flask-chat-memory"', b'"format":"other"', "no export"),
    "a newer version": (b'"version":1', b'"version":2', "version 2"),
    "a text that was changed": (b"answer 2b", b"answer 2c", "as it was exported"),
    "a role": (b'"role":"assistant"', b'"role":"nobody"', "no message"),
    "an id": (b'"id":"thread-1"', b'"id":""', "no id of a thread"),
    "an owner": (b'"owner":"user:1"', b'"owner":""', "owner"),
    "a mark": (b'"rating":1', b'"rating":5', "no line of an export"),
    "lines": (b'"visible":[[1,', b'"visible":[[3,', "no lines of a thread"),
    "a key of a document": (b'"key":"memory/users/@user%3a1/', b'"key":"config/', "none of its domain"),
    "an unknown kind": (b'"kind":"thread"', b'"kind":"threat"', "no line of an export"),
    "a sequence": (b'"sequence":2,', b'"sequence":1,', "do not ascend"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_is_no_export_is_refused(stores: Stores, change: str) -> None:
    old, new, match = CHANGES[change]
    text = text_of(stores, owner="user:1")
    assert old in text
    with pytest.raises(ImportRefused, match=match):
        list(read_export(io.BytesIO(text.replace(old, new))))


def test_names_that_are_not_known_yet_are_passed_over(stores: Stores) -> None:
    text = text_of(stores).replace(b'"kind":"export"', b'"kind":"export","colour":"red"')
    assert len(list(read_export(io.BytesIO(text)))) == 10
