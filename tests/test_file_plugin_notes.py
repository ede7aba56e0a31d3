"""What the plugin ``file`` tells of messages besides them: where it stands, torn, corrupt, outdated."""

from __future__ import annotations

import json
import pathlib
import typing as t

import pytest

from flask_chat_memory import CorruptRecord
from flask_chat_memory.plugins.file import FilePlugin
from flask_chat_memory.plugins.file_.batches import NOTES_KEPT
from flask_chat_memory.plugins.lines import Lines
from flask_chat_memory.plugins.records import Appended
from flask_chat_memory.plugins.records import LiveTurn
from flask_chat_memory.plugins.records import Mark
from flask_chat_memory.testing.contracts.parts import answer
from flask_chat_memory.testing.contracts.parts import ask
from flask_chat_memory.testing.contracts.parts import exchange
from flask_chat_memory.testing.contracts.parts import OWNER
from flask_chat_memory.testing.contracts.parts import texts
from flask_chat_memory.testing.contracts.parts import THREAD

ONE, TWO = ["question 1", "answer 1"], ["question 2", "answer 2"]


def make(folder: pathlib.Path, **options: t.Any) -> FilePlugin:
    return FilePlugin({"folder": str(folder), **options})


@pytest.fixture
def plugin(tmp_path: pathlib.Path) -> FilePlugin:
    plugin = make(tmp_path)
    plugin.append_messages(OWNER, THREAD, exchange("1"))
    return plugin


@pytest.fixture
def body(plugin: FilePlugin, tmp_path: pathlib.Path) -> pathlib.Path:
    [body] = tmp_path.glob("conversations/*/*.jsonl")
    return body


def edit(plugin: FilePlugin, name: str, sequence: int) -> Appended:
    live = LiveTurn(name, f"q-{name}", f"a-{name}", 0.0)
    return plugin.start_turn(OWNER, THREAD, ask(name), key=f"question:{name}", live=live, replaces=sequence)


def seen(plugin: FilePlugin) -> list[str]:
    return texts(plugin.load_messages(OWNER, THREAD))


def test_a_torn_edit_is_ignored_and_cut_off_wherever_it_was_torn(plugin: FilePlugin, body: pathlib.Path) -> None:
    committed = body.stat().st_size
    edit(plugin, "2", 1)
    whole = body.read_bytes()
    for size in range(committed, len(whole)):
        body.write_bytes(whole[:size])
        assert seen(plugin) == ONE
        assert plugin.find_lines(OWNER, THREAD) == Lines()
        assert body.stat().st_size == size
    assert edit(plugin, "2", 1) == Appended(THREAD, 3)
    assert body.read_bytes()[committed:] != b""
    assert seen(plugin) == ["question 2"]
    assert texts(plugin.load_messages(OWNER, THREAD, hidden=True)) == [*ONE, "question 2"]


def test_a_torn_mark_is_ignored(plugin: FilePlugin, body: pathlib.Path) -> None:
    plugin.mark_message(OWNER, THREAD, "a-1", Mark(1))
    committed = body.stat().st_size
    plugin.mark_message(OWNER, THREAD, "a-1", Mark(-1, "no €"))
    whole = body.read_bytes()
    for size in range(committed, len(whole)):
        body.write_bytes(whole[:size])
        assert plugin.load_marks(OWNER, THREAD) == {"a-1": Mark(1)}
        assert seen(plugin) == ONE


NOTES = [
    b"",
    b"{}",
    b"\xff\xfe",
    b'{"sequence":3}',
    b'{"sequence":3,"notes":null}',
    b'{"sequence":3,"notes":{"lines":{"visible":[["1",2]]}}}',
    b'{"sequence":3,"notes":{"lines":{"visible":[[1]]}}}',
    b'{"sequence":3,"notes":{"marks":{"a-1":{"sequence":2,"rating":7}}}}',
    b'{"sequence":3,"notes":{"lines":{"visible":[[3,null]],"others":[[[1,2]]}}}',
]


