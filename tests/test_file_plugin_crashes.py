"""A process that is killed, or a disk that is full, at any point of a write leaves what was there or what was meant."""

from __future__ import annotations

import collections.abc as cabc
import errno
import os
import pathlib
import resource
import shutil
import signal
import typing as t

import pytest

from flask_chat_memory import ChatMessage
from flask_chat_memory import StorageError
from flask_chat_memory.plugins.file import FilePlugin
from flask_chat_memory.plugins.file_.body import KEYS_KEPT
from flask_chat_memory.plugins.records import Appended
from flask_chat_memory.plugins.records import LiveTurn
from flask_chat_memory.plugins.records import Scope
from flask_chat_memory.testing.contracts.forks import Child
from flask_chat_memory.testing.contracts.forks import Say
from flask_chat_memory.testing.contracts.parts import answer
from flask_chat_memory.testing.contracts.parts import ask
from flask_chat_memory.testing.contracts.parts import exchange
from flask_chat_memory.testing.contracts.parts import OWNER
from flask_chat_memory.testing.contracts.parts import texts
from flask_chat_memory.testing.contracts.parts import THREAD

OTHER = Scope("user:2")
LIVE = LiveTurn("live", "q-live", "a-live", 5e9)
WRITING = ("ftruncate", "fsync", "mkdir", "open", "rename", "replace", "rmdir", "unlink", "pwrite")
"""The functions of the system by which something on the disk changes, or may."""

Change = cabc.Callable[[FilePlugin], object]


def make(folder: pathlib.Path, **options: t.Any) -> FilePlugin:
    return FilePlugin({"folder": str(folder), **options})


def fill(plugin: FilePlugin) -> None:
    plugin.append_messages(OWNER, THREAD, exchange("1"), key="question:1")
    plugin.start_turn(OWNER, THREAD, ask("live"), key="question:live", live=LIVE)


def describe(plugin: FilePlugin) -> None:
    fill(plugin)
    plugin.update_thread(OWNER, THREAD, title="old")


