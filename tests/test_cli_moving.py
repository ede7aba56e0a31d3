"""``flask chat-memory export``, ``import`` and ``copy``."""

from __future__ import annotations

import json
import os
import pathlib
import sqlite3
import stat
import sys
import typing as t

import pytest

from flask_chat_memory import ChatMemory
from flask_chat_memory.plugins.file import FilePlugin
from flask_chat_memory.plugins.records import Scope
from flask_chat_memory.testing.contracts.parts import exchange
from flask_chat_memory.testing.contracts.parts import texts

from .apps import make_app
from .terminal import on_terminal
from .test_cli_manners import run
from .test_importers import NEURON

OWNER = Scope("user:1")


@pytest.fixture
def site(tmp_path: pathlib.Path) -> pathlib.Path:
    """Return the folder of a site with conversations of two owners and a memory."""
    app = make_app(tmp_path)
    memory = ChatMemory(app)
    with app.app_context():
        assert memory.plugin is not None
        for owner in ("user:1", "user:2"):
            memory.plugin.append_messages(Scope(owner), f"of {owner}", exchange("1"))
            memory.storage("user_memory").of_owner(owner).save("likes", {"text": "tea"})
    return tmp_path


def counted(folder: pathlib.Path, *args: str, **config: t.Any) -> dict[str, t.Any]:
    result = run(folder, *args, "--json", **config)
    assert result.exit_code == 0, result.output
    return t.cast("dict[str, t.Any]", json.loads(result.stdout))


def test_a_site_moves_from_sqlite_to_files(site: pathlib.Path) -> None:
    copy = ["copy", "--from", "default", "--to", "file", "--to-option", f"folder={site}/new"]
    assert counted(site, *copy, "--dry-run")["threads"] == {"written": 2}
    assert not (site / "new" / "conversations").exists()
    assert counted(site, *copy) == {
        "threads": {"written": 2},
        "messages": {"written": 4},
        "documents": {"written": 2},
        "whole": True,
    }
    assert counted(site, *copy)["documents"] == {"same": 2}
    app = make_app(site, CHAT_MEMORY_PLUGIN="file", CHAT_MEMORY_OPTIONS={"folder": str(site / "new")})
    memory = ChatMemory(app)
    with app.app_context():
        assert memory.plugin is not None
        assert texts(memory.plugin.load_messages(OWNER, "of user:1")) == ["question 1", "answer 1"]
        assert memory.storage("user_memory").of_owner("user:1").load("likes") == {"text": "tea"}


def test_a_copy_is_told_as_a_table(site: pathlib.Path) -> None:
    result = run(site, "copy", "--from", "default", "--to", "file", "--to-option", f"folder={site}/new")
    assert result.exit_code == 0
    assert [line.split() for line in result.stdout.splitlines()] == [
        ["what", "outcome", "count"],
        ["documents", "written", "2"],
        ["messages", "written", "4"],
        ["threads", "written", "2"],
    ]


