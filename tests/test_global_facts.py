"""Facts that the site tells the models of all owners."""

from __future__ import annotations

import functools
import json
import pathlib
import typing as t

import flask
import pytest

from flask_chat_memory import ChatMemory
from flask_chat_memory import CorruptRecord
from flask_chat_memory import InvalidKnowledge
from flask_chat_memory.knowledge.facts import GlobalFacts
from flask_chat_memory.storage.base import Storage
from flask_chat_memory.storage.domains import domain_storage
from flask_chat_memory.storage.file import FileStorage
from flask_chat_memory.storage.in_memory import InMemoryStorage
from flask_chat_memory.testing import ManualClock
from flask_chat_memory.testing.contracts.forks import Child
from flask_chat_memory.testing.contracts.forks import needs_fork
from flask_chat_memory.testing.contracts.parts import together

from .document_stores import make_storage as make_storage
from .document_stores import store as store


def facts_of(storage: Storage) -> GlobalFacts:
    return GlobalFacts(domain_storage(storage, "facts"), clock=ManualClock(1_800_000_000))


def test_facts_are_added_removed_and_replaced(store: Storage) -> None:
    facts = facts_of(store)
    assert facts.list() == []
    assert facts.add(" Open from nine to five. ")
    assert facts.add("Closed on Sunday.")
    assert not facts.add("Closed on Sunday.")
    assert facts.list() == ["Open from nine to five.", "Closed on Sunday."]
    assert facts.remove("Open from nine to five.")
    assert not facts.remove("Open from nine to five.")
    facts.replace(["a", "b", "a"])
    assert facts_of(store).list() == ["a", "b"]
    facts.replace([])
    assert facts.list() == []


def test_they_are_one_document_of_the_layout(tmp_path: pathlib.Path) -> None:
    app = flask.Flask("site", instance_path=str(tmp_path))
    app.config.update(CHAT_MEMORY_PLUGIN="file", CHAT_MEMORY_OPTIONS={"folder": "chat"})
    memory = ChatMemory(app)
    with app.app_context():
        memory.global_facts.add("Closed on Sunday.")
        assert memory.global_facts.list() == ["Closed on Sunday."]
    stored = json.loads((tmp_path / "chat/memory/facts/global-facts.json").read_text())
    assert stored["facts"] == ["Closed on Sunday."]


@pytest.mark.parametrize("text", ["", " ", None, "x" * 1001])
def test_what_is_no_fact_is_refused(text: t.Any) -> None:
    facts = facts_of(InMemoryStorage())
    facts.add("a")
    for call in (facts.add, lambda text: facts.replace(["b", text])):
        with pytest.raises(InvalidKnowledge):
            call(text)
    with pytest.raises(InvalidKnowledge, match="texts: must be a list of texts"):
        facts.replace("one text is no list")
    assert facts.list() == ["a"]


def test_threads_that_add_at_once_lose_nothing(tmp_path: pathlib.Path) -> None:
    storage = FileStorage({"folder": str(tmp_path)})
    together([functools.partial(facts_of(storage).add, str(n)) for n in range(20)])
    assert sorted(facts_of(storage).list(), key=int) == [str(n) for n in range(20)]


@needs_fork
def test_processes_that_add_at_once_lose_nothing(tmp_path: pathlib.Path) -> None:
    def work(name: str, _say: object) -> None:
        facts = facts_of(FileStorage({"folder": str(tmp_path)}))
        for n in range(10):
            assert facts.add(f"{name}-{n}")

    children = [Child(functools.partial(work, name)) for name in "ab"]
    assert [child.wait() for child in children] == [0, 0]
    storage = FileStorage({"folder": str(tmp_path)})
    assert sorted(facts_of(storage).list()) == sorted(f"{name}-{n}" for name in "ab" for n in range(10))
    assert storage.list() == ["memory/facts/global-facts"]


def test_one_that_died_while_changing_them_is_not_waited_for_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("flask_chat_memory.knowledge.facts.PATIENCE", 0)
    storage = InMemoryStorage()
    domain_storage(storage, "facts").save("global-facts-changing", {})
    assert facts_of(storage).add("a") and facts_of(storage).list() == ["a"]


@pytest.mark.parametrize("document", [{}, {"facts": "a"}, {"facts": [1]}])
def test_what_cannot_be_read_is_reported_and_kept(document: dict[str, t.Any]) -> None:
    storage = InMemoryStorage()
    domain_storage(storage, "facts").save("global-facts", document)
    for call in (facts_of(storage).list, lambda: facts_of(storage).add("a")):
        with pytest.raises(CorruptRecord, match="global-facts"):
            call()
    assert storage.load("memory/facts/global-facts") == document
