"""The commands of the operator on every plugin."""

from __future__ import annotations

import datetime as dt
import json
import pathlib
import typing as t

import pytest

from flask_chat_memory import ChatMemory
from flask_chat_memory import ChatMessage
from flask_chat_memory import signals
from flask_chat_memory.plugins.abilities import KeepsLiveTurns
from flask_chat_memory.plugins.records import LiveTurn
from flask_chat_memory.plugins.records import Scope

from .apps import make_app
from .five_methods import FiveMethodsPlugin
from .operated_sites import KEYS
from .operated_sites import Operated
from .operated_sites import operated as operated
from .operated_sites import PLUGINS
from .operated_sites import THREADS

EVERY = pytest.mark.parametrize("operated", PLUGINS, indirect=True)
SQLITE = pytest.mark.parametrize("operated", ["sqlite"], indirect=True)


@EVERY
def test_threads_are_listed_shown_and_counted(operated: Operated) -> None:
    found = operated.told("threads")
    assert [(thread["owner"], thread["id"], thread["messages"]) for thread in found] == [
        ("user:1", "new", 2),
        ("user:2", "other", 2),
        ("user:1", "old", 2),
    ]
    assert [thread["id"] for thread in operated.told("threads", "--limit", "1", "--chatbot", "default")] == ["new"]
    shown = operated.told("show", "user:1", "old")
    assert [(message["sequence"], message["content"]) for message in shown["messages"]] == [
        (1, "question of user:1"),
        (2, "answer"),
    ]
    assert operated.run("show", "user:2", "old").exit_code == 1
    days = operated.told("stats")
    assert [(day["threads"], day["messages"], day["tokens"]) for day in days] == [(1, 2, 7), (1, 2, 7)]
    assert [day["messages"] for day in operated.told("stats", "--days", "100")] == [2, 2, 2]
    assert all(day["bytes"] > 100 for day in days)


@pytest.mark.scenario("N16", "N41")
@EVERY
def test_a_purge_removes_what_is_strictly_older(operated: Operated) -> None:
    assert operated.told("purge", "--days", "30", "--dry-run") == {
        "dry_run": True,
        "deleted": {"conversation": 1, "messages": 2},
    }
    assert operated.left() == set(THREADS)
    assert operated.told("purge", "--days", "30", "--yes") == {
        "dry_run": False,
        "deleted": {"conversation": 1, "messages": 2},
    }
    assert operated.left() == set(THREADS) - {("user:1", "old")}
    assert operated.told("purge", "--yes")["deleted"] == {"conversation": 0, "messages": 0}
    tomorrow_ago = (dt.datetime.now(dt.UTC) - dt.timedelta(days=10)).isoformat()
    assert operated.told("purge", "--before", tomorrow_ago, "--yes")["deleted"]["conversation"] == 1
    assert operated.left() == {("user:1", "new")}


@EVERY
def test_an_owner_begins_anew_and_nobody_else(operated: Operated) -> None:
    assert {thread["id"] for thread in operated.told("threads", "--owner", "user:1")} == {"old", "new"}
    assert operated.told("reset", "user:1", "--dry-run")["deleted"] == {"default": 2}
    assert operated.left() == set(THREADS)
    assert operated.told("reset", "user:1", "--yes")["deleted"] == {"default": 2}
    assert operated.left() == {("user:2", "other")}
    assert operated.told("reset", "user:1", "--yes")["deleted"] == {"default": 0}


@EVERY
def test_all_is_exported_and_comes_back_after_it_was_forgotten(operated: Operated, tmp_path: pathlib.Path) -> None:
    file, moved = str(tmp_path / "all.jsonl"), str(tmp_path / "moved")
    before = listed(operated)
    assert operated.told("export", file)["threads"] == {"exported": 3}
    assert operated.told("import", "export", file)["threads"] == {"same": 3}
    assert operated.told("copy", "--from", "default", "--to", "file", "--to-option", f"folder={moved}")["whole"]
    assert operated.told("forget", "user:1", "--dry-run")["deleted"]["conversation"] == 2
    assert operated.told("forget", "user:1", "--yes")["deleted"]["conversation"] == 2
    assert operated.left() == {("user:2", "other")}
    assert operated.told("import", "export", file)["threads"] == {"same": 1, "written": 2}
    assert listed(operated) == before
    again = operated.told("copy", "--from", "default", "--to", "file", "--to-option", f"folder={moved}")
    assert again["threads"] == {"same": 3}
    assert operated.told("rewrap", "--dry-run") if operated.plugin.id == "encrypted" else operated.run("rewrap")
    assert operated.run("upgrade").exit_code == 0
    assert listed(operated) == before


