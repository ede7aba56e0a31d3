"""Encrypting anew after a rotation of the keys."""

from __future__ import annotations

import collections.abc as cabc
import json
import pathlib
import random
import typing as t

import pytest

from flask_chat_memory import ChatMemory
from flask_chat_memory.errors import DecryptionFailed
from flask_chat_memory.plugins.encrypted import EncryptedPlugin
from flask_chat_memory.plugins.records import Scope
from flask_chat_memory.storage.encrypted import EncryptedStorage
from flask_chat_memory.storage.in_memory import InMemoryStorage
from flask_chat_memory.testing.clock import ManualClock
from flask_chat_memory.testing.contracts.forks import Child
from flask_chat_memory.testing.contracts.forks import needs_fork
from flask_chat_memory.testing.contracts.forks import Say
from flask_chat_memory.testing.contracts.parts import AblePlugin
from flask_chat_memory.testing.contracts.parts import exchange
from flask_chat_memory.testing.contracts.parts import texts
from flask_chat_memory.testing.contracts.turns import end
from flask_chat_memory.testing.contracts.turns import start
from flask_chat_memory.transfer.rewrapping import Rewrap

from .apps import make_app
from .encryption import encrypted
from .encryption import NEW
from .encryption import OLD
from .moved_stores import fill
from .moved_stores import SCOPES
from .moved_stores import state
from .test_cli_manners import run

OWNER = SCOPES[0]
Open = cabc.Callable[..., AblePlugin]


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture(params=["sqlalchemy", "file", "redis"])
def open_with(
    request: pytest.FixtureRequest, tmp_path: pathlib.Path, clock: ManualClock, redis_url: str, key_prefix: str
) -> cabc.Iterator[Open]:
    """Open one store with keys."""
    where: dict[str, t.Any] = {
        "sqlalchemy": {"url": f"sqlite:///{tmp_path}/chat.sqlite3"},
        "file": {"folder": f"{tmp_path}/files"},
        "redis": {"url": redis_url, "key_prefix": key_prefix},
    }[request.param]
    opened: list[EncryptedPlugin] = []

    def make(*keys: str) -> AblePlugin:
        opened.append(encrypted(request.param, where, keys=keys, threads="many"))
        opened[-1].clock = clock
        return t.cast(AblePlugin, opened[-1])

    yield make
    for scope, thread in opened[0].wrapped.all_threads():  # type: ignore[attr-defined]
        opened[0].delete_thread(scope, thread.id)
    for plugin in opened:
        plugin.close()


def rewrapped(plugin: AblePlugin, **choice: t.Any) -> Rewrap:
    rewrap = Rewrap(**choice)
    list(rewrap.plugin(t.cast(EncryptedPlugin, plugin)))
    return rewrap


def test_afterwards_the_old_key_is_not_needed(open_with: Open, clock: ManualClock) -> None:
    fill(open_with(OLD), clock)
    before, rotated = state(open_with(OLD)), open_with(NEW, OLD)
    assert rewrapped(rotated, write=False).counts == {("threads", "written"): 6}
    with pytest.raises(DecryptionFailed):
        open_with(NEW).load_messages(OWNER, "short")
    assert rewrapped(rotated).counts == {("threads", "written"): 6}
    assert state(open_with(NEW)) == before
    assert rewrapped(rotated).counts == {("threads", "same"): 6}
    assert rewrapped(open_with(NEW)).left == 0


def test_what_an_older_key_has_sealed_of_a_thread_is_enough(open_with: Open, clock: ManualClock) -> None:
    old, rotated = open_with(OLD), open_with(NEW, OLD)
    rotated.append_messages(OWNER, "title", exchange("1"))
    rotated.append_messages(OWNER, "none", exchange("1"))
    old.update_thread(OWNER, "title", title="of old")
    assert rewrapped(rotated).counts == {("threads", "written"): 1, ("threads", "same"): 1}
    found = open_with(NEW).find_thread(OWNER, "title")
    assert found is not None and found.title == "of old"


def test_a_running_turn_is_left_for_another_pass(open_with: Open, clock: ManualClock) -> None:
    old = open_with(OLD)
    start(old, "1", OWNER, "live")
    rotated = open_with(NEW, OLD)
    first = rewrapped(rotated)
    assert (first.counts, first.left) == ({("threads", "running"): 1}, 1)
    end(rotated, "1", OWNER, "live")
    assert rewrapped(rotated).left == 0
    assert texts(open_with(NEW).load_messages(OWNER, "live")) == ["question 1", "answer 1"]


