"""Copies between stores: whole, repeatable, while the site goes on."""

from __future__ import annotations

import random
import tracemalloc
import typing as t

import pytest

from flask_chat_memory.errors import ConfigurationError
from flask_chat_memory.plugins.base import ChatMemoryPlugin
from flask_chat_memory.plugins.records import FORGOTTEN
from flask_chat_memory.plugins.records import Mark
from flask_chat_memory.plugins.records import Scope
from flask_chat_memory.storage.file import FileStorage
from flask_chat_memory.storage.in_memory import InMemoryStorage
from flask_chat_memory.testing.contracts.forks import Child
from flask_chat_memory.testing.contracts.forks import needs_fork
from flask_chat_memory.testing.contracts.forks import Say
from flask_chat_memory.testing.contracts.parts import AblePlugin
from flask_chat_memory.testing.contracts.parts import exchange
from flask_chat_memory.testing.contracts.parts import texts
from flask_chat_memory.testing.contracts.turns import end
from flask_chat_memory.testing.contracts.turns import start
from flask_chat_memory.transfer.copying import Copy
from flask_chat_memory.transfer.stores import DOMAINS
from flask_chat_memory.transfer.stores import Stores

from .five_methods import FiveMethodsPlugin
from .moved_stores import fill
from .moved_stores import Moving
from .moved_stores import SCOPES
from .moved_stores import state

RING = [
    "in_memory",
    "sqlite",
    "documents",
    "file",
    "redis",
    "postgresql",
    "encrypted",
    "mariadb",
    "flask_session_pool",
    "in_memory",
]
OWNER = SCOPES[0]
LONG = "of many things"


def copied(source: ChatMemoryPlugin, target: ChatMemoryPlugin, **choice: t.Any) -> Copy:
    copy = Copy(**choice)
    for _ in copy.plugins(source, target):
        pass
    return copy


@pytest.mark.parametrize(("source", "target"), list(zip(RING, RING[1:], strict=False)))
def test_both_stores_hold_the_same_and_a_second_pass_changes_nothing(moving: Moving, source: str, target: str) -> None:
    old, new = moving.store(source), moving.store(target)
    fill(old, moving.clock)
    first = copied(old, new)
    assert first.is_whole
    assert first.counts == {("threads", "written"): 6, ("messages", "written"): 27, ("usage", "written"): 6}
    assert state(new) == state(old)
    second = copied(old, new)
    assert second.counts == {("threads", "same"): 6, ("messages", "same"): 27, ("usage", "same"): 6}
    assert state(new) == state(old)


@pytest.fixture
def old(moving: Moving) -> AblePlugin:
    plugin = moving.store("in_memory")
    fill(plugin, moving.clock)
    return plugin


@pytest.fixture
def new(moving: Moving) -> AblePlugin:
    return moving.store("sqlite")


def test_a_second_pass_takes_what_has_changed(moving: Moving, old: AblePlugin, new: AblePlugin) -> None:
    copied(old, new)
    moving.clock.advance(1)
    old.append_messages(OWNER, "short", exchange("10"))
    old.append_messages(OWNER, "new", exchange("11"))
    old.update_thread(SCOPES[1], LONG, title="renamed", pinned=False)
    old.mark_message(SCOPES[2], LONG, "a-2", Mark(1))
    assert copied(old, new).counts["threads", "written"] == 4
    assert state(new) == state(old)


def test_a_running_turn_is_left_for_the_second_pass(moving: Moving, old: AblePlugin, new: AblePlugin) -> None:
    start(old, "12", OWNER, "short")
    first = copied(old, new)
    assert (first.counts["threads", "running"], first.is_whole, first.is_sound) == (1, False, True)
    assert not new.has_thread(OWNER, "short")
    end(old, "12", OWNER, "short")
    assert copied(old, new).is_whole
    assert state(new) == state(old)


def test_what_is_newer_in_the_target_stays(moving: Moving, old: AblePlugin, new: AblePlugin) -> None:
    copied(old, new)
    moving.clock.advance(1)
    new.append_messages(OWNER, "short", exchange("13"))
    start(new, "14", OWNER, LONG)
    again = copied(old, new)
    assert (again.counts["threads", "newer"], again.counts["threads", "running"]) == (1, 1)
    assert texts(new.load_messages(OWNER, "short"))[-1] == "answer 13"


def test_what_was_deleted_in_the_source_goes_if_that_is_wanted(old: AblePlugin, new: AblePlugin) -> None:
    copied(old, new)
    old.delete_thread(OWNER, "short")
    assert copied(old, new).counts["threads", "superfluous"] == 1
    assert new.has_thread(OWNER, "short")
    assert copied(old, new, delete=True, write=False).counts["threads", "superfluous"] == 1
    assert new.has_thread(OWNER, "short")
    assert copied(old, new, delete=True).counts["threads", "removed"] == 1
    assert state(new) == state(old)


def test_who_was_forgotten_in_the_source_is_not_named_in_the_target(old: AblePlugin, new: AblePlugin) -> None:
    scope, forgotten = SCOPES[0], Scope(FORGOTTEN, SCOPES[0].chatbot)
    list(Copy().plugins(old, new))
    old.forget_usage(scope)
    for copy, outcome in ((Copy(), "superfluous"), (Copy(delete=True), "removed")):
        list(copy.plugins(old, new))
        assert copy.counts["usage", outcome] == 1
    assert new.list_usage(scope) == []
    assert new.list_usage(forgotten) == old.list_usage(forgotten) != []