def fill_to_the_brim(plugin: FilePlugin) -> None:
    for number in range(KEYS_KEPT // 2 + 1):
        plugin.append_messages(OWNER, THREAD, exchange(str(number)))


CHANGES: dict[str, tuple[dict[str, t.Any], Change, Change]] = {
    "first append": ({}, lambda plugin: None, lambda plugin: plugin.append_messages(OWNER, THREAD, exchange("1"))),
    "append": ({}, fill, lambda plugin: plugin.append_messages(OWNER, THREAD, exchange("2"), key="k")),
    "append that takes back space": (
        {"max_messages": 4},
        fill_to_the_brim,
        lambda plugin: plugin.append_messages(OWNER, THREAD, exchange("new"), key="k"),
    ),
    "first save": ({}, fill, lambda plugin: plugin.save_messages(OWNER, "thread-2", exchange("2"))),
    "save": ({}, fill, lambda plugin: plugin.save_messages(OWNER, THREAD, exchange("2"))),
    "clear": ({}, fill, lambda plugin: plugin.clear_messages(OWNER, THREAD)),
    "delete": ({}, fill, lambda plugin: plugin.delete_thread(OWNER, THREAD)),
    "describe": ({}, describe, lambda plugin: plugin.update_thread(OWNER, THREAD, title="new", pinned=True)),
    "save what is described": ({}, describe, lambda plugin: plugin.save_messages(OWNER, THREAD, exchange("2"))),
    "purge": (
        {},
        lambda plugin: plugin.append_messages(OWNER, THREAD, exchange("1"), key="k"),
        lambda plugin: plugin.purge_thread(OWNER, THREAD, 5e9),
    ),
    "start": ({}, fill, lambda plugin: plugin.start_turn(OWNER, THREAD, ask("2"), key="k", live=LIVE)),
    "end": (
        {},
        fill,
        lambda plugin: plugin.end_turn(OWNER, THREAD, "live", [answer("live")], key="k", reply_to="q-live"),
    ),
    "move": (
        {},
        lambda plugin: plugin.append_messages(OWNER, THREAD, exchange("1"), key="k"),
        lambda plugin: plugin.move_threads(OWNER, OTHER),
    ),
}


def seen(folder: pathlib.Path, options: dict[str, t.Any]) -> dict[str, t.Any]:
    plugin = make(folder, **options)
    found: dict[str, t.Any] = {}
    for scope in (OWNER, OTHER):
        found[f"{scope.owner} current"] = plugin.current_thread(scope)
        for thread_id in (THREAD, "thread-2"):
            if plugin.has_thread(scope, thread_id):
                messages = [(message.sequence, message.text) for message in plugin.load_messages(scope, thread_id)]
                live = [turn.turn for turn in plugin.live_turns(scope, thread_id)]
                told = plugin.find_thread(scope, thread_id)
                described = None if told is None else (told.title, told.pinned, told.messages)
                found[f"{scope.owner} {thread_id}"] = (messages, live, described)
    return found


def die_before_write(number: int) -> None:
    """Kill the process instead of letting it write for the ``number``-th time."""
    left = number

    def wrap(function: cabc.Callable[..., t.Any]) -> cabc.Callable[..., t.Any]:
        def call(*arguments: t.Any, **more: t.Any) -> t.Any:
            nonlocal left
            left -= 1
            if left == 0:
                if function is original["pwrite"]:
                    function(arguments[0], arguments[1][: len(arguments[1]) // 2], arguments[2])
                os.kill(os.getpid(), signal.SIGKILL)
            return function(*arguments, **more)

        return call

    original = {name: getattr(os, name) for name in WRITING}
    for name, function in original.items():
        setattr(os, name, wrap(function))


@pytest.mark.parametrize("change", CHANGES)
def test_a_kill_at_any_write_leaves_the_old_or_the_new(tmp_path: pathlib.Path, change: str) -> None:
    options, prepare, make_change = CHANGES[change]
    start, end = tmp_path / "start", tmp_path / "end"
    prepare(make(start, **options))
    start.mkdir(exist_ok=True)
    shutil.copytree(start, end)
    make_change(make(end, **options))
    before, after = seen(start, options), seen(end, options)
    outcomes = []
    for number in range(1, 100):
        folder = tmp_path / str(number)
        shutil.copytree(start, folder)

        def work(_say: Say, number: int = number, folder: pathlib.Path = folder) -> None:
            plugin = make(folder, **options)
            die_before_write(number)
            make_change(plugin)

        died = Child(work).wait() == -signal.SIGKILL
        outcome = seen(folder, options)
        outcomes.append(outcome)
        assert outcome in (before, after)
        plugin = make(folder, **options)
        make_change(plugin)
        if change in ("move", "delete", "clear", "describe", "purge"):
            assert seen(folder, options) == after
        if change == "end":
            assert [line.turns for line in plugin.list_usage(OWNER)] == [1]
        appended = plugin.append_messages(Scope("user:3"), THREAD, [ask("next")])
        assert appended == Appended(THREAD, 1)
        if not died:
            break
    assert outcomes[0] == before
    assert outcomes[-1] == after
    assert len(outcomes) > 3


@pytest.mark.parametrize("change", sorted(CHANGES.keys() - {"delete", "purge"}))
def test_a_full_disk_leaves_what_was_there(tmp_path: pathlib.Path, change: str) -> None:
    options, prepare, make_change = CHANGES[change]
    plugin = make(tmp_path / "chat", **options)
    prepare(plugin)
    before = seen(tmp_path / "chat", options)

    def work(_say: Say) -> None:
        # What there is may be as long as it is; the next byte is one too many.
        sizes = [path.stat().st_size for path in (tmp_path / "chat").rglob("*.jsonl")]
        limit = max(sizes, default=0) + 20 if change in ("append", "start", "end") else 20
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        for _ in range(2):
            with pytest.raises(StorageError, match=r"\(EFBIG\)") as caught:
                make_change(make(tmp_path / "chat", **options))
            assert isinstance(caught.value.__cause__, OSError)

    assert Child(work).wait() == 0
    assert seen(tmp_path / "chat", options) == before
    assert not list(tmp_path.rglob("*.tmp"))
    make_change(plugin)
    assert seen(tmp_path / "chat", options) != before


def test_after_a_full_disk_a_shorter_batch_still_fits(tmp_path: pathlib.Path) -> None:
    plugin = make(tmp_path)
    plugin.append_messages(OWNER, THREAD, exchange("1"))
    [body] = tmp_path.rglob("*.jsonl")
    before = body.read_bytes()

    def work(_say: Say) -> None:
        limit = body.stat().st_size + 1000
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        with pytest.raises(StorageError):
            plugin.append_messages(OWNER, THREAD, [ChatMessage("user", "€" * 1000)])
        assert body.read_bytes() == before
        assert plugin.append_messages(OWNER, THREAD, [ask("2")]) == Appended(THREAD, 3)

    assert Child(work).wait() == 0
    assert texts(plugin.load_messages(OWNER, THREAD)) == ["question 1", "answer 1", "question 2"]


def test_a_batch_that_may_not_be_on_the_disk_is_not_there(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plugin = make(tmp_path)
    plugin.append_messages(OWNER, THREAD, exchange("1"))

    def fail(_descriptor: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fail)
        with pytest.raises(StorageError, match="EIO"):
            plugin.append_messages(OWNER, THREAD, [ask("2")])
    assert plugin.load_messages(OWNER, THREAD) == exchange("1")
    assert plugin.append_messages(OWNER, THREAD, [ask("3")]) == Appended(THREAD, 3)
