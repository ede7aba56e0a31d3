"""``flask chat-memory import``."""

from __future__ import annotations

import collections.abc as cabc

import click

from ..settings import DEFAULT_CHATBOT
from ..titles import shortened
from ..transfer.copying import Counts
from ..transfer.foreign.base import Source
from ..transfer.foreign.importing import ForeignImport
from ..transfer.foreign.importing import SESSION
from ..transfer.foreign.langchain import LangChain
from ..transfer.foreign.neuron import NeuronFiles
from ..transfer.foreign.neuron import NeuronMessages
from ..transfer.foreign.neuron import NeuronThreads
from ..transfer.foreign.openai_agents import OpenAIAgents
from ..transfer.importing import Import
from ..web.current import chat_memory
from .chatbots import chatbot_option
from .chatbots import server_plugins
from .command import operator_command
from .moving import plain_value
from .moving import report
from .output import printable
from .owners import owner_name
from .progress import progress

EXPORT = "export"
SOURCES: dict[str, cabc.Callable[..., Source]] = {
    "langchain": LangChain,
    "openai-agents": OpenAIAgents,
    "neuron-file": NeuronFiles,
    "neuron-sql": NeuronThreads,
    "neuron-eloquent": NeuronMessages,
}


@operator_command
@click.argument("format", type=click.Choice([EXPORT, *SOURCES]))
@click.argument("file")
@click.option(
    "--owner", metavar="OWNER", type=owner_name, help=f"Whose it becomes; {SESSION} stands for an id in the source."
)
@click.option("--table", metavar="NAME", help="The table of the source, if it has another name than usual.")
@chatbot_option
def command(format: str, file: str, owner: str | None, table: str | None, chatbot: str | None, as_json: bool) -> None:
    """Store what an export or another library has kept; what is there already, or newer, stays.

    FILE is the file of an export (- is standard input), a folder, the URL of a database, the file of one, or env: and
    the name of an environment variable that holds it.

    \b
    flask chat-memory import export user-42.jsonl
    flask chat-memory import langchain env:OLD_DATABASE --owner 'user:{session}'
    """
    where = plain_value(file)
    if format == EXPORT:
        if table is not None or chatbot is not None:
            raise click.UsageError("An export says itself what belongs where; --table and --chatbot are for others.")
        _import_export(where, owner, as_json)
        return
    if owner is None:
        raise click.UsageError(f"This source knows no owners; say --owner OWNER, as 'user:{SESSION}'.")
    if table is not None and format == "neuron-file":
        raise click.UsageError("Files have no table.")
    name = chatbot or next(iter(chat_memory().settings.chatbots), DEFAULT_CHATBOT)
    ((_, plugin),) = server_plugins(name)
    source = SOURCES[format](where, **({} if table is None else {"table": table}))
    done = ForeignImport(plugin, name, owner, title_of=shortened)
    with progress("Conversations") as step:
        for _ in done.run(source):
            step(1)
    _report(done.counts, as_json, source.left_out)


def _import_export(path: str, owner: str | None, as_json: bool) -> None:
    done = Import(chat_memory().stores(), owner=owner)
    try:
        with click.open_file(path, "rb") as file, progress("Pieces") as step:
            for _ in done.run(file):
                step(1)
    except OSError as error:
        raise click.ClickException(f"The file cannot be read: {error.strerror}.") from error
    _report(done.counts, as_json, {})


def _report(counts: Counts, as_json: bool, left_out: cabc.Mapping[str, int]) -> None:
    report(counts, as_json, {"left_out": dict(left_out)} if left_out else {})
    for what, count in left_out.items():
        click.echo(printable(f"Left out: {count} x {what}."), err=True)
    homeless = sum(count for (what, outcome), count in counts.items() if outcome == "homeless" and what != "messages")
    if homeless:
        raise click.ClickException(f"{homeless} have no place: the site has no such chatbot, or no such storage.")
