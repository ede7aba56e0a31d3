"""Histories of other libraries, written by them where they are of Python, become threads."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
import time
import typing as t

import pytest
import sqlalchemy as sa

from flask_chat_memory.errors import ConfigurationError
from flask_chat_memory.errors import ImportRefused
from flask_chat_memory.plugins.in_memory import InMemoryPlugin
from flask_chat_memory.plugins.records import Scope
from flask_chat_memory.plugins.records import Thread
from flask_chat_memory.testing.contracts.parts import AblePlugin
from flask_chat_memory.testing.contracts.parts import exchange
from flask_chat_memory.testing.contracts.parts import texts
from flask_chat_memory.titles import shortened
from flask_chat_memory.transfer.foreign.base import Source
from flask_chat_memory.transfer.foreign.importing import ForeignImport
from flask_chat_memory.transfer.foreign.langchain import LangChain
from flask_chat_memory.transfer.foreign.neuron import NeuronFiles
from flask_chat_memory.transfer.foreign.neuron import NeuronMessages
from flask_chat_memory.transfer.foreign.neuron import NeuronThreads
from flask_chat_memory.transfer.foreign.openai_agents import OpenAIAgents

from .moved_stores import Moving

OWNER = Scope("user:one")
Written = t.Callable[[str], pathlib.Path]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Written:
    """Return a function that has a library write its histories, once, and returns the folder."""
    done: dict[str, pathlib.Path] = {}

    def write(library: str) -> pathlib.Path:
        if library not in done:
            done[library] = tmp_path_factory.mktemp(library)
            script = pathlib.Path(__file__).with_name("foreign_histories.py")
            command = [sys.executable, "-W", "ignore", str(script), library, str(done[library])]
            subprocess.run(command, check=True, env={**os.environ, "OPENAI_AGENTS_DISABLE_TRACING": "1"})
        return done[library]

    return write


@pytest.fixture
def plugin(moving: Moving) -> AblePlugin:
    store = moving.store("in_memory")
    store.clock = time.time
    return store


def imported(plugin: AblePlugin, source: Source, owner: str = "user:{session}", **choice: t.Any) -> ForeignImport:
    done = ForeignImport(plugin, "default", owner, title_of=shortened, **choice)
    list(done.run(source))
    return done


def only_thread(plugin: AblePlugin, scope: Scope = OWNER) -> Thread:
    (thread,) = plugin.list_threads(scope)
    return thread


def told(plugin: AblePlugin, scope: Scope = OWNER) -> list[dict[str, t.Any]]:
    messages = plugin.load_messages(scope, only_thread(plugin, scope).id)
    dicts = [message.to_dict() for message in messages]
    return [{name: value for name, value in one.items() if name not in ("created_at", "turn")} for one in dicts]


def test_langchain(plugin: AblePlugin, written: Written) -> None:
    source = LangChain(str(written("langchain") / "before.sqlite3"))
    done = imported(plugin, source)
    assert done.counts == {("threads", "written"): 2, ("messages", "written"): 8}
    assert source.left_out == {"system message": 2, "chat message": 2}
    question, call, result, answer = told(plugin)
    assert question == {
        "role": "user",
        "content": [
            {"type": "text", "text": "How warm is it? 漢 😀"},
            {"type": "image_url", "image_url": {"url": "https://example.org/sky.png"}},
        ],
        "id": "human-1",
    }
    assert call["tool_calls"] == [
        {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": '{"town": "Graz"}'}}
    ]
    assert (call["id"], call["model"], call["usage"]) == ("ai-1", "small-1", {"input": 10, "output": 5, "total": 15})
    assert (result["role"], result["tool_call_id"], result["name"], result["content"]) == (
        "tool",
        "c1",
        "weather",
        "21",
    )
    assert answer["content"] == "Warm enough."
    assert len({message.turn for message in plugin.load_messages(OWNER, only_thread(plugin).id)}) == 1
    assert only_thread(plugin).title == "How warm is it? 漢 😀"
    assert only_thread(plugin).tokens == 15


@pytest.mark.parametrize("kind", ["agents-sqlite", "agents-sqlalchemy"])
def test_openai_agents(plugin: AblePlugin, written: Written, kind: str) -> None:
    source = OpenAIAgents(str(written(kind) / "before.sqlite3"))
    done = imported(plugin, source)
    assert done.counts == {("threads", "written"): 2, ("messages", "written"): 12}
    assert source.left_out == {"system message": 2, "web_search_call item": 2}
    question, calls, first, second, answer, thanks = told(plugin)
    assert question["content"] == "How warm is it? 漢 😀"
    assert [call["id"] for call in calls["tool_calls"]] == ["c1", "c2"]
    assert calls["tool_calls"][1]["function"] == {"name": "weather", "arguments": '{"town": "Linz"}'}
    assert calls["metadata"]["reasoning"][0]["summary"] == [{"type": "summary_text", "text": "Look it up."}]
    assert [(one["role"], one["tool_call_id"], one["content"]) for one in (first, second)] == [
        ("tool", "c1", "21"),
        ("tool", "c2", "19"),
    ]
    assert (answer["id"], answer["content"]) == ("msg_1", "Warm enough.")
    assert thanks["content"] == [{"type": "text", "text": "Thanks"}, {"type": "input_image", "image_url": "a"}]
    turns = [message.turn for message in plugin.load_messages(OWNER, only_thread(plugin).id)]
    assert turns[0] == turns[4] != turns[5]
    assert abs(only_thread(plugin).last_activity - time.time()) < 3600


SOURCES: dict[str, t.Callable[[str], Source]] = {
    "langchain": LangChain,
    "agents-sqlite": OpenAIAgents,
    "agents-sqlalchemy": OpenAIAgents,
}


@pytest.mark.scenario("S200", "A36")
@pytest.mark.parametrize("library", SOURCES)
def test_to_import_again_adds_what_has_come_since(plugin: AblePlugin, written: Written, library: str) -> None:
    folder, read = written(library), SOURCES[library]
    imported(plugin, read(f"{folder}/before.sqlite3"))
    before = told(plugin)
    again = imported(plugin, read(f"{folder}/before.sqlite3"))
    assert {outcome for _, outcome in again.counts} == {"same"}
    plugin.append_messages(OWNER, only_thread(plugin).id, exchange("of our own"))
    more = imported(plugin, read(f"{folder}/after.sqlite3"))
    assert more.counts["threads", "written"] == 1
    assert more.counts["threads", "same"] == 1
    found = told(plugin)
    assert found[: len(before)] == before
    assert [one["content"] for one in found[len(before) :]][:3] == [
        "question of our own",
        "answer of our own",
        "And tomorrow?",
    ]
    assert imported(plugin, read(f"{folder}/after.sqlite3")).counts["threads", "same"] == 2
    assert told(plugin) == found


def test_what_was_deleted_here_comes_back_only_as_a_whole(plugin: AblePlugin, written: Written) -> None:
    folder = written("agents-sqlite")
    imported(plugin, OpenAIAgents(f"{folder}/before.sqlite3"))
    thread = only_thread(plugin)
    plugin.clear_messages(OWNER, thread.id)
    assert imported(plugin, OpenAIAgents(f"{folder}/before.sqlite3")).counts["threads", "newer"] == 1
    plugin.delete_thread(OWNER, thread.id)
    imported(plugin, OpenAIAgents(f"{folder}/before.sqlite3"))
    assert only_thread(plugin).id == thread.id


def test_a_trial_writes_nothing(plugin: AblePlugin, written: Written) -> None:
    done = imported(plugin, OpenAIAgents(f"{written('agents-sqlite')}/before.sqlite3"), write=False)
    assert done.counts["threads", "written"] == 2
    assert list(plugin.all_threads()) == []


def test_all_can_be_given_to_one_owner(plugin: AblePlugin, written: Written) -> None:
    imported(plugin, OpenAIAgents(f"{written('agents-sqlite')}/before.sqlite3"), owner="user:7")
    assert len(plugin.list_threads(Scope("user:7"))) == 2


def test_with_one_thread_the_first_becomes_the_current_one(written: Written) -> None:
    plugin = t.cast(AblePlugin, InMemoryPlugin({"threads": "one"}))
    imported(plugin, OpenAIAgents(f"{written('agents-sqlite')}/before.sqlite3"), owner="user:7")
    assert plugin.current_thread(Scope("user:7")) in {thread.id for thread in plugin.list_threads(Scope("user:7"))}


NEURON: list[dict[str, t.Any]] = [
    {"role": "system", "content": "Be kind."},
    {"__id": "msg_1", "role": "user", "content": [{"type": "text", "content": "How warm is it? 漢 😀"}]},
    {
        "__id": "msg_2",
        "role": "assistant",
        "content": [],
        "type": "tool_call",
        "usage": {"input_tokens": 10, "output_tokens": 5},
        "tools": [
            {"name": "weather", "description": "", "inputs": {"town": "Graz"}, "callId": "c1", "result": None},
            {"name": "weather", "description": "", "inputs": {"town": "Linz"}, "callId": "c2", "result": None},
        ],
    },
    {
        "role": "user",
        "content": [],
        "type": "tool_call_result",
        "tools": [
            {"name": "weather", "description": "", "inputs": {"town": "Graz"}, "callId": "c1", "result": "21"},
            {
                "name": "weather",
                "description": "",
                "inputs": {"town": "Linz"},
                "callId": "c2",
                "result": {"is_error": True, "blocks": [{"type": "text", "content": "unknown"}]},
            },
        ],
    },
    {
        "role": "assistant",
        "content": [
            {"type": "reasoning", "content": "Warm.", "id": "r"},
            {"type": "text", "content": "Warm enough."},
        ],
        "citations": [{"title": "Sky"}],
    },
    {"role": "user", "content": "Thanks"},
    {"role": "model", "content": '"quoted"'},
]


def neuron(kind: str, folder: pathlib.Path, messages: t.Sequence[dict[str, t.Any]] = NEURON) -> Source:
    """Write a history as Neuron does, and return the source that reads it."""
    if kind == "file":
        (folder / "neuron_one%2F1.chat").write_text(json.dumps(messages))
        (folder / "other.txt").write_text("not a history")
        return NeuronFiles(str(folder))
    engine = sa.create_engine(f"sqlite:///{folder}/neuron.sqlite3")
    with engine.begin() as connection:
        if kind == "sql":
            connection.exec_driver_sql(
                "CREATE TABLE IF NOT EXISTS chat_history (id INTEGER PRIMARY KEY, thread_id TEXT, messages TEXT, "
                "created_at TEXT DEFAULT CURRENT_TIMESTAMP, updated_at TEXT DEFAULT CURRENT_TIMESTAMP)"
            )
            connection.exec_driver_sql("DELETE FROM chat_history")
            connection.exec_driver_sql(
                "INSERT INTO chat_history (thread_id, messages) VALUES ('one/1', ?)", (json.dumps(messages),)
            )
        else:
            connection.exec_driver_sql(
                "CREATE TABLE IF NOT EXISTS chat_messages (id INTEGER PRIMARY KEY, thread_id TEXT, role TEXT, "
                "content TEXT, meta TEXT, created_at TEXT DEFAULT CURRENT_TIMESTAMP, updated_at TEXT)"
            )
            connection.exec_driver_sql("DELETE FROM chat_messages")
            for message in messages:
                meta = {name: value for name, value in message.items() if name not in ("role", "content")}
                connection.exec_driver_sql(
                    "INSERT INTO chat_messages (thread_id, role, content, meta) VALUES ('one/1', ?, ?, ?)",
                    (message["role"], json.dumps(message["content"]), json.dumps(meta) if meta else None),
                )
    engine.dispose()
    path = f"{folder}/neuron.sqlite3"
    return NeuronThreads(path) if kind == "sql" else NeuronMessages(path)


@pytest.mark.parametrize("kind", ["file", "sql", "eloquent"])
def test_neuron(plugin: AblePlugin, tmp_path: pathlib.Path, kind: str) -> None:
    source = neuron(kind, tmp_path)
    done = imported(plugin, source, owner="user:one")
    assert done.counts == {("threads", "written"): 1, ("messages", "written"): 7}
    assert source.left_out == {"system message": 1}
    question, calls, first, second, answer, thanks, quoted = told(plugin)
    assert question == {"role": "user", "content": "How warm is it? 漢 😀", "id": "msg_1"}
    assert [call["function"]["arguments"] for call in calls["tool_calls"]] == ['{"town": "Graz"}', '{"town": "Linz"}']
    assert (calls["id"], calls["usage"]) == ("msg_2", {"input": 10, "output": 5})
    assert [(one["role"], one["tool_call_id"], one["content"]) for one in (first, second)] == [
        ("tool", "c1", "21"),
        ("tool", "c2", "unknown"),
    ]
    assert answer["content"][1] == {"type": "text", "text": "Warm enough."}
    assert answer["metadata"] == {"citations": [{"title": "Sky"}]}
    assert (thanks["content"], quoted["role"], quoted["content"]) == ("Thanks", "assistant", '"quoted"')
    assert abs(only_thread(plugin).last_activity - time.time()) < 3600

    more = [*NEURON, {"role": "user", "content": "Thanks"}]
    assert imported(plugin, neuron(kind, tmp_path), owner="user:one").counts["threads", "same"] == 1
    assert imported(plugin, neuron(kind, tmp_path, more), owner="user:one").counts["messages", "written"] == 1
    thread = plugin.load_messages(OWNER, only_thread(plugin).id)
    assert texts(thread)[-3:] == ["Thanks", '"quoted"', "Thanks"]


@pytest.mark.parametrize("kind", ["file", "sql", "eloquent"])
def test_what_cannot_be_read_is_counted(plugin: AblePlugin, tmp_path: pathlib.Path, kind: str) -> None:
    source = neuron(kind, tmp_path, [{"role": "user", "content": "a"}, {"role": "user", "content": 7}])
    if kind == "file":
        (tmp_path / "neuron_two.chat").write_text("{")
    else:
        engine = sa.create_engine(f"sqlite:///{tmp_path}/neuron.sqlite3")
        with engine.begin() as connection:
            insert = (
                "INSERT INTO chat_history (thread_id, messages) VALUES ('two', '{')"
                if kind == "sql"
                else "INSERT INTO chat_messages (thread_id, role, content, meta) VALUES ('two', 'user', '{', NULL)"
            )
            connection.exec_driver_sql(insert)
        engine.dispose()
    done = imported(plugin, source, owner="user:one")
    assert done.counts["threads", "empty"] == 1
    unreadable = {"file": "file", "sql": "row", "eloquent": "message"}[kind]
    assert source.left_out[f"{unreadable} that cannot be read"] == 1


@pytest.mark.parametrize("read", [LangChain, OpenAIAgents, NeuronFiles, NeuronThreads, NeuronMessages])
def test_what_is_no_such_source_is_refused(tmp_path: pathlib.Path, read: t.Callable[[str], Source]) -> None:
    missing = tmp_path / "missing"
    with pytest.raises(ImportRefused, match="there is no such"):
        list(read(str(missing)).threads())
    assert not missing.exists()
    if read is NeuronFiles:
        return
    empty = tmp_path / "empty.sqlite3"
    engine = sa.create_engine(f"sqlite:///{empty}")
    with engine.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE message_store (id INTEGER PRIMARY KEY)")
    engine.dispose()
    with pytest.raises(ImportRefused, match=r"has no table|has no message, session_id"):
        list(read(str(empty)).threads())
    (tmp_path / "text").write_text("not a database at all, but long enough to look like one")
    with pytest.raises(ImportRefused, match="cannot be read"):
        list(read(str(tmp_path / "text")).threads())
    with pytest.raises(ConfigurationError):
        list(read("oracle://somewhere/else").threads())
