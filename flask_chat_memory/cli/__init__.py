"""The commands of ``flask chat-memory``, for whoever operates a site; each is imported when it is asked for."""

from __future__ import annotations

import importlib
import keyword
import typing as t

import click

COMMANDS = (
    "plugins", "doctor", "threads", "show", "stats", "purge", "reset", "forget", "export", "import", "copy", "rewrap",
    "upgrade",
)  # fmt: skip
"""In the order of their help. Each has a module of its name, with ``_`` after a keyword of Python."""


class _Commands(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = f"{cmd_name}_" if keyword.iskeyword(cmd_name) else cmd_name
        return t.cast(click.Command, importlib.import_module(f".{module}", __name__).command)


commands = _Commands("chat-memory", help="Look after the conversations of the chatbots.")
"""To be added to the commands of an app."""