def listed(operated: Operated) -> list[dict[str, t.Any]]:
    """Return what is told of the threads; their times are kept to the microsecond, rounded down."""
    times = ("created_at", "last_activity")
    return [
        {name: int(value) if name in times else value for name, value in thread.items()}
        for thread in operated.told("threads")
    ]


@pytest.mark.parametrize("command", [("threads", "--owner", "user:1"), ("reset", "user:1", "--yes")])
def test_a_plugin_that_cannot_list_says_so(tmp_path: pathlib.Path, command: tuple[str, ...]) -> None:
    app = make_app(tmp_path, CHAT_MEMORY_PLUGIN=FiveMethodsPlugin)
    ChatMemory(app)
    result = app.test_cli_runner().invoke(args=["chat-memory", *command])
    assert result.exit_code == 1
    assert result.stderr == "Error: plugin 'five_methods' cannot list threads; it must inherit ListsThreads, too\n"


@pytest.mark.parametrize("command", [("threads",), ("stats",), ("purge", "--yes"), ("purge", "--dry-run")])
def test_a_plugin_that_cannot_go_through_its_threads_says_so(tmp_path: pathlib.Path, command: tuple[str, ...]) -> None:
    app = make_app(tmp_path, CHAT_MEMORY_PLUGIN=FiveMethodsPlugin)
    ChatMemory(app)
    result = app.test_cli_runner().invoke(args=["chat-memory", *command])
    assert result.exit_code == 1
    assert "cannot go through its threads; it must inherit PurgesThreads, too" in result.stderr


@pytest.mark.scenario("S171", "N14")
@SQLITE
@pytest.mark.parametrize(
    "wrong",
    [
        ("purge", "--days", "0"),
        ("purge", "--days", "-1"),
        ("purge", "--days", "abc"),
        ("purge", "--days", "1.5"),
        ("purge", "--days", "1000000"),
        ("purge", "--before", "2999-01-01"),
        ("purge", "--before", "soon"),
        ("purge", "--before", "1969-01-01"),
        ("purge", "--days", "1", "--before", "2026-01-01"),
        ("purge", "--chatbot", "nobody"),
        ("threads", "--limit", "0"),
        ("threads", "--owner", ""),
        ("threads", "--owner", "x" * 256),
        ("threads", "--chatbot", "nobody"),
        ("show", "user:1"),
        ("show", "", "old"),
        ("show", "user:1", "old", "--chatbot", "nobody"),
        ("stats", "--days", "0"),
        ("stats", "--chatbot", "nobody"),
        ("stats", "--plot", "/"),
        ("reset",),
        ("reset", ""),
        ("reset", "user:1", "--chatbot", "nobody"),
        ("doctor", "surplus"),
    ],
    ids=" ".join,
)
def test_a_wrong_argument_is_wrong_usage_and_deletes_nothing(operated: Operated, wrong: tuple[str, ...]) -> None:
    result = operated.run(*wrong, *(["--yes"] if wrong[0] in ("purge", "reset") else []))
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert operated.left() == set(THREADS)


@SQLITE
def test_people_read_sentences_and_tables(operated: Operated) -> None:
    operated.plugin.update_thread(Scope("user:1"), "old", title="\x1b[2Jgone")  # type: ignore[attr-defined]
    assert "\ufffd[2Jgone" in operated.run("threads").stdout
    assert "\x1b" not in operated.run("show", "user:1", "old").stdout
    assert "  question of user:1\n" in operated.run("show", "user:1", "old").stdout
    assert operated.run("stats").stdout.splitlines()[-1].split()[:4] == ["all", "2", "4", "14"]
    assert operated.run("purge", "--days", "30", "--dry-run").stdout == (
        "Would delete 1 conversations with 2 messages.\n"
    )
    assert operated.run("reset", "user:1", "--yes").stdout == "Deleted 2 conversations with default.\n"


@SQLITE
def test_a_purge_announces_what_it_deletes(operated: Operated) -> None:
    heard: list[dict[str, object]] = []

    def hear(_app: object, **facts: object) -> None:
        heard.append(facts)

    with signals.thread_deleted.connected_to(hear, operated.app):
        operated.run("purge", "--days", "30", "--yes")
    assert heard == [{"owner": "user:1", "chatbot": "default", "thread_id": "old"}]


