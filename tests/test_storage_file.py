"""What is particular to documents as files: how they look, what people and other programs do to them."""

from __future__ import annotations

import os
import pathlib
import stat
import subprocess
import sys
import textwrap
import typing as t

import hypothesis
import hypothesis.strategies as st
import pytest

from flask_chat_memory import ConfigurationError
from flask_chat_memory import CorruptRecord
from flask_chat_memory import StorageError
from flask_chat_memory.disk import files as files_of_disk
from flask_chat_memory.plugins.file import FilePlugin
from flask_chat_memory.storage import file as storage_file
from flask_chat_memory.storage.domains import domain_storage
from flask_chat_memory.storage.file import FileStorage
from flask_chat_memory.storage.file_.markdown import from_markdown
from flask_chat_memory.storage.file_.markdown import to_markdown
from flask_chat_memory.storage.file_.names import Names
from flask_chat_memory.storage.file_.names import PIECE
from flask_chat_memory.storage.rules import plain_document
from flask_chat_memory.testing import ManualClock
from flask_chat_memory.testing.contracts.parts import exchange
from flask_chat_memory.testing.contracts.parts import OWNER
from flask_chat_memory.testing.contracts.parts import texts
from flask_chat_memory.testing.contracts.parts import THREAD
from flask_chat_memory.testing.contracts.storage import same

SUMMARY = """\
---
type: conversation_summary
thread_id: abc123
timestamp: 2026-04-30T11:00:00Z
tokens: 500
---

## Summary

User is building a PHP library for AI assistants. Main concerns are:
- Context condensation for sub-agents
- MCP integration

## Key Facts

- PHP 8.2 minimum
- Package name: hacklab/ai-assistant
"""
TEXT = SUMMARY.split("---\n\n", 1)[1].removesuffix("\n")
KEY = "memory/summaries/thread-abc123-summary"


@pytest.fixture
def folder(tmp_path: pathlib.Path) -> pathlib.Path:
    return tmp_path / "documents"


@pytest.fixture
def storage(folder: pathlib.Path) -> FileStorage:
    return FileStorage({"folder": str(folder)})


def files(folder: pathlib.Path) -> set[str]:
    found = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    return {path for path in found if not path.startswith("locks/")}


def test_the_layout(storage: FileStorage, folder: pathlib.Path) -> None:
    fields = {"type": "conversation_summary", "thread_id": "abc123", "timestamp": "2026-04-30T11:00:00Z", "tokens": 500}
    domain_storage(storage, "summaries").save("thread-abc123-summary", {**fields, "text": TEXT})
    domain_storage(storage, "settings").save("subagents", {"agents": ["planner"], "é": 1.5})
    domain_storage(storage, "facts").save("global-facts", {"facts": []})
    domain_storage(storage, "learning").save("patterns/filesystem-read_file", {"text": "# Pattern"})
    domain_storage(storage, "learning").save("bugs/bug-2026-04-30-001", {"text": "# Bug", "fixed": False})

    assert files(folder) == {
        "memory/summaries/thread-abc123-summary.md",
        "memory/facts/global-facts.json",
        "config/subagents.json",
        "learning/patterns/filesystem-read_file.md",
        "learning/bugs/bug-2026-04-30-001.md",
    }
    assert (folder / "memory/summaries/thread-abc123-summary.md").read_text() == SUMMARY
    expected = '{\n  "agents": [\n    "planner"\n  ],\n  "é": 1.5\n}\n'
    assert (folder / "config/subagents.json").read_text() == expected


@pytest.mark.scenario("H4")
def test_only_the_owner_of_the_files_may_read_them(storage: FileStorage, folder: pathlib.Path) -> None:
    previous = os.umask(0)
    try:
        storage.save(KEY, {"text": "x"})
        storage.save("config/a", {})
    finally:
        os.umask(previous)
    for path in (folder, *folder.rglob("*")):
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path


def test_nothing_is_left_of_what_was_deleted(storage: FileStorage, folder: pathlib.Path) -> None:
    storage.save("memory/users/@user%3a1/likes", {"text": "x"})
    storage.save("memory/users/@user%3a2/likes", {})
    assert storage.delete("memory/users/@user%3a1/likes")
    assert [path.name for path in (folder / "memory/users").iterdir()] == ["@user%3a2"]
    assert storage.delete("memory/users/@user%3a2/likes")
    assert [path.name for path in folder.iterdir()] == ["locks"]


