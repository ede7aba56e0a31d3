"""Exports that are imported: whole, repeatable, never over what is newer."""

from __future__ import annotations

import collections.abc as cabc
import datetime as dt
import io
import pathlib
import random
import tracemalloc
import typing as t

import msgspec
import pytest

from flask_chat_memory.errors import ImportRefused
from flask_chat_memory.plugins.records import Scope
from flask_chat_memory.plugins.records import UsageDay
from flask_chat_memory.storage.in_memory import InMemoryStorage
from flask_chat_memory.testing.contracts.forks import Child
from flask_chat_memory.testing.contracts.forks import needs_fork
from flask_chat_memory.testing.contracts.forks import Say
from flask_chat_memory.testing.contracts.parts import AblePlugin
from flask_chat_memory.testing.contracts.parts import exchange
from flask_chat_memory.testing.contracts.parts import texts
from flask_chat_memory.testing.contracts.turns import start
from flask_chat_memory.transfer.exporting import Export
from flask_chat_memory.transfer.importing import Import
from flask_chat_memory.transfer.stores import Stores

from .moved_stores import fill
from .moved_stores import Moving
from .moved_stores import SCOPES
from .moved_stores import state

OWNER = SCOPES[0]


@pytest.fixture
def old(moving: Moving) -> AblePlugin:
    plugin = moving.store("in_memory")
    fill(plugin, moving.clock)
    return plugin


def stores_of(plugin: AblePlugin, storage: InMemoryStorage | None = None) -> Stores:
    plugins = {"default": plugin, "support": plugin}
    return Stores(plugins, {} if storage is None else {"user_memory": storage})


def exported(plugin: AblePlugin, **choice: t.Any) -> bytes:
    return b"".join(Export(stores_of(plugin), 0.0, **choice).lines())


def imported(text: bytes, plugin: AblePlugin, **choice: t.Any) -> Import:
    done = Import(stores_of(plugin), **choice)
    list(done.run(io.BytesIO(text)))
    return done


@pytest.mark.scenario("S200", "S201")
@pytest.mark.parametrize("kind", ["sqlite", "file", "redis", "encrypted"])
def test_what_was_exported_is_there_again(moving: Moving, old: AblePlugin, kind: str) -> None:
    new = moving.store(kind)
    first = imported(exported(old), new)
    assert first.counts == {("threads", "written"): 6, ("messages", "written"): 27, ("usage", "written"): 6}
    assert state(new) == state(old)
    again = imported(exported(old), new)
    assert {outcome for _, outcome in again.counts} == {"same"}
    assert state(new) == state(old)


def test_what_is_newer_here_stays(moving: Moving, old: AblePlugin) -> None:
    text, new = exported(old), moving.store("sqlite")
    imported(text, new)
    moving.clock.advance(1)
    new.append_messages(OWNER, "short", exchange("10"))
    start(new, "11", SCOPES[1], "short")
    before = state(new)
    again = imported(text, new)
    assert (again.counts["threads", "newer"], again.counts["threads", "running"]) == (1, 1)
    assert state(new) == before


def test_tokens_that_were_counted_since_stay(moving: Moving) -> None:
    plugin, then = moving.store("in_memory"), dt.date(2026, 1, 1)
    # Of a model that only called tools in turns which another one answered.
    day = UsageDay(
        chatbot="default", day=then, model="small", turns=0, input=5, output=1, cached=0, reasoning=0, total=6
    )
    plugin.restore_usage(OWNER, [day])
    text = exported(plugin)
    more = msgspec.structs.replace(day, input=50, total=51)
    plugin.restore_usage(OWNER, [more])
    assert imported(text, plugin).counts == {("usage", "newer"): 1}
    assert plugin.list_usage(OWNER) == [more]


def test_a_name_and_a_mark_of_today_stay(moving: Moving, old: AblePlugin) -> None:
    text, new = exported(old), moving.store("sqlite")
    imported(text, new)
    new.update_thread(OWNER, "short", title="A new name")
    before = state(new)
    assert imported(text, new).counts["threads", "newer"] == 1
    assert state(new) == before


def test_a_document_stays_unless_it_says_that_it_is_older(moving: Moving) -> None:
    key, timed = "memory/users/@user%3a1/likes", {"text": "tea", "updated_at": "2026-01-01T00:00:00Z"}
    then, now, plugin = InMemoryStorage(), InMemoryStorage(), moving.store("in_memory")

    def become(given: dict[str, t.Any], there: dict[str, t.Any]) -> str:
        then.save(key, given)
        now.save(key, there)
        text = b"".join(Export(stores_of(plugin, then), 0.0).lines())
        done = Import(stores_of(plugin, now))
        list(done.run(io.BytesIO(text)))
        ((_, outcome),) = done.counts
        return outcome

    assert become({"theme": "dark"}, {"theme": "light"}) == "newer"
    assert become({"text": "tea"}, timed) == "newer"
    assert become(timed, {"text": "coffee", "updated_at": "2026-02-01T00:00:00Z"}) == "newer"
    assert become(timed, {"text": "coffee", "updated_at": "2025-12-01T00:00:00Z"}) == "written"
    assert now.load(key) == timed


