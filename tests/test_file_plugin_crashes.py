"""A process that is killed, or a disk that is full, at any point of a write leaves what was there or what was meant."""

from __future__ import annotations

import collections.abc as cabc
import errno
import json
import os
import pathlib
import resource
import shutil
import signal
import typing as t

import pytest
from msgspec.structs import replace

from flask_chat_memory import ChatMessage
from flask_chat_memory import StorageError
from flask_chat_memory.plugins.file import FilePlugin
from flask_chat_memory.plugins.file_.batches import NOTES_KEPT
from flask_chat_memory.plugins.file_.body import KEYS_KEPT
from flask_chat_memory.plugins.file_.usage import LINES_KEPT
from flask_chat_memory.plugins.records import Appended
from flask_chat_memory.plugins.records import LiveTurn
from flask_chat_memory.plugins.records import Mark
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


def edit(plugin: FilePlugin) -> None:
    live = LiveTurn("2", "q-2", "a-2", 5e9)
    plugin.start_turn(OWNER, THREAD, ask("2"), key="question:2", live=live, title="second", replaces=1)


def fill_and_edit(plugin: FilePlugin) -> None:
    fill(plugin)
    plugin.mark_message(OWNER, THREAD, "a-1", Mark(1))
    edit(plugin)


def edit_and_leave(plugin: FilePlugin) -> None:
    plugin.append_messages(OWNER, THREAD, exchange("1"))
    plugin.start_turn(OWNER, THREAD, ask("2"), key="k", live=replace(LIVE, lease=0.0), replaces=1)
    plugin.mark_message(OWNER, THREAD, "q-2", Mark(-1, "no"))


def edit_for_another(plugin: FilePlugin) -> None:
    edit_and_leave(plugin)
    plugin.append_messages(OTHER, "thread-2", exchange("other"))


def mark_until_it_is_worth_rewriting(plugin: FilePlugin) -> None:
    fill_and_edit(plugin)
    [body] = pathlib.Path(plugin.options.folder or "").glob("conversations/*/*.jsonl")
    number = 0
    while json.loads(body.read_bytes().splitlines()[-1])["state"]["noted"] <= NOTES_KEPT:
        number += 1
        plugin.mark_message(OWNER, THREAD, "q-1", Mark(-1, str(number) * 500))


def fill_and_spend(plugin: FilePlugin) -> None:
    fill(plugin)
    for number in range(LINES_KEPT):
        plugin.append_messages(OWNER, "gone", [answer("gone")], key=str(number), reply_to="q-gone")


def show_first(plugin: FilePlugin) -> bool:
    return plugin.change_lines(OWNER, THREAD, lambda lines, last: lines.shown(1, last))


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
    "end that adds up the ledger": (
        {},
        fill_and_spend,
        lambda plugin: plugin.end_turn(OWNER, THREAD, "live", [answer("live")], key="k", reply_to="q-live"),
    ),
    "end": (
        {},
        fill,
        lambda plugin: plugin.end_turn(OWNER, THREAD, "live", [answer("live")], key="k", reply_to="q-live"),
    ),
    "first question": (
        {},
        lambda plugin: None,
        lambda plugin: plugin.start_turn(OWNER, THREAD, ask("1"), key="k", live=LIVE, title="first"),
    ),
    "edit": ({}, fill, edit),
    "end what is hidden": (
        {},
        fill_and_edit,
        lambda plugin: plugin.end_turn(OWNER, THREAD, "live", [answer("live")], key="k", reply_to="q-live"),
    ),
    "show": ({}, fill_and_edit, show_first),
    "mark": ({}, fill_and_edit, lambda plugin: plugin.mark_message(OWNER, THREAD, "q-2", Mark(-1, "no"))),
    "mark that takes back space": (
        {},
        mark_until_it_is_worth_rewriting,
        lambda plugin: plugin.mark_message(OWNER, THREAD, "q-1", Mark(1)),
    ),
    "save what is marked": (
        {},
        fill_and_edit,
        lambda plugin: plugin.save_messages(OWNER, THREAD, [ask("new"), *exchange("1")]),
    ),
    "clear what is marked": ({}, fill_and_edit, lambda plugin: plugin.clear_messages(OWNER, THREAD)),
    "move lines": ({}, edit_and_leave, lambda plugin: plugin.move_threads(OWNER, OTHER)),
    "join": ({}, edit_for_another, lambda plugin: plugin.move_threads(OWNER, OTHER)),
    "move": (
        {},
        lambda plugin: plugin.append_messages(OWNER, THREAD, exchange("1"), key="k"),
        lambda plugin: plugin.move_threads(OWNER, OTHER),
    ),
}


REPEATABLE = {
    "clear",
    "clear what is marked",
    "delete",
    "describe",
    "edit",
    "end what is hidden",
    "join",
    "mark",
    "mark that takes back space",
    "move",
    "move lines",
    "purge",
    "show",
}
APPENDING = {"append", "start", "end", "edit", "end what is hidden", "show", "mark"}


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
                lines, marks = plugin.find_lines(scope, thread_id), plugin.load_marks(scope, thread_id)
                found[f"{scope.owner} {thread_id}"] = (messages, live, described, lines, marks)
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


@pytest.mark.scenario("S072", "S175")
@pytest.mark.parametrize("change", CHANGES)
def test_a_kill_at_any_write_leaves_the_old_or_the_new(tmp_path: pathlib.Path, change: str) -> None:
    options, prepare, make_change = CHANGES[change]
    start, end = tmp_path / "start", tmp_path / "end"
    prepare(make(start, **options))
    start.mkdir(exist_ok=True)
    shutil.copytree(start, end)
    make_change(make(end, **options))
    before, after = seen(start, options), seen(end, options)
    spent = sum(line.turns for line in make(start, **options).list_usage(OWNER))
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
        # What is copied to another thread and what is removed here are two steps, of which the first may be repeated.
        assert outcome in (before, after) or change == "join"
        plugin = make(folder, **options)
        make_change(plugin)
        if change in REPEATABLE:
            assert seen(folder, options) == after
        if "end" in change.split():
            assert [line.turns for line in plugin.list_usage(OWNER)] == [spent + 1]
        appended = plugin.append_messages(Scope("user:3"), THREAD, [ask("next")])
        assert appended == Appended(THREAD, 1)
        if not died:
            break
    assert outcomes[0] == before
    assert outcomes[-1] == after
    assert len(outcomes) > 3


@pytest.mark.scenario("S060", "S074")
@pytest.mark.parametrize("change", sorted(CHANGES.keys() - {"delete", "purge"}))
def test_a_full_disk_leaves_what_was_there(tmp_path: pathlib.Path, change: str) -> None:
    options, prepare, make_change = CHANGES[change]
    plugin = make(tmp_path / "chat", **options)
    prepare(plugin)
    before = seen(tmp_path / "chat", options)

    def work(_say: Say) -> None:
        # What there is may be as long as it is; the next byte is one too many.
        sizes = [path.stat().st_size for path in (tmp_path / "chat").glob("conversations/*/*.jsonl")]
        limit = max(sizes, default=0) + 20 if change in APPENDING else 20
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
    [body] = tmp_path.glob("conversations/*/*.jsonl")
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