def test_documents_that_people_write_are_read(storage: FileStorage, folder: pathlib.Path) -> None:
    by_hand = folder / "learning/patterns"
    by_hand.mkdir(parents=True)
    (by_hand / "one.md").write_bytes(b"---\r\ntags: [a, no, 2026-04-30]\r\nyes: on\r\nn: 017\r\n---\r\n# One\r\n")
    (by_hand / "two.md").write_text("# Two\n\nNo front matter.\n")
    (by_hand / "three.md").write_text("---\n# only a comment\n---\nThree")
    (by_hand / "four.json").write_text('{"a" : 1, "nul": "\\u0000"}')
    (by_hand / "five.md").write_text("---\na: {b: 0x1f, c: 1.5, d: ~, e: true}\nf: >\n  folded\n  text\n---\n\n---\n")
    (by_hand / "six.md").write_text("")
    (by_hand / "seven.md").write_text("\ufeff---\na: 1\n---\n\nSeven\n")
    (by_hand / "eight.json").write_text('\ufeff{"a": 1}')

    learning = domain_storage(storage, "learning")
    assert learning.list() == [f"patterns/{name}" for name in sorted(path.stem for path in by_hand.iterdir())]
    assert learning.load("patterns/one") == {
        "tags": ["a", "no", "2026-04-30"],
        "yes": "on",
        "n": "017",
        "text": "# One\r",
    }
    assert learning.load("patterns/two") == {"text": "# Two\n\nNo front matter."}
    assert learning.load("patterns/three") == {"text": "Three"}
    assert learning.load("patterns/four") == {"a": 1, "nul": "\ufffd"}
    five = {"a": {"b": "0x1f", "c": 1.5, "d": None, "e": True}, "f": "folded text\n", "text": "---"}
    assert learning.load("patterns/five") == five
    assert learning.load("patterns/six") == {"text": ""}
    assert learning.load("patterns/seven") == {"a": 1, "text": "Seven"}
    assert learning.load("patterns/eight") == {"a": 1}


@pytest.mark.parametrize(
    "content",
    [
        *("---\na: [\n---\nx", "---\n- a\n---\nx", "---\na: 1\na: 2\n---\nx", "---\ntext: a\n---\nx"),
        *("---\na: !!python/object/apply:os.system [id]\n---\nx", "---\na: &b [1]\nc: *b\n---\nx", "---\nx\n---\n"),
        *("---\na: !!int ''\n---\nx", "---\na: !!bool maybe\n---\nx", "---\na: !!timestamp x\n---\nx"),
        *("---\na: !!map [x]\n---\nx", "---\n!!str a: 1\n---\nx", "---\n!!map {a: 1}\n---\nx", "---\na: !b x\n---\nx"),
        *("---\na: !!float .inf\n---\nx", "---\na: \x07\n---\nx", "---\n[a]: 1\n---\nx", "\xff\xfe-\0-\0-\0"),
        pytest.param("---\na: " + "[" * 2000 + "]" * 2000 + "\n---\nx", id="deep"),
    ],
)
def test_a_front_matter_that_cannot_be_read_is_reported_and_kept(
    storage: FileStorage, folder: pathlib.Path, content: str
) -> None:
    folder.mkdir()
    (folder / "a.md").write_bytes(content.encode("latin1"))
    with pytest.raises(CorruptRecord, match="'a'"):
        storage.load("a")
    assert (folder / "a.md").read_bytes() == content.encode("latin1")


def test_what_is_no_document_is_left_alone(storage: FileStorage, folder: pathlib.Path) -> None:
    storage.save("a/b", {})
    foreign = ["README.md", "a/B.json", "a/c.json.tmp", "a/b.txt", "a/=zz.json", "a/=ff.json", "a/c=62.json"]
    for name in (*foreign, "a/.x.json", "x=/y=", "a=/b.md"):
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("of others")
    assert storage.list() == ["a/b"]
    assert storage.clean_up(4e9) == 1
    assert all((folder / name).read_text() == "of others" for name in foreign)


def test_the_plugin_in_the_same_folder_keeps_its_threads(storage: FileStorage, folder: pathlib.Path) -> None:
    plugin = FilePlugin({"folder": str(folder)})
    plugin.append_messages(OWNER, THREAD, exchange("1"))
    assert storage.list() == []
    assert storage.clean_up(4e9) == 0
    [scope] = (folder / "conversations").iterdir()
    for key in (f"conversations/{scope.name}/current", f"locks/{next((folder / 'locks').iterdir()).name}"):
        assert not storage.exists(key)
        storage.save(key, {"of": "the storage"})
        assert storage.delete(key)
    assert texts(plugin.load_messages(OWNER, THREAD)) == ["question 1", "answer 1"]
    assert plugin.current_thread(OWNER) == THREAD


def test_what_a_killed_process_left_does_no_harm(storage: FileStorage, folder: pathlib.Path) -> None:
    storage.save("a", {"n": 1})
    (folder / "a.json.tmp").write_text("{half")
    (folder / "a.md").write_text("---\nn: 2\n---\n\nx\n")
    assert storage.load("a") == {"n": 2, "text": "x"}
    assert storage.list() == ["a"]
    storage.save("a", {"n": 3})
    assert storage.load("a") == {"n": 3}
    (folder / "a.md").write_text("x")
    assert storage.delete("a")
    assert files(folder) == set()