@pytest.mark.parametrize(
    "foreign",
    [
        b'{"kind":"usage","owner":"user:9","chatbot":"default","day":"2026-01-01",'
        b'"turns":1,"input":1,"output":1,"cached":0,"reasoning":0,"total":2}',
        b'{"kind":"document","domain":"user_memory","key":"memory/users/@user%3a9/likes","document":{"text":"tea"}}',
    ],
)
def test_an_export_of_one_owner_brings_nothing_of_another(moving: Moving, foreign: bytes) -> None:
    plugin, memories = moving.store("in_memory"), InMemoryStorage()
    text = exported(plugin, owner="user:1").replace(b'{"kind":"end"', foreign + b'\n{"kind":"end"')
    with pytest.raises(ImportRefused, match="another owner"):
        list(Import(stores_of(plugin, memories)).run(io.BytesIO(text)))
    assert (plugin.list_usage(Scope("user:9")), memories.list()) == ([], [])


def test_a_trial_writes_nothing(moving: Moving, old: AblePlugin) -> None:
    new = moving.store("sqlite")
    assert imported(exported(old), new, write=False).counts["threads", "written"] == 6
    assert state(new) == []


def test_the_current_conversation_of_a_new_owner_stays_so(moving: Moving) -> None:
    old, new = moving.store("in_memory", threads="one"), moving.store("sqlite", threads="one")
    old.append_messages(OWNER, "theirs", exchange("1"))
    text = exported(old, owner="user:1")
    imported(text, new, owner="user:7")
    assert new.current_thread(Scope("user:7")) == "theirs"
    new.append_messages(Scope("user:8"), "own", exchange("2"))
    imported(text, new, owner="user:8")
    assert new.current_thread(Scope("user:8")) == "own"
    assert texts(new.load_messages(Scope("user:8"), "theirs")) == ["question 1", "answer 1"]


@pytest.mark.scenario("S202")
def test_all_of_an_owner_becomes_anothers(moving: Moving, old: AblePlugin) -> None:
    memories, new, theirs = InMemoryStorage(), moving.store("sqlite"), InMemoryStorage()
    memories.save("memory/users/@user%3a1/likes", {"text": "tea"})
    text = b"".join(Export(stores_of(old, memories), 0.0, owner="user:1").lines())
    done = Import(stores_of(new, theirs), owner="user:é/7")
    list(done.run(io.BytesIO(text)))
    assert done.counts["threads", "written"] == 2
    assert {scope.owner for scope, _ in new.all_threads()} == {"user:é/7"}
    assert [day.total for day in new.list_usage(Scope("user:é/7"))] == [day.total for day in old.list_usage(OWNER)]
    assert theirs.list() == ["memory/users/@user%3a%c3%a9%2f7/likes"]


@pytest.mark.parametrize("owner", [None, "user:7"])
def test_what_is_of_several_owners_becomes_nobody_elses(moving: Moving, old: AblePlugin, owner: str | None) -> None:
    text, new = exported(old, owner=owner), moving.store("sqlite")
    mixed = text.replace(
        b'"kind":"end"',
        b'"kind":"usage","owner":"user:9","chatbot":"default","day":"2026-01-01",'
        b'"model":null,"turns":1,"input":1,"output":1,"cached":0,"reasoning":0,"total":2}\n{"kind":"end"',
    )
    with pytest.raises(ImportRefused, match="owner"):
        imported(mixed, new, owner="user:8")


@needs_fork
@pytest.mark.parametrize("kind", ["sqlite", "file", "redis"])
def test_an_import_that_was_killed_is_ended_by_the_next(
    moving: Moving, old: AblePlugin, kind: str, tmp_path: pathlib.Path
) -> None:
    old.append_messages(OWNER, "long", [message for n in range(400) for message in exchange(str(n))])
    path, new = tmp_path / "all.jsonl", moving.store(kind)
    path.write_bytes(exported(old))

    def run(say: Say = lambda: None) -> cabc.Iterator[object]:
        with open(path, "rb") as file:
            for piece in Import(stores_of(new)).run(file):
                say()
                yield piece

    for _ in range(2):
        child = Child(lambda say: list(run(say)))
        child.wait_for_steps(random.randint(1, 8))
        child.kill()
        assert set(state(new)) <= set(state(old)), "a thread was left half imported"
    list(run())
    assert state(new) == state(old)


def test_memory_does_not_grow_with_what_is_exported_and_imported(moving: Moving, tmp_path: pathlib.Path) -> None:
    old, new, path = moving.careless_store("old"), moving.careless_store("new"), tmp_path / "all.jsonl"
    peaks = []
    for more in (300, 1200):
        old.append_messages(OWNER, "long", [message for n in range(more) for message in exchange(str(n))])
        tracemalloc.start()
        with open(path, "wb") as written:
            for line in Export(stores_of(old), 0.0, owner="user:1").lines():
                written.write(line)
        with open(path, "rb") as read:
            for _ in Import(stores_of(new)).run(read):
                pass
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < peaks[0] * 1.3
    assert state(new) == state(old)
