"""Every command that takes an owner, with an owner who has nothing to do with what is stored."""

from __future__ import annotations

import pathlib
import typing as t

import click
import pytest

from flask_chat_memory import ChatMemory
from flask_chat_memory import Scope
from flask_chat_memory.cli import commands
from flask_chat_memory.testing.contracts.parts import AblePlugin
from flask_chat_memory.testing.contracts.parts import contents

from .apps import make_app
from .conversations import ask

OWNER = "user:1"
ARGUMENTS: dict[str, tuple[str, ...]] = {
    "threads": ("--owner", "{owner}"),
    "show": ("{owner}", "{thread}"),
    "reset": ("{owner}", "--yes"),
    "forget": ("{owner}", "--yes"),
    "export": ("-", "--owner", "{owner}"),
    "import": ("export", "{file}", "--owner", "{owner}"),
}


class Site:
    def __init__(self, folder: pathlib.Path) -> None:
        self.app = make_app(folder, CHAT_MEMORY_OPTIONS={"threads": "many"})
        self.memory = ChatMemory(self.app)
        with self.app.app_context():
            conversation = self.memory.start_conversation(OWNER, title="the secret title")
            ask(conversation, "the secret question")
            self.thread_id = str(conversation.thread_id)
            self.memory.user_memories(OWNER).add("a secret memory")
            self.plugin = t.cast(AblePlugin, self.memory.plugin)
        self.file = str(folder / "export.jsonl")
        self.run("export", self.file, "--owner", "user:nobody")

    def run(self, *args: str) -> tuple[int, str]:
        result = self.app.test_cli_runner().invoke(args=["chat-memory", *args])
        return result.exit_code, result.output

    def call(self, name: str, owner: str, thread_id: str) -> tuple[int, str]:
        named = {"owner": owner, "thread": thread_id, "file": self.file}
        return self.run(name, *(argument.format(**named) for argument in ARGUMENTS[name]))

    def state(self) -> object:
        with self.app.app_context():
            memories = self.memory.user_memories(OWNER).list()
        return contents(self.plugin, Scope(OWNER), self.thread_id), self.plugin.list_usage(Scope(OWNER)), memories


@pytest.fixture
def site(tmp_path: pathlib.Path) -> Site:
    return Site(tmp_path)


def test_every_command_that_takes_an_owner_is_here() -> None:
    with click.Context(commands) as context:
        found = {name: commands.get_command(context, name) for name in commands.list_commands(context)}
    taking = {name for name, command in found.items() if command and "owner" in {one.name for one in command.params}}
    assert taking == set(ARGUMENTS)


@pytest.mark.parametrize("name", ARGUMENTS)
@pytest.mark.parametrize("stranger", ["user:10", "user:", "USER:1", "user:*", "user:%", "user:1/../user:1"])
def test_another_owner_is_told_and_loses_nothing(site: Site, name: str, stranger: str) -> None:
    before = site.state()
    code, told = site.call(name, stranger, site.thread_id)
    assert "secret" not in told
    assert site.state() == before
    assert code == site.call(name, stranger, "unknown")[0]


@pytest.mark.parametrize("name", ARGUMENTS)
@pytest.mark.parametrize("nobody", ["", "x" * 256, "a\x00b"])
def test_what_is_no_owner_is_wrong_usage(site: Site, name: str, nobody: str) -> None:
    before = site.state()
    code, told = site.call(name, nobody, site.thread_id)
    assert code == 2, told
    assert site.state() == before


@pytest.mark.parametrize("name", sorted(set(ARGUMENTS) - {"import"}))
def test_the_owner_is_told_or_loses_what_is_theirs(site: Site, name: str) -> None:
    before = site.state()
    code, told = site.call(name, OWNER, site.thread_id)
    assert code == 0, told
    assert "secret" in told or site.state() != before
