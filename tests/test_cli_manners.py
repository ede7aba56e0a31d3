"""What all commands of ``flask chat-memory`` have in common."""

from __future__ import annotations

import errno
import json
import os
import pathlib
import sys
import threading
import typing as t

import click
import click.testing
import flask.cli
import pytest

from flask_chat_memory import ChatMemory
from flask_chat_memory.cli import COMMANDS
from flask_chat_memory.cli import commands
from flask_chat_memory.cli.command import operator_command
from flask_chat_memory.cli.deleting import confirm
from flask_chat_memory.cli.deleting import deletion_options
from flask_chat_memory.cli.output import print_json
from flask_chat_memory.cli.output import print_table
from flask_chat_memory.cli.output import printable
from flask_chat_memory.cli.progress import progress
from flask_chat_memory.errors import StorageError
from tests.apps import make_app
from tests.apps import PATIENCE
from tests.terminal import on_terminal


def run(folder: pathlib.Path, *args: str, **config: t.Any) -> click.testing.Result:
    app = make_app(folder, **config)
    ChatMemory(app)
    return app.test_cli_runner().invoke(args=["chat-memory", *args])


def run_function(folder: pathlib.Path, command: click.Command, *args: str, **more: t.Any) -> click.testing.Result:
    app = make_app(folder)
    ChatMemory(app)
    app.cli.add_command(command, "tried")
    return app.test_cli_runner().invoke(args=["tried", *args], **more)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_an_example_json_and_its_own_name(name: str) -> None:
    command = commands.get_command(click.Context(commands), name)
    assert command is not None
    assert command.name == name
    options = {option for parameter in command.params for option in parameter.opts}
    assert "--json" in options
    assert "--yes" not in options or "--dry-run" in options
    help = command.get_help(click.Context(command, info_name=name))
    assert f"\n  flask chat-memory {name}" in help


@pytest.mark.parametrize("args", [["nonsense"], ["plugins", "--nonsense"], ["plugins", "surplus"]])
def test_wrong_usage_has_a_code_of_its_own(tmp_path: pathlib.Path, args: list[str]) -> None:
    result = run(tmp_path, *args)
    assert result.exit_code == 2
    assert result.stdout == ""


def test_a_failure_is_a_sentence_that_steers_no_terminal(tmp_path: pathlib.Path) -> None:
    @operator_command
    def command(as_json: bool) -> None:
        raise StorageError("the store \x1b[31mfailed")

    result = run_function(tmp_path, command, "--json")
    assert (result.exit_code, result.stdout, result.stderr) == (1, "", "Error: the store \ufffd[31mfailed\n")


def test_ctrl_c_says_that_the_command_can_be_run_again(tmp_path: pathlib.Path) -> None:
    @operator_command
    def command(as_json: bool) -> None:
        raise KeyboardInterrupt

    result = run_function(tmp_path, command)
    assert result.exit_code == 130
    assert "run the command again" in result.stderr


def deleting() -> click.Command:
    @operator_command
    @deletion_options
    def command(as_json: bool, dry_run: bool, yes: bool) -> None:
        confirm("Delete \x1b[31mall?", yes)
        click.echo("deleted")

    return command


def test_nothing_is_deleted_where_nobody_can_be_asked(tmp_path: pathlib.Path) -> None:
    result = run_function(tmp_path, deleting())
    assert result.exit_code == 2
    assert "--yes" in result.stderr and "--dry-run" in result.stderr
    assert run_function(tmp_path, deleting(), "--yes").stdout == "deleted\n"


@pytest.mark.parametrize(("answer", "code"), [(b"y\n", 0), (b"n\n", 1), (b"\n", 1), (b"\x04", 130)])
def test_a_person_is_asked(answer: bytes, code: int) -> None:
    script = "from tests.test_cli_manners import deleting, run_alone; run_alone(deleting())"
    written, ended = on_terminal([sys.executable, "-c", script], answer, "[y/N]")
    assert ended == code, written
    assert "Delete \ufffd[31mall?" in written
    assert ("\r\ndeleted" in written) == (code == 0)