@pytest.mark.parametrize("damaged", NOTES)
def test_notes_that_cannot_be_read_are_reported_and_kept(
    plugin: FilePlugin, body: pathlib.Path, damaged: bytes
) -> None:
    edit(plugin, "2", 1)
    plugin.append_messages(OWNER, THREAD, exchange("3"))
    lines = body.read_bytes().split(b"\n")
    [place] = (place for place, line in enumerate(lines) if b'"notes":' in line)
    # As long as it was, so that the state tells the right place.
    lines[place] = damaged.ljust(len(lines[place]))
    body.write_bytes(b"\n".join(lines))
    before = body.read_bytes()
    for call in (
        lambda: plugin.load_messages(OWNER, THREAD),
        lambda: plugin.find_lines(OWNER, THREAD),
        lambda: plugin.load_marks(OWNER, THREAD),
        lambda: plugin.append_messages(OWNER, THREAD, exchange("4")),
        lambda: plugin.save_messages(OWNER, THREAD, exchange("4")),
        lambda: plugin.mark_message(OWNER, THREAD, "a-3", Mark(1)),
        lambda: edit(plugin, "5", 3),
        lambda: plugin.change_lines(OWNER, THREAD, lambda lines, last: Lines()),
    ):
        with pytest.raises(CorruptRecord) as caught:
            call()
        assert f"conversations/{body.parent.name}/{body.stem}" in str(caught.value)
    assert body.read_bytes() == before


@pytest.mark.parametrize("place", [0, -5, 10**9])
def test_a_state_that_tells_a_wrong_place_of_the_notes_is_reported(
    plugin: FilePlugin, body: pathlib.Path, place: int
) -> None:
    edit(plugin, "2", 1)
    lines = [json.loads(line) for line in body.read_text().splitlines()]
    lines[-1]["state"]["notes_at"] = place
    body.write_text("".join(json.dumps(line) + "\n" for line in lines))
    with pytest.raises(CorruptRecord):
        plugin.load_messages(OWNER, THREAD)


def test_the_notes_are_readable_in_the_body(plugin: FilePlugin, body: pathlib.Path) -> None:
    plugin.mark_message(OWNER, THREAD, "a-1", Mark(1, "schön"))
    edit(plugin, "2", 1)
    assert json.loads(body.read_text("utf-8").splitlines()[-1])["notes"] == {
        "lines": {"visible": [[3, None]], "others": [[[1, 2]]]},
        "marks": {"a-1": {"sequence": 2, "rating": 1, "comment": "schön"}},
    }
    assert "schön" in body.read_text("utf-8")


def test_an_append_does_not_write_the_notes_again(plugin: FilePlugin, body: pathlib.Path) -> None:
    for number in range(50):
        plugin.append_messages(OWNER, THREAD, exchange(f"x{number}"))
        edit(plugin, str(number), plugin.load_messages(OWNER, THREAD, limit=2)[0].sequence or 0)
        plugin.end_turn(OWNER, THREAD, str(number), [answer(str(number))], key=f"a:{number}", reply_to=f"q-{number}")
    before = body.stat().st_size
    plugin.append_messages(OWNER, THREAD, exchange("last"))
    assert body.stat().st_size - before < 1000
    assert len(plugin.find_lines(OWNER, THREAD).to_json() or "") > 5000


def test_what_is_outdated_of_the_notes_leaves_the_file(plugin: FilePlugin, body: pathlib.Path) -> None:
    plugin.append_messages(OWNER, THREAD, exchange("2"), key="k")
    edit(plugin, "3", 3)
    before = plugin.load_messages(OWNER, THREAD, hidden=True)
    for number in range(300):
        plugin.mark_message(OWNER, THREAD, "a-2", Mark(1, str(number).ljust(1000, ".")))
    assert body.stat().st_size < 2 * NOTES_KEPT
    assert plugin.load_messages(OWNER, THREAD, hidden=True) == before
    assert seen(plugin) == [*ONE, "question 3"]
    assert plugin.load_marks(OWNER, THREAD) == {"a-2": Mark(1, "299".ljust(1000, "."))}
    assert plugin.append_messages(OWNER, THREAD, exchange("2"), key="k") == Appended(THREAD, 3, repeated=True)


def test_marks_of_saved_messages_go_when_retention_removes_them(tmp_path: pathlib.Path) -> None:
    plugin = make(tmp_path, max_messages=4)
    plugin.append_messages(OWNER, THREAD, exchange("1"))
    plugin.mark_message(OWNER, THREAD, "a-1", Mark(1))
    # Without sequences, so that they are numbered on.
    plugin.save_messages(OWNER, THREAD, [*exchange("0"), *exchange("1")])
    plugin.append_messages(OWNER, THREAD, exchange("2"))
    assert plugin.load_marks(OWNER, THREAD) == {"a-1": Mark(1)}
    plugin.append_messages(OWNER, THREAD, exchange("3"))
    assert plugin.load_marks(OWNER, THREAD) == {}
