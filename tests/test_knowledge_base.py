"""What the site has learned."""

from __future__ import annotations

import collections.abc as cabc
import functools
import os
import pathlib
import re
import typing as t

import flask
import pytest

from flask_chat_memory import ChatMemory
from flask_chat_memory import InvalidKnowledge
from flask_chat_memory.knowledge.knowledge_base import Entry
from flask_chat_memory.knowledge.knowledge_base import KnowledgeBase
from flask_chat_memory.storage.base import Storage
from flask_chat_memory.storage.domains import domain_storage
from flask_chat_memory.storage.file import FileStorage
from flask_chat_memory.storage.in_memory import InMemoryStorage
from flask_chat_memory.testing import ManualClock
from flask_chat_memory.testing.contracts.forks import Child
from flask_chat_memory.testing.contracts.forks import needs_fork
from flask_chat_memory.testing.contracts.parts import together

from .document_stores import make_storage as make_storage
from .document_stores import MakeStorage
from .document_stores import store as store

DAY = 1_777_543_200.0
"""2026-04-30, ten o'clock."""


def base_on(storage: Storage, clock: ManualClock | None = None, **more: t.Any) -> KnowledgeBase:
    return KnowledgeBase(domain_storage(storage, "learning"), clock=clock or ManualClock(DAY), **more)


def texts(entries: cabc.Iterable[Entry]) -> list[str]:
    return [entry.text for entry in entries]


def test_a_pattern_is_what_is_known_of_a_tool(store: Storage) -> None:
    clock = ManualClock(DAY)
    base = base_on(store, clock)
    first = base.record_pattern("database-query", "Limit every query.", ["sql"])
    assert (first.id, first.kind, first.subject) == ("patterns/database-query", "pattern", "database-query")
    assert base.pattern("database-query") == first
    clock.advance(60)
    second = base.record_pattern("database-query", "Limit every query to 100 rows.")
    assert base.list("pattern") == [second]
    assert (second.created_at, second.updated_at) == (first.created_at, "2026-04-30T10:01:00Z")
    assert base.pattern("other") is base.pattern("../x") is None


def test_bugs_have_ids_of_the_day(store: Storage) -> None:
    clock = ManualClock(DAY)
    base = base_on(store, clock)
    ids = [base.record_bug(f"bug {n}", "It broke.").id for n in range(3)]
    assert [id[:-7] for id in ids] == [f"bugs/bug-2026-04-30-00{n}" for n in (1, 2, 3)]
    assert all(re.fullmatch(r".*-[0-9a-f]{6}", id) for id in ids)
    base.delete(ids[0])
    assert base.record_bug("bug 3", "x").id.startswith("bugs/bug-2026-04-30-004-")
    clock.advance(86_400)
    assert base.record_bug("bug 4", "x").id.startswith("bugs/bug-2026-05-01-001-")
    assert [entry.subject for entry in base.list("bug", limit=1)] == ["bug 4"]


@pytest.mark.scenario("H23")
def test_learnings_are_found_by_context_also_in_sub_folders(store: Storage) -> None:
    base = base_on(store)
    for context, text in (("deploy", "a"), ("deploy/database", "b"), ("deploy/database", "c"), ("Café", "d")):
        base.record_learning(context, text)
    base.record_bug("x", "y")
    assert base.contexts() == ["Café", "deploy", "deploy/database"]
    assert sorted(texts(base.list(context="deploy/database"))) == ["b", "c"]
    assert texts(base.list(context="deploy")) == ["a"]
    assert texts(base.list("learning", "Café")) == ["d"]
    assert base.list("bug", "deploy") == base.list(context="dep*") == base.list(context="../bugs") == []
    assert len(base.list()) == 5
    assert len(base.list("learning", limit=3)) == 3


@pytest.mark.scenario("H21", "H22")
def test_search_looks_at_contents_whatever_case_and_accents(store: Storage) -> None:
    base = base_on(store)
    base.record_pattern("filesystem-read_file", "Öffne nie ganze Dateien.", ["Größe"])
    base.record_bug("Crash at MIDNIGHT", "It broke.")
    base.record_learning("deploy", "住在東京")
    assert texts(base.search("offne")) == texts(base.search("GROSSE")) == ["Öffne nie ganze Dateien."]
    assert texts(base.search("midnight")) == texts(base.search("BROKE", "bug")) == ["It broke."]
    assert texts(base.search("東京")) == ["住在東京"]
    assert base.search("midnight", "pattern") == []
    for name in ("updated_at", "tool", "pattern", "type", "%", "*"):
        assert base.search(name) == []


@pytest.mark.scenario("H24")
def test_clean_up_goes_by_the_time_in_the_record(tmp_path: pathlib.Path) -> None:
    clock = ManualClock(DAY)
    base = base_on(FileStorage({"folder": str(tmp_path)}), clock)
    base.record_pattern("old", "a")
    base.record_learning("deploy", "b")
    clock.advance(100)
    base.record_bug("new", "c")
    for path in tmp_path.rglob("*.md"):
        # As a restored backup has it: all files are new, and some are older than what they hold.
        os.utime(path, (0, 0) if "bugs" in str(path) else None)
    assert base.clean_up(DAY) == 0
    assert base.clean_up(DAY + 1) == 2
    assert texts(base.list()) == ["c"]
    assert base.contexts() == []