def test_secrets_are_read_from_the_environment(site: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NEW_DATABASE", f"sqlite:///{site}/new.sqlite3")
    copy = ["copy", "--from", "default", "--to", "sqlalchemy", "--to-option"]
    assert counted(site, *copy, "url=env:NEW_DATABASE", "--no-documents")["threads"] == {"written": 2}
    result = run(site, *copy, "url=env:MISSING")
    assert (result.exit_code, "no environment variable MISSING" in result.stderr) == (2, True)


def test_what_the_source_lacks_is_removed_when_that_is_wanted(site: pathlib.Path) -> None:
    FilePlugin({"folder": f"{site}/new"}).append_messages(Scope("user:3"), "own", exchange("1"))
    copy = ["copy", "--from", "default", "--to", "file", "--to-option", f"folder={site}/new"]
    assert counted(site, *copy)["threads"] == {"superfluous": 1, "written": 2}
    assert run(site, *copy, "--delete").exit_code == 2
    assert counted(site, *copy, "--delete", "--dry-run")["threads"] == {"superfluous": 1, "same": 2}
    assert counted(site, *copy, "--delete", "--yes")["threads"] == {"removed": 1, "same": 2}


def test_a_difference_has_an_exit_code(site: pathlib.Path) -> None:
    with sqlite3.connect(site / "instance" / "chat-memory.sqlite3") as connection:
        connection.execute("UPDATE chat_memory_message SET body = '{' WHERE sequence = 2")
    connection.close()
    result = run(site, "copy", "--from", "default", "--to", "file", "--to-option", f"folder={site}/new")
    assert result.exit_code == 1
    assert "threads    unreadable  2" in result.stdout
    assert "Not all of it is the same" in result.stderr
    exported = run(site, "export", str(site / "all.jsonl"))
    assert exported.exit_code == 1
    assert "2 could not be read" in exported.stderr


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["copy"], "--from"),
        (["copy", "--from", "default", "--to", "default"], "one and the same"),
        (["copy", "--from", "default", "--from-option", "a=1", "--to", "in_memory"], "is a chatbot of the site"),
        (["copy", "--from", "default", "--to", "in_memory", "--to-option", "a:secret@b"], "given as name=value"),
        (["import", "nonsense", "file"], "nonsense"),
        (["import", "langchain", "file"], "--owner"),
        (["import", "export", "file", "--table", "x"], "--table"),
        (["import", "neuron-file", "file", "--owner", "user:1", "--table", "x"], "no table"),
        (["import", "langchain", "file", "--owner", "a", "--chatbot", "none"], "no chatbot 'none'"),
        (["import", "langchain", "missing", "--owner", ""], "owner"),
        (["export", "file", "--owner", ""], "owner"),
        (["export"], "FILE"),
        (["export", "file", "--chatbot", "none"], "no chatbot 'none'"),
    ],
)
def test_wrong_usage_says_what_is_wrong(site: pathlib.Path, args: list[str], says: str) -> None:
    result = run(site, *args)
    assert result.exit_code == 2
    assert says in result.stderr
    assert "secret" not in result.stderr
    assert result.stdout == ""


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["copy", "--from", "default", "--to", "nonsense"], "no plugin 'nonsense'"),
        (["copy", "--from", "default", "--to", "file", "--to-option", "colour=red"], "colour"),
        (["import", "export", "missing"], "No such file"),
        (["import", "langchain", "missing", "--owner", "user:1"], "no such file"),
        (["import", "neuron-file", "missing", "--owner", "user:1"], "no such folder"),
        (["import", "langchain", "oracle://a/b", "--owner", "user:1"], "oracle"),
        (["import", "langchain", "postgresql://a:secret@b:port/c", "--owner", "user:1"], "no database URL"),
        (["export", "missing/file"], "cannot be written"),
        (["stats", "--plot", "missing/file.svg"], "missing/file.svg: No such file"),
    ],
)
def test_what_cannot_be_done_is_told_in_a_sentence(site: pathlib.Path, args: list[str], says: str) -> None:
    result = run(site, *args)
    assert result.exit_code == 1
    assert says in result.stderr
    assert "Traceback" not in result.stderr
    assert "secret" not in result.stderr