def test_what_is_written_meanwhile_is_kept(open_with: Open, clock: ManualClock) -> None:
    open_with(OLD).append_messages(OWNER, "busy", exchange("1"))
    rotated, site = open_with(NEW, OLD), open_with(NEW, OLD)
    wrapped = t.cast(AblePlugin, t.cast(EncryptedPlugin, rotated).wrapped)
    restore, writes = wrapped.restore_thread, iter("23")

    def write_and_restore(*args: t.Any, **options: t.Any) -> bool:
        for name in writes:
            clock.advance(1)
            site.append_messages(OWNER, "busy", exchange(name))
            break
        return restore(*args, **options)

    wrapped.restore_thread = write_and_restore  # type: ignore[method-assign]
    assert rewrapped(rotated).counts == {("threads", "written"): 1}
    assert len(texts(open_with(NEW).load_messages(OWNER, "busy"))) == 6


def test_a_lost_key_is_told(open_with: Open, clock: ManualClock) -> None:
    open_with(OLD).append_messages(OWNER, "lost", exchange("1"))
    done = rewrapped(open_with(NEW))
    assert (done.counts, done.left) == ({("threads", "unreadable"): 1}, 1)
    assert texts(open_with(OLD).load_messages(OWNER, "lost")) == ["question 1", "answer 1"]


@needs_fork
def test_a_rewrap_that_was_killed_is_ended_by_the_next(open_with: Open, clock: ManualClock) -> None:
    fill(open_with(OLD), clock)
    before, rotated = state(open_with(OLD)), open_with(NEW, OLD)
    for _ in range(2):

        def rewrap(say: Say) -> None:
            for _ in Rewrap().plugin(t.cast(EncryptedPlugin, rotated)):
                say()

        child = Child(rewrap)
        child.wait_for_steps(random.randint(1, 5))
        child.kill()
        assert state(rotated) == before
    assert rewrapped(rotated).left == 0
    assert state(open_with(NEW)) == before


def test_documents_are_rewrapped() -> None:
    inner = InMemoryStorage()

    def storage(*keys: str) -> EncryptedStorage:
        return EncryptedStorage({"storage": inner, "keys": list(keys)})

    storage(OLD).save("site/a", {"text": "of old"})
    storage(NEW).save("site/b", {"text": "of new"})
    inner.save("site/c", {"text": "not encrypted"})
    rotated = storage(NEW, OLD)
    expected = {("documents", "written"): 1, ("documents", "same"): 1, ("documents", "unreadable"): 1}
    for write in (False, True):
        rewrap = Rewrap(write=write)
        list(rewrap.storage(rotated))
        assert rewrap.counts == expected
    assert storage(NEW).load("site/a") == {"text": "of old"}
    assert storage(NEW).exchange("site/a", {"text": "of old"}, {"text": "other"})
    assert not storage(NEW).exchange("site/a", {"text": "of old"}, {"text": "another"})
    assert storage(NEW).load("site/a") == {"text": "other"}


def test_only_what_is_encrypted_is_rewrapped() -> None:
    rewrap = Rewrap()
    list(rewrap.storage(InMemoryStorage()))
    assert rewrap.counts == {}


def site(folder: pathlib.Path, *keys: str) -> dict[str, t.Any]:
    return {
        "CHAT_MEMORY_PLUGIN": "encrypted",
        "CHAT_MEMORY_OPTIONS": {"plugin": "file", "options": {"folder": f"{folder}/files"}, "keys": list(keys)},
    }


def test_the_command(tmp_path: pathlib.Path) -> None:
    app = make_app(tmp_path, **site(tmp_path, OLD))
    memory = ChatMemory(app)
    with app.app_context():
        assert memory.plugin is not None
        memory.plugin.append_messages(Scope("user:1"), "thread", exchange("1"))
        memory.storage("user_memory").of_owner("user:1").save("likes", {"text": "tea"})
    rotated = site(tmp_path, NEW, OLD)
    for more in (["--dry-run"], []):
        result = run(tmp_path, "rewrap", "--json", *more, **rotated)
        assert result.exit_code == 0, result.stderr
        assert json.loads(result.stdout) == {"threads": {"written": 1}, "documents": {"written": 1}, "left": 0}
    after = run(tmp_path, "rewrap", "--json", **site(tmp_path, NEW))
    assert json.loads(after.stdout) == {"threads": {"same": 1}, "documents": {"same": 1}, "left": 0}
    lost = run(tmp_path, "rewrap", **site(tmp_path, OLD))
    assert lost.exit_code == 1
    assert "threads    unreadable  1" in lost.stdout
    assert "run the command again" in lost.stderr
    plain = run(tmp_path, "rewrap")
    assert (plain.exit_code, "Nothing of this site is encrypted" in plain.stderr) == (1, True)