@pytest.mark.scenario("H25")
def test_the_newest_of_a_context_are_kept(store: Storage) -> None:
    clock = ManualClock(DAY)
    base = base_on(store, clock, per_context=2)
    for n in range(4):
        clock.advance(1)
        base.record_learning("deploy", f"a{n}")
        base.record_learning("deploy/database", f"b{n}")
        base.record_bug("x", f"c{n}")
        base.record_pattern(f"tool {n}", f"d{n}")
    assert texts(base.list(context="deploy")) == ["a3", "a2"]
    assert texts(base.list(context="deploy/database")) == ["b3", "b2"]
    assert texts(base.list("bug")) == ["c3", "c2"]
    assert len(base.list("pattern")) == 4


def test_the_files_are_laid_out_for_people(tmp_path: pathlib.Path) -> None:
    app = flask.Flask("site", instance_path=str(tmp_path))
    app.config.update(CHAT_MEMORY_PLUGIN="file", CHAT_MEMORY_OPTIONS={"folder": "chat"})
    memory = ChatMemory(app)
    with app.app_context():
        memory.knowledge.record_pattern("filesystem-read_file", "Read in parts.", ["files"])
        bug = memory.knowledge.record_bug("Crash", "## What\n\nIt broke.")
        learning = memory.knowledge.record_learning("deploy/database", "Migrate first.")
    folder = tmp_path / "chat/learning"
    assert {str(path.relative_to(folder)) for path in folder.rglob("*.md")} == {
        *("patterns/filesystem-read_file.md", f"{bug.id}.md", f"{learning.id}.md")
    }
    assert learning.id.startswith("entries/deploy/database/")
    text = (folder / "patterns/filesystem-read_file.md").read_text()
    assert re.fullmatch(
        r"---\ntype: pattern\ntool: filesystem-read_file\ntags:\n- files\n"
        r"created_at: 20[-\dT:.]+Z\nupdated_at: 20[-\dT:.]+Z\n---\n\nRead in parts.\n",
        text,
    )


def test_what_people_write_into_the_folder_is_read(tmp_path: pathlib.Path, caplog: pytest.LogCaptureFixture) -> None:
    base = base_on(FileStorage({"folder": str(tmp_path)}))
    for name, text in (
        ("bugs/bug-2026-04-30-001.md", "By hand."),
        ("entries/deploy/notes.md", "A note."),
        ("patterns/tool.md", "---\ntool: 7\ntags: x\n---\n\nA pattern."),
        ("patterns/broken.md", "---\na: {{\n---\nx"),
        ("README.md", "Not of the base."),
    ):
        path = tmp_path / "learning" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    found = {entry.id: entry.subject for entry in base.list()}
    assert found == {
        "bugs/bug-2026-04-30-001": "bug-2026-04-30-001", "entries/deploy/notes": "deploy", "patterns/tool": "tool"
    }  # fmt: skip
    assert "cannot be read" in caplog.text
    assert base.contexts() == ["deploy"]
    assert base.record_bug("next", "x").id.startswith("bugs/bug-2026-04-30-002-")
    assert (tmp_path / "learning/patterns/broken.md").exists()


@pytest.mark.parametrize(
    ("record", "sentence"),
    [
        (lambda base: base.record_pattern("", "x"), "tool: must not be empty"),
        (lambda base: base.record_pattern("../x", "x"), "tool: has a part that is empty"),
        (lambda base: base.record_pattern("a*", "x"), "tool: has a part that is empty"),
        (lambda base: base.record_learning("/a", "x"), "context: has a part that is empty"),
        (lambda base: base.record_learning("x" * 101, "x"), "context: has more than 100 characters"),
        (lambda base: base.record_learning("🙂" * 100, "x"), "subject: is too long"),
        (lambda base: base.record_bug("", "x"), "title: must not be empty"),
        (lambda base: base.record_bug("x", "x" * 20_001), "text: has more than 20,000 characters"),
        (lambda base: base.record_bug("x", "x", ["a" * 51]), "tags[0]: has more than 50 characters"),
        (lambda base: base.list("wish"), "kind: must be one of pattern, bug, learning"),
    ],
)
def test_bad_values_are_refused(record: cabc.Callable[[KnowledgeBase], object], sentence: str) -> None:
    storage = InMemoryStorage()
    with pytest.raises(InvalidKnowledge) as caught:
        record(base_on(storage))
    assert str(caught.value).startswith(sentence)
    assert storage.list() == []


@pytest.mark.parametrize("id", ["", "..", "bugs", "bugs/..", "../settings/x", "*", 7, None, "x" * 600, "é" * 200])
def test_an_id_that_nobody_gave_finds_nothing(id: t.Any) -> None:
    base = base_on(InMemoryStorage())
    base.record_bug("x", "y")
    assert base.get(id) is None
    assert base.delete(id) is False
    assert len(base.list()) == 1


def test_threads_that_record_at_once_overwrite_nothing(make_storage: MakeStorage) -> None:
    def record(writer: int) -> None:
        base = base_on(make_storage())
        for n in range(3):
            base.record_bug(f"{writer}", f"{writer}-{n}")

    together([functools.partial(record, writer) for writer in range(4)])
    assert sorted(texts(base_on(make_storage()).list("bug"))) == [f"{w}-{n}" for w in range(4) for n in range(3)]


@needs_fork
def test_processes_that_record_at_once_overwrite_nothing(tmp_path: pathlib.Path) -> None:
    def work(name: str, _say: object) -> None:
        base = base_on(FileStorage({"folder": str(tmp_path)}))
        for n in range(10):
            base.record_bug(name, f"{name}-{n}")

    children = [Child(functools.partial(work, name)) for name in "ab"]
    assert [child.wait() for child in children] == [0, 0]
    assert len(base_on(FileStorage({"folder": str(tmp_path)})).list("bug")) == 20