def test_an_export_is_imported_again(site: pathlib.Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    path, other = site / "all.jsonl", tmp_path_factory.mktemp("other")
    assert counted(site, "export", str(path)) == {
        "threads": {"exported": 2},
        "messages": {"exported": 4},
        "documents": {"exported": 2},
        "usage": {"exported": 0},
        "unreadable": 0,
    }
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    first = counted(other, "import", "export", str(path))
    assert first == {"threads": {"written": 2}, "messages": {"written": 4}, "documents": {"written": 2}}
    again = counted(other, "import", "export", str(path))
    assert again == {"threads": {"same": 2}, "messages": {"same": 4}, "documents": {"same": 2}}
    second = run(other, "export", "-")
    assert second.stdout.splitlines()[1:] == path.read_text().splitlines()[1:]


def test_who_made_the_file_before_can_not_read_an_export(site: pathlib.Path) -> None:
    path, theirs = site / "all.jsonl", site / "theirs"
    theirs.touch(0o644)
    path.touch(0o644)
    (site / "all.jsonl.part").symlink_to(theirs)
    with path.open("rb") as opened:
        counted(site, "export", str(path))
        assert opened.read() == b""
    assert (theirs.read_text(), stat.S_IMODE(path.lstat().st_mode)) == ("", 0o600)
    assert b'"kind":"end"' in path.read_bytes()


def test_an_export_takes_the_place_of_no_device_pipe_or_link(site: pathlib.Path) -> None:
    """As of /dev/null, by an operator who may do everything."""
    os.mkfifo(site / "pipe")
    (site / "theirs").touch()
    (site / "link").symlink_to(site / "theirs")
    for name, kind in (("pipe", stat.S_ISFIFO), ("link", stat.S_ISLNK)):
        result = run(site, "export", str(site / name))
        assert (result.exit_code, "no regular file" in result.stderr) == (1, True)
        assert kind((site / name).lstat().st_mode)


def test_an_export_goes_through_pipes(site: pathlib.Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    app = make_app(tmp_path_factory.mktemp("other"))
    ChatMemory(app)
    args = ["chat-memory", "import", "export", "-", "--json"]
    result = app.test_cli_runner().invoke(args=args, input=run(site, "export", "-").stdout_bytes)
    assert json.loads(result.stdout)["threads"] == {"written": 2}


def test_the_export_of_an_owner_can_become_anothers(site: pathlib.Path) -> None:
    path = site / "one.jsonl"
    run(site, "export", str(path), "--owner", "user:1")
    assert counted(site, "import", "export", str(path))["threads"] == {"same": 1}
    assert counted(site, "import", "export", str(path), "--owner", "user:9")["threads"] == {"written": 1}
    app = make_app(site)
    memory = ChatMemory(app)
    with app.app_context():
        assert memory.plugin is not None
        assert texts(memory.plugin.load_messages(Scope("user:9"), "of user:1")) == ["question 1", "answer 1"]
        assert memory.storage("user_memory").of_owner("user:9").load("likes") == {"text": "tea"}
    run(site, "export", str(path))
    refused = run(site, "import", "export", str(path), "--owner", "user:9")
    assert (refused.exit_code, "no export of one owner" in refused.stderr) == (1, True)


def test_what_has_no_place_is_told(site: pathlib.Path) -> None:
    path = site / "all.jsonl"
    run(site, "export", str(path))
    result = run(site, "import", "export", str(path), CHAT_MEMORY_CHATBOTS={"sales": {}})
    assert result.exit_code == 1
    assert "threads    homeless  2" in result.stdout
    assert "2 have no place" in result.stderr


def test_what_was_cut_off_is_told_and_the_rest_is_there(site: pathlib.Path, tmp_path_factory: t.Any) -> None:
    path, other = site / "all.jsonl", tmp_path_factory.mktemp("other")
    run(site, "export", str(path))
    text = path.read_bytes()
    path.write_bytes(text[: text.rindex(b'{"kind":"thread"') + 400])
    result = run(other, "import", "export", str(path))
    assert (result.exit_code, "cut off" in result.stderr) == (1, True)
    assert len(run(other, "export", "-").stdout.splitlines()) == 6


def test_another_library_is_imported(site: pathlib.Path) -> None:
    (site / "neuron_one.chat").write_text(json.dumps(NEURON))
    args = ["import", "neuron-file", str(site), "--owner", "user:{session}"]
    result = run(site, *args, "--json")
    assert json.loads(result.stdout) == {
        "threads": {"written": 1},
        "messages": {"written": 7},
        "left_out": {"system message": 1},
    }
    assert result.stderr == "Left out: 1 x system message.\n"
    assert counted(site, *args)["threads"] == {"same": 1}


@pytest.mark.parametrize(
    "args",
    [
        ["copy", "--from", "default", "--to", "file", "--to-option", "folder={folder}/new"],
        ["export", "{folder}/all.jsonl"],
        ["import", "neuron-file", "{folder}", "--owner", "user:{{session}}"],
        ["forget", "user:1", "--yes"],
    ],
    ids=lambda args: args[0],
)
def test_a_terminal_shows_how_far_it_is(site: pathlib.Path, args: list[str]) -> None:
    (site / "neuron_one.chat").write_text(json.dumps(NEURON))
    shown, code = shown_on_terminal(site, *(arg.format(folder=site) for arg in args))
    assert code == 0, shown
    assert "Forgetting" in shown if args[0] == "forget" else "Conversations" in shown
    assert "conversation" in shown or "threads" in shown


def test_an_export_is_not_written_to_a_terminal(site: pathlib.Path) -> None:
    shown, code = shown_on_terminal(site, "export", "-")
    assert (code, "kind" in shown) == (2, False)


def shown_on_terminal(site: pathlib.Path, *args: str) -> tuple[str, int]:
    script = (
        "import pathlib, flask.cli\n"
        "from flask_chat_memory import ChatMemory\n"
        "from flask_chat_memory.cli import commands\n"
        "from tests.apps import make_app\n"
        f"app = make_app(pathlib.Path({str(site)!r}))\n"
        "ChatMemory(app)\n"
        f"commands.main({list(args)!r}, "
        "obj=flask.cli.ScriptInfo(create_app=lambda: app), prog_name='chat-memory')"
    )
    return on_terminal([sys.executable, "-c", script])
