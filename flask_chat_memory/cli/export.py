"""``flask chat-memory export``."""

from __future__ import annotations

import collections
import sys
import time
import typing as t

import click

from ..transfer.copying import Counts
from ..transfer.entries import line_of
from ..transfer.entries import ThreadEnd
from ..transfer.exporting import Export
from ..transfer.private_file import private_file
from ..web.current import chat_memory
from .chatbots import chatbot_option
from .chatbots import server_plugins
from .command import operator_command
from .moving import report
from .owners import owner_name
from .progress import progress


@operator_command
@click.argument("file", type=click.Path(dir_okay=False, allow_dash=True))
@click.option("--owner", metavar="OWNER", type=owner_name, help="Only what is this owner's, as user:42.")
@chatbot_option
def command(file: str, owner: str | None, chatbot: str | None, as_json: bool) -> None:
    """Write all conversations, usage and documents to a file as lines of JSON; - is standard output.

    The file is for its owner's eyes only, and there once it is whole.

    \b
    flask chat-memory export --owner user:42 user-42.jsonl
    """
    if file == "-" and sys.stdout.isatty():
        raise click.UsageError("What visitors wrote may steer a terminal; give a file, or lead it to another program.")
    server_plugins(chatbot)
    export = Export(chat_memory().stores(), time.time(), owner=owner, chatbot=chatbot)
    if file == "-":
        _write(export, sys.stdout.buffer)
        sys.stdout.buffer.flush()
    else:
        _write_file(export, file)
        counts: Counts = collections.Counter()
        for what in ("threads", "messages", "usage", "documents"):
            counts[t.cast(t.Any, what), "exported"] = getattr(export, what)
        report(counts, as_json, {"unreadable": export.unreadable})
    if export.unreadable:
        raise click.ClickException(f"{export.unreadable} could not be read and are not in the export.")


def _write_file(export: Export, path: str) -> None:
    try:
        with private_file(path) as file:
            _write(export, file)
    except OSError as error:
        raise click.ClickException(f"The file cannot be written: {error.strerror}.") from error


def _write(export: Export, file: t.BinaryIO) -> None:
    with progress("Conversations") as done:
        for entry in export:
            file.write(line_of(entry))
            if isinstance(entry, ThreadEnd):
                done(1)