@pytest.mark.parametrize("call", ["load", "exists"])
def test_a_document_that_becomes_markdown_in_between_is_found(
    storage: FileStorage, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    storage.save("a", {"n": 1})
    read, look = files_of_disk.read_file, storage_file._stored_at

    def in_between(path: str) -> None:
        if path.endswith(".json"):
            monkeypatch.undo()
            storage.save("a", {"n": 2, "text": "x"})

    def slow_read(path: str) -> bytes | None:
        in_between(path)
        return read(path)

    def slow_look(path: str) -> float | None:
        in_between(path)
        return look(path)

    monkeypatch.setattr(storage_file, "read_file", slow_read)
    monkeypatch.setattr(storage_file, "_stored_at", slow_look)
    assert getattr(storage, call)("a") == {"load": {"n": 2, "text": "x"}, "exists": True}[call]


def test_a_full_disk_leaves_what_was_there(storage: FileStorage, folder: pathlib.Path) -> None:
    storage.save("a", {"n": 1})
    code = f"""
        import resource
        from flask_chat_memory import StorageError
        from flask_chat_memory.storage.file import FileStorage

        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
        for document in ({{"n": "x" * 5000}}, {{"text": "x" * 5000}}):
            try:
                FileStorage({{"folder": {str(folder)!r}}}).save("a", document)
            except StorageError as error:
                assert "xxx" not in str(error)
            else:
                raise SystemExit(1)
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=True)
    assert storage.load("a") == {"n": 1}
    assert files(folder) == {"a.json"}


def test_the_stored_time_is_that_of_the_file(folder: pathlib.Path) -> None:
    clock = ManualClock(1_700_000_000.5)
    FileStorage({"folder": str(folder)}, clock=clock).save("a", {"text": "x"})
    assert (folder / "a.md").stat().st_mtime == 1_700_000_000.5
    (folder / "a.md").write_text("touched by hand")
    assert FileStorage({"folder": str(folder)}).clean_up(1_700_000_001) == 0


def test_a_link_into_nothing_is_reported(storage: FileStorage, folder: pathlib.Path) -> None:
    folder.mkdir()
    (folder / "gone").symlink_to(folder / "nowhere")
    with pytest.raises(StorageError):
        storage.save("gone/a", {})


def test_without_a_folder_there_are_no_files() -> None:
    with pytest.raises(ConfigurationError, match="give folder"):
        FileStorage()
    with pytest.raises(ConfigurationError, match="is no path"):
        FileStorage({"folder": ""})


def test_without_the_library_only_markdown_fails(folder: pathlib.Path) -> None:
    code = f"""
        import sys

        sys.modules["yaml"] = None
        from flask_chat_memory import ConfigurationError
        from flask_chat_memory.storage.file import FileStorage

        storage = FileStorage({{"folder": {str(folder)!r}}})
        storage.save("a", {{"a": 1}})
        assert storage.load("a") == {{"a": 1}}
        try:
            storage.save("a", {{"text": "x"}})
        except ConfigurationError as error:
            print(error)
        assert storage.load("a") == {{"a": 1}}
    """
    run = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=True, capture_output=True, text=True)
    assert run.stdout == "Markdown documents need PyYAML: install flask-chat-memory[yaml]\n"


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@hypothesis.given(front=st.dictionaries(st.text(), VALUES, max_size=5), text=st.text())
def test_any_document_survives_as_markdown(front: dict[str, t.Any], text: str) -> None:
    document = plain_document({**front, "text": text})
    assert same(from_markdown(to_markdown(document).encode().decode()), document)


MARKS = " \n\t-#:'\"ab|>%@&*!{}[],?\\\x85\u2028\r.0123e+_~<="


@hypothesis.given(text=st.text(alphabet=MARKS, max_size=30), place=st.integers(0, 3))
@hypothesis.settings(max_examples=500)
def test_any_text_survives_in_the_front_matter(text: str, place: int) -> None:
    value: t.Any = [text, [text], {"a": text}, [[{"b": [text]}]]][place]
    document = {"a": value, f"b{text}": 1, "text": text}
    assert same(from_markdown(to_markdown(document)), document)


@hypothesis.given(key=st.text(min_size=1, max_size=60).filter(lambda text: not set(text.split("/")) & {"", ".", ".."}))
def test_any_key_is_a_path_and_comes_back(key: str) -> None:
    key = key.encode("utf-8", "replace").decode().replace("\0", "x")
    names = Names("/folder")
    path = names.path(key)
    assert path == path.lower()
    assert os.path.normpath(path) == path
    assert path.startswith("/folder/")
    assert all(len(part) <= PIECE + 1 for part in path.split("/"))
    assert names._key(os.path.relpath(path, "/folder") + ".md") == key


def test_what_a_killed_process_was_about_to_write_goes_with_the_document(folder: pathlib.Path) -> None:
    storage = FileStorage({"folder": str(folder)})
    storage.save("a/b", {"n": 1})
    (folder / "a" / "b.json.tmp").write_text('{"n": 2')
    assert storage.delete("a/b")
    assert not (folder / "a").exists()
