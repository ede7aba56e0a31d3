"""Lists, descriptions and purges of the plugin ``file``, where files are damaged or in the way."""

from __future__ import annotations

import json
import logging
import os
import pathlib
import shutil
import typing as t

import pytest

from flask_chat_memory import CorruptRecord
from flask_chat_memory import Scope
from flask_chat_memory.plugins.file import FilePlugin
from flask_chat_memory.plugins.file_ import blocks
from flask_chat_memory.plugins.file_.names import Names
from flask_chat_memory.plugins.file_.names import ThreadFiles
from flask_chat_memory.testing import ManualClock
from flask_chat_memory.testing.contracts.parts import exchange
from flask_chat_memory.testing.contracts.purging import purge

OWNER = Scope("user:1")


@pytest.fixture
def plugin(tmp_path: pathlib.Path) -> FilePlugin:
    plugin = FilePlugin({"folder": str(tmp_path), "threads": "many"}, clock=ManualClock())
    for name in "abc":
        plugin.append_messages(OWNER, name, exchange(name))
    return plugin


def files_of(folder: pathlib.Path, thread_id: str, scope: Scope = OWNER) -> ThreadFiles:
    return Names(str(folder)).thread(scope, thread_id)


def contents(folder: pathlib.Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def tear(files: ThreadFiles) -> None:
    pathlib.Path(files.body).write_bytes(b"{{\n")


def cut(files: ThreadFiles) -> None:
    head = pathlib.Path(files.head)
    head.write_bytes(head.read_bytes()[:-5])


def lose(files: ThreadFiles) -> None:
    os.unlink(files.head)


def give_away(files: ThreadFiles) -> None:
    change(files, owner="user:2")


def rename(files: ThreadFiles) -> None:
    change(files, thread_id="a")


def disown(files: ThreadFiles) -> None:
    change(files, owner="")


def forget_the_zone(files: ThreadFiles) -> None:
    change(files, created_at="2026-01-01T00:00:00")


def change(files: ThreadFiles, **changes: t.Any) -> None:
    head = pathlib.Path(files.head)
    head.write_text(json.dumps({**json.loads(head.read_text()), **changes}))


@pytest.mark.parametrize("damage", [tear, cut, lose, give_away, rename, disown, forget_the_zone])
def test_a_damaged_thread_is_reported_and_stays_and_hides_no_other(
    plugin: FilePlugin, tmp_path: pathlib.Path, damage: t.Any, caplog: pytest.LogCaptureFixture
) -> None:
    damage(files_of(tmp_path, "b"))
    before = contents(tmp_path)
    with caplog.at_level(logging.WARNING, "flask_chat_memory"):
        assert {thread.id for thread in plugin.list_threads(OWNER)} == {"a", "c"}
        assert {thread.id for _, thread in plugin.all_threads()} == {"a", "c"}
    assert [message for message in caplog.messages if "passed over" in message] == caplog.messages
    assert len(caplog.messages) == 2
    assert "question" not in caplog.text
    with pytest.raises(CorruptRecord):
        plugin.find_thread(OWNER, "b")
    assert contents(tmp_path) == before
    [purged] = plugin.purge_threads(plugin.clock() + 1)
    assert (len(purged.threads), purged.messages) == (2, 4)
    kept = contents(tmp_path)
    assert kept == {name: data for name, data in before.items() if name in kept}
    assert [name for name in before if name not in kept and "locks" not in name] != []
    assert os.path.exists(files_of(tmp_path, "b").body)


@pytest.mark.parametrize("damage", [tear, cut, lose])
def test_what_cannot_be_read_is_neither_purged_nor_described(
    plugin: FilePlugin, tmp_path: pathlib.Path, damage: t.Any
) -> None:
    damage(files_of(tmp_path, "b"))
    before = contents(tmp_path)
    with pytest.raises(CorruptRecord):
        plugin.purge_thread(OWNER, "b", plugin.clock() + 1)
    with pytest.raises(CorruptRecord):
        plugin.update_thread(OWNER, "b", title="x")
    assert contents(tmp_path) == before


def test_what_is_not_the_plugins_is_passed_over(plugin: FilePlugin, tmp_path: pathlib.Path) -> None:
    conversations = tmp_path / "conversations"
    [folder] = conversations.iterdir()
    shutil.copytree(folder, conversations / "backup")
    (conversations / ("0" * 32)).write_text("a file")
    (folder / "notes.jsonl").write_text("notes")
    before = contents(tmp_path)
    assert {thread.id for _, thread in plugin.all_threads()} == {"a", "b", "c"}
    assert len(purge(plugin, plugin.clock() + 1)) == 3
    left = contents(tmp_path)
    assert {name for name in left if "locks" not in name} == {
        name for name in before if "backup" in name or "notes" in name or name.endswith("0" * 32)
    }


def test_a_purge_takes_what_a_removal_left_that_was_cut_short(plugin: FilePlugin, tmp_path: pathlib.Path) -> None:
    """A removal takes the body first; the head has the title."""
    os.remove(files_of(tmp_path, "b").body)
    before = contents(tmp_path)
    assert purge(plugin, 1) == []
    left = contents(tmp_path)
    assert set(before) - set(left) == {os.path.relpath(files_of(tmp_path, "b").head, tmp_path)}
    assert {thread.id for _, thread in plugin.all_threads()} == {"a", "c"}
    assert plugin.current_thread(OWNER) == "a"
    for thread_id in ("a", "c"):
        os.remove(files_of(tmp_path, thread_id).body)
    assert purge(plugin, 1) == []
    assert not os.path.exists(files_of(tmp_path, "a").folder)
    os.mkdir(files_of(tmp_path, "a").folder)
    assert purge(plugin, 1) == []
    assert not os.path.exists(files_of(tmp_path, "a").folder)


def test_a_list_reads_no_more_than_the_end_of_each_thread(
    plugin: FilePlugin, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plugin.append_messages(OWNER, "a", [message for n in range(2000) for message in exchange(str(n))])
    read: list[int] = []
    pread = os.pread

    def counted(descriptor: int, length: int, offset: int) -> bytes:
        data = pread(descriptor, length, offset)
        read.append(len(data))
        return data

    monkeypatch.setattr(os, "pread", counted)
    assert [thread.messages for thread in plugin.list_threads(OWNER)] == [2, 2, 4002]
    assert sum(read) < 2 * blocks.BLOCK
    assert os.path.getsize(files_of(tmp_path, "a").body) > 4 * blocks.BLOCK


def test_a_description_is_readable_in_the_head(plugin: FilePlugin, tmp_path: pathlib.Path) -> None:
    plugin.update_thread(OWNER, "b", title="Größe", pinned=True)
    head = json.loads(pathlib.Path(files_of(tmp_path, "b").head).read_text())
    assert (head["title"], head["pinned"]) == ("Größe", True)
    assert head["created_at"].endswith("Z")