def test_a_trial_writes_nothing(old: AblePlugin, new: AblePlugin) -> None:
    assert copied(old, new, write=False).counts["threads", "written"] == 6
    assert state(new) == []


def test_one_chatbot_is_copied_alone(old: AblePlugin, new: AblePlugin) -> None:
    assert copied(old, new, chatbot="support").counts["threads", "written"] == 2
    assert {scope for scope, _ in new.all_threads()} == {SCOPES[1]}
    assert list(new.usage_scopes()) == [SCOPES[1]]


def test_expired_threads_stay_behind(moving: Moving, old: AblePlugin) -> None:
    strict = moving.store("sqlite", expiry=10)
    moving.clock.advance(60)
    assert copied(old, strict).counts["threads", "expired"] == 6
    assert list(strict.all_threads()) == []


def test_a_thread_that_changes_while_it_is_read_is_left(moving: Moving, new: AblePlugin) -> None:
    old = moving.store("file")
    old.append_messages(OWNER, "long", [message for n in range(150) for message in exchange(str(n))])
    load = old.load_messages

    def load_and_write(*args: t.Any, **options: t.Any) -> t.Any:
        found = load(*args, **options)
        moving.clock.advance(1)
        old.append_messages(OWNER, "long", exchange("late"))
        return found

    old.load_messages = load_and_write  # type: ignore[method-assign]
    copy = copied(old, new)
    assert copy.counts == {("threads", "changed"): 1}
    assert not copy.is_whole and copy.is_sound
    assert not new.has_thread(OWNER, "long")
    del old.load_messages
    assert copied(old, new).is_whole
    assert state(new) == state(old)


def test_what_only_looks_the_same_is_copied_again(old: AblePlugin, new: AblePlugin) -> None:
    copied(old, new)
    whole = new.find_whole(OWNER, "short")
    assert whole is not None
    others = [message.replace(content="other words") for message in new.load_messages(OWNER, "short")]
    new.restore_thread(OWNER, whole, others)
    assert new.find_whole(OWNER, "short") == old.find_whole(OWNER, "short")
    assert copied(old, new).counts["threads", "written"] == 1
    assert state(new) == state(old)


def test_a_store_that_does_not_keep_what_it_is_given_is_found_out(old: AblePlugin, new: AblePlugin) -> None:
    restore = new.restore_thread

    def forget(scope: Scope, whole: t.Any, messages: t.Any, *, instead_of: t.Any = None) -> bool:
        return restore(scope, whole, [message.replace(name="x") for message in messages], instead_of=instead_of)

    new.restore_thread = forget  # type: ignore[method-assign]
    copy = copied(old, new)
    assert copy.counts["threads", "different"] == 6
    assert not copy.is_sound


def test_a_plugin_of_five_methods_cannot_be_copied(old: AblePlugin) -> None:
    with pytest.raises(ConfigurationError, match="PurgesThreads, RestoresThreads"):
        copied(FiveMethodsPlugin(), old)
    with pytest.raises(ConfigurationError, match="PurgesThreads, RestoresThreads"):
        copied(old, FiveMethodsPlugin())


@needs_fork
@pytest.mark.parametrize("target", ["sqlite", "file", "redis"])
def test_a_copy_that_was_killed_is_ended_by_the_next(moving: Moving, target: str) -> None:
    old = moving.store("file" if target == "sqlite" else "sqlite")
    fill(old, moving.clock)
    old.append_messages(OWNER, "long", [message for n in range(400) for message in exchange(str(n))])
    new = moving.store(target)
    for _ in range(3):

        def copy(say: Say) -> None:
            for _ in Copy().plugins(old, new):
                say()

        child = Child(copy)
        child.wait_for_steps(random.randint(1, 6))
        child.kill()
        found = set(state(new))
        assert found <= set(state(old)), "a thread was left half copied"
    assert copied(old, new).is_whole
    assert state(new) == state(old)


def test_documents_are_copied(tmp_path: t.Any) -> None:
    old, new = InMemoryStorage(), FileStorage({"folder": str(tmp_path)})
    for n in range(3):
        old.save(f"memory/users/@user%3a{n}/likes", {"text": f"tea {n}", "updated_at": "2026-01-01T00:00:00Z"})
    old.save("conversations/@user%3a1/x/y", {"is": "a thread"})
    new.save("site/own", {"a": 1})
    new.save("memory/users/@user%3a0/likes", {"text": "coffee", "updated_at": "2026-02-01T00:00:00Z"})

    def pass_over(**choice: t.Any) -> dict[t.Any, int]:
        copy = Copy(**choice)
        list(copy.stores(Stores({}, dict.fromkeys(DOMAINS, old)), Stores({}, dict.fromkeys(DOMAINS, new))))
        return dict(copy.counts)

    assert pass_over() == {
        ("documents", "newer"): 1,
        ("documents", "written"): 2,
        ("documents", "superfluous"): 1,
    }
    assert pass_over(delete=True) == {("documents", "newer"): 1, ("documents", "same"): 2, ("documents", "removed"): 1}
    assert len(new.list()) == 3
    assert new.load("memory/users/@user%3a0/likes") == {"text": "coffee", "updated_at": "2026-02-01T00:00:00Z"}


def test_memory_does_not_grow_with_the_store(moving: Moving, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("flask_chat_memory.plugins.sql.threads.CHUNK", 20)
    old, new = moving.careless_store("old"), moving.careless_store("new")
    peaks = []
    for more in (100, 300):
        for n in range(more):
            old.append_messages(Scope(f"user:{n}-{more}"), "thread", exchange(str(n)))
        tracemalloc.start()
        copied(old, new)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < peaks[0] * 1.3