@pytest.mark.scenario("S171")
@SQLITE
def test_a_running_turn_keeps_its_thread(operated: Operated) -> None:
    assert isinstance(operated.plugin, KeepsLiveTurns)
    clock = operated.plugin.clock
    operated.plugin.clock = lambda: clock() - 40 * 86_400
    question = ChatMessage("user", "x", id="q2", turn="t2")
    live = LiveTurn("t2", "q2", "a2", clock() + 30)
    operated.plugin.start_turn(Scope("user:1"), "old", question, key="question:2", live=live)
    operated.plugin.clock = clock
    assert operated.told("purge", "--days", "30", "--yes")["deleted"]["conversation"] == 0
    assert operated.left() == set(THREADS)


def test_there_may_be_nothing_to_look_after(tmp_path: pathlib.Path) -> None:
    app = make_app(tmp_path, CHAT_MEMORY_PLUGIN=None)
    ChatMemory(app)
    for command in (("threads",), ("stats",), ("purge", "--yes"), ("reset", "user:1", "--yes"), ("doctor",)):
        result = app.test_cli_runner().invoke(args=["chat-memory", *command])
        assert result.exit_code == 0, result.output
    result = app.test_cli_runner().invoke(args=["chat-memory", "purge", "--chatbot", "default", "--yes"])
    assert (result.exit_code, result.stderr) == (1, "Error: Chatbot 'default' keeps no history on the server.\n")


@SQLITE
def test_the_days_are_drawn(operated: Operated, tmp_path: pathlib.Path) -> None:
    for file in ("one.svg", "again.svg"):
        assert operated.run("stats", "--plot", str(tmp_path / file)).exit_code == 0
        assert (tmp_path / file).read_text().rstrip().endswith("</svg>")
        operated.run("reset", "user:1", "--yes")
        operated.run("reset", "user:2", "--yes")


@SQLITE
def test_days_before_all_days_count_everything(operated: Operated) -> None:
    everything = operated.told("stats", "--days", "100")
    assert sum(day["threads"] for day in everything) == 3
    for days in (999_999, 10**15):
        assert operated.told("stats", "--days", str(days)) == everything


@pytest.mark.parametrize("operated", ["sqlite", "postgresql", "redis", "file"], indirect=True)
def test_nothing_is_copied_onto_itself_in_another_form(operated: Operated) -> None:
    config = operated.app.config
    place = {name: value for name, value in config["CHAT_MEMORY_OPTIONS"].items() if name not in ("expiry", "threads")}
    given = {"plugin": config["CHAT_MEMORY_PLUGIN"], "options": place, "keys": KEYS}
    options = [f"--to-option={name}={json.dumps(value)}" for name, value in given.items()]
    result = operated.run("copy", "--from", "default", "--to", "encrypted", *options)
    assert (result.exit_code, "one and the same store" in result.stderr) == (2, True), result.output
    assert operated.plugin.load_messages(Scope("user:1"), "new")[0].content == "question of user:1"


@pytest.mark.parametrize("operated", ["encrypted"], indirect=True)
def test_without_the_key_nothing_is_taken_for_gone(operated: Operated, tmp_path: pathlib.Path) -> None:
    operated.plugin.update_thread(Scope("user:1"), "old", title="a title")  # type: ignore[attr-defined]
    options = {**operated.app.config["CHAT_MEMORY_OPTIONS"], "keys": ["YW5vdGhlciBleGFtcGxlLCBhbHNvIG5vdCBhIGtleSE="]}
    app = make_app(tmp_path, CHAT_MEMORY_PLUGIN="encrypted", CHAT_MEMORY_OPTIONS=options)
    site = Operated(app, ChatMemory(app))
    assert len(site.told("threads")) == 3
    assert site.told("purge", "--days", "30", "--dry-run")["deleted"]["conversation"] == 1
    exported = site.run("export", str(tmp_path / "all.jsonl"))
    assert (exported.exit_code, "3 could not be read" in exported.stderr) == (1, True)
    copied = site.run("copy", "--from", "default", "--to", "in_memory")
    assert (copied.exit_code, "unreadable  3" in copied.stdout) == (1, True)
    assert site.told("forget", "user:1", "--yes")["deleted"]["conversation"] == 2
    assert operated.left() == {("user:2", "other")}
