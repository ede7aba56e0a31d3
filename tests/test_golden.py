"""Whatever a release has stored, all later ones read: golden copies of the stores, one folder for each release."""

from __future__ import annotations

import collections.abc as cabc
import contextlib
import json
import pathlib
import subprocess
import sys
import typing as t

import pytest
import redis

from flask_chat_memory.migrations.upgrading import upgrade
from flask_chat_memory.plugins.in_memory import InMemoryPlugin
from flask_chat_memory.plugins.records import Mark
from flask_chat_memory.storage.in_memory import InMemoryStorage
from flask_chat_memory.transfer.importing import Import
from flask_chat_memory.transfer.stores import DOMAINS
from flask_chat_memory.transfer.stores import Stores
from flask_chat_memory.transfer.thread_file import export_thread
from flask_chat_memory.transfer.thread_file import import_thread
from tests.golden import content
from tests.golden.stores import RedisStore
from tests.golden.stores import Store
from tests.golden.stores import STORES
from tests.redis_servers import remove_keys

FOLDER = pathlib.Path(content.__file__).parent
VERSIONS = sorted(path.name for path in FOLDER.iterdir() if path.name[0].isdigit())
# As it was when the last of the content was stored.
NOW = 1_800_000_120.0


@pytest.fixture(params=STORES)
def make_store(request: pytest.FixtureRequest, tmp_path: pathlib.Path) -> cabc.Iterator[t.Callable[[bool], Store]]:
    if request.param != "redis":
        yield lambda encrypted: STORES[request.param](tmp_path, encrypted)
        return
    url, prefix = request.getfixturevalue("redis_url"), request.getfixturevalue("key_prefix")
    yield lambda encrypted: RedisStore(tmp_path, encrypted, url, prefix)
    with redis.Redis.from_url(url) as client:
        remove_keys(client, prefix)


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(content.CLOCK, "now", NOW)


def expected(version: str) -> dict[str, t.Any]:
    return t.cast("dict[str, t.Any]", json.loads((FOLDER / version / "expected.json").read_text()))


@pytest.mark.scenario("S185")
@pytest.mark.parametrize("encrypted", [False, True], ids=["clear", "encrypted"])
@pytest.mark.parametrize("version", VERSIONS)
def test_all_that_a_release_has_stored_is_read_and_goes_on(
    version: str, encrypted: bool, make_store: t.Callable[[bool], Store]
) -> None:
    store = make_store(encrypted)
    [name] = [name for name, kind in STORES.items() if isinstance(store, kind)]
    store.unpack(FOLDER / version / f"{name}{'-encrypted' * encrypted}")
    with contextlib.closing(store.open()) as opened:
        for schema in (*opened.plugin.schemas(), *opened.storage.schemas()):
            upgrade(schema)
        told = expected(version)
        assert content.found_in(opened.plugin) == told["threads"]
        assert content.found_in_plain(opened.documents) == told["threads in documents"]
        assert content.found_in_documents(opened.storage) == told["documents"]
        plugin: t.Any = opened.plugin
        content.ask_and_answer(plugin, "thread-1", "next")
        assert plugin.mark_message(content.OWNER, "thread-1", "a-next", Mark(1))
        assert [message.id for message in plugin.load_messages(content.OWNER, "thread-1", limit=2)] == [
            "q-next",
            "a-next",
        ]
        assert plugin.end_turn(
            content.OWNER, "thread-2", "live", [content.answer("live")], key="answer:live", reply_to="q-live"
        )
        assert sum(day.turns for day in plugin.list_usage(content.OWNER)) == 5
        opened.documents.append_messages(content.OWNER, "thread-1", [content.question("next")])
        opened.storage.save("site/new", {"text": "new"})
        assert opened.storage.load("site/new") == {"text": "new"}


@pytest.mark.parametrize("version", VERSIONS)
def test_a_thread_file_is_read(version: str) -> None:
    plugin = InMemoryPlugin(content.OPTIONS, clock=content.CLOCK)
    document = (FOLDER / version / "thread.json").read_bytes()
    appended = import_thread(plugin, content.OWNER, document)
    told = expected(version)["threads"]
    messages = plugin.load_messages(content.OWNER, "thread-1")
    assert [message.to_dict() for message in messages] == [message for _, message in told["messages"][0]]
    assert content.plain(plugin.load_marks(content.OWNER, "thread-1")) == told["marks"][0]
    assert content.plain(plugin.find_lines(content.OWNER, "thread-1")) == told["lines"][0]
    assert appended.sequence == 1
    if version == VERSIONS[-1]:
        assert export_thread(plugin, content.OWNER, "thread-1") == document


@pytest.mark.parametrize("version", VERSIONS)
def test_an_export_is_read(version: str) -> None:
    plugin, storage = InMemoryPlugin(content.OPTIONS, clock=content.CLOCK), InMemoryStorage(clock=content.CLOCK)
    chatbots = (content.OWNER.chatbot, content.GUEST.chatbot)
    stores = Stores(dict.fromkeys(chatbots, plugin), dict.fromkeys(DOMAINS, storage))
    with open(FOLDER / version / "export.jsonl", "rb") as file:
        for _ in Import(stores).run(file):
            pass
    told = expected(version)
    assert content.found_in(plugin) == told["threads"]
    assert content.found_in_documents(storage) == told["documents"]


def test_what_is_there_is_not_made_again() -> None:
    before = {path: path.stat().st_mtime_ns for name in VERSIONS for path in (FOLDER / name).rglob("*")}
    made = subprocess.run([sys.executable, "-m", "tests.golden.make"], cwd=FOLDER.parents[1], capture_output=True)
    assert made.returncode == 1
    assert b"are there already" in made.stderr
    assert {path: path.stat().st_mtime_ns for path in before} == before


def test_the_copies_are_small() -> None:
    for version in VERSIONS:
        assert sum(path.stat().st_size for path in (FOLDER / version).rglob("*") if path.is_file()) < 300_000