def run_alone(command: click.Command) -> None:
    command.main([], obj=flask.cli.ScriptInfo(create_app=lambda: flask.Flask("tried")), prog_name="tried")


def test_a_terminal_shows_how_far_the_work_is() -> None:
    script = (
        "from flask_chat_memory.cli.progress import progress\nwith progress('Working', {}) as done: done(3); done(1)"
    )
    known, code = on_terminal([sys.executable, "-c", script.format(4)])
    assert code == 0
    assert "Working" in known and "4/4" in known
    assert "Working" in on_terminal([sys.executable, "-c", script.format(None)])[0]


def test_ctrl_c_leaves_the_bar_in_a_line_of_its_own() -> None:
    script = "from tests.test_cli_manners import run_alone, working; run_alone(working())"
    shown, code = on_terminal([sys.executable, "-c", script], b"\x03", "3/4")
    assert code == 130
    assert shown.rstrip().splitlines()[-1].startswith("Interrupted.")


def working() -> click.Command:
    @operator_command
    def command(as_json: bool) -> None:
        with progress("Working", 4) as done:
            done(3)
            threading.Event().wait(PATIENCE)

    return command


def test_no_bar_is_written_to_a_log(capfd: pytest.CaptureFixture[str]) -> None:
    with progress("Working", 4) as done:
        done(4)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    "text", ["\x1b]0;title\x07", "a\rb", "a\nb", "\u202eabc", "\u2066x", "\x9b31m", "\ud800", "\u2028", "\x00", "\x7f"]
)
def test_text_of_visitors_steers_no_terminal(text: str) -> None:
    assert not set(text) & set(printable(text)) - set("]0;titleab31mcx")


@pytest.mark.parametrize("text", ["grüße", "你好", "می\u200cخواهم", "👩\u200d🚀", "a\u0301"])
def test_text_of_any_script_is_printed_as_it_is(text: str) -> None:
    assert printable(text) == text


def test_columns_are_even_with_wide_letters(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(("title", "n"), [("你好", 1), ("abcd", 2), (None, 3)])
    assert capsys.readouterr().out == "title  n\n你好   1\nabcd   2\n       3\n"


@pytest.mark.parametrize("text", ["\x1b[2J", "\x9b31m", "\u202eabc", "\x7f", "\ud800", "\U000e0001", "grüße"])
def test_json_steers_no_terminal_and_loses_nothing(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    print_json([text])
    written = capsys.readouterr().out
    assert printable(written.rstrip("\n")) == written.rstrip("\n")
    assert json.loads(written) == [text]


def test_a_disk_that_is_full_is_told_and_a_reader_who_has_gone_is_not(tmp_path: pathlib.Path) -> None:
    @operator_command
    @click.option("--number", type=int)
    def command(as_json: bool, number: int) -> None:
        raise OSError(number, os.strerror(number))

    full = run_function(tmp_path, command, "--number", str(errno.ENOSPC))
    assert (full.exit_code, full.stderr) == (1, "Error: No space left on device\n")
    gone = run_function(tmp_path, command, "--number", str(errno.EPIPE))
    assert (gone.exit_code, gone.stderr) == (1, "")


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_is_in_the_table_of_the_documentation(name: str) -> None:
    page = pathlib.Path(__file__).parents[1] / "docs" / "operations.md"
    rows = [line.split("|")[1] for line in page.read_text().splitlines() if line.startswith("| ")]
    assert any(f"`{name}" in row for row in rows)


def test_json_is_one_line_of_readable_text(tmp_path: pathlib.Path) -> None:
    result = run(tmp_path, "plugins", "--json")
    assert result.exit_code == 0
    assert len(result.stdout.splitlines()) == 1
    assert json.loads(result.stdout)
