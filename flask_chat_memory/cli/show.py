"""``flask chat-memory show``."""

from __future__ import annotations

import collections.abc as cabc

import click

from ..message import ChatMessage
from ..plugins.abilities import DescribesThreads
from ..plugins.base import ChatMemoryPlugin
from ..plugins.records import Scope
from ..plugins.rules import sequence_of
from .chatbots import chatbot_option
from .chatbots import server_plugins
from .command import operator_command
from .output import print_json
from .output import printable
from .owners import owner_argument

PAGE = 200


@operator_command
@owner_argument
@click.argument("thread_id")
@chatbot_option
def command(as_json: bool, owner: str, thread_id: str, chatbot: str | None) -> None:
    """Show what was said in a conversation.

    \b
    flask chat-memory show user:1 8f14e45fceea167a5a36dedd4bea2543
    """
    for name, plugin in server_plugins(chatbot):
        scope = Scope(owner, name)
        if plugin.has_thread(scope, thread_id):
            break
    else:
        raise click.ClickException("The owner has no such conversation.")
    title = _title(plugin, scope, thread_id)
    messages = _messages(plugin, scope, thread_id)
    if as_json:
        said = [{"sequence": message.sequence, **message.to_dict()} for message in messages]
        print_json({"owner": owner, "chatbot": name, "id": thread_id, "title": title, "messages": said})
        return
    click.secho(printable(title or "(no title)"), bold=True)
    for message in messages:
        about = (message.created_at, message.model, message.status if message.status != "complete" else None)
        head = ", ".join([f"{message.sequence} {message.role}", *(value for value in about if value)])
        click.secho(f"\n{printable(head)}", bold=True)
        for line in _text(message).splitlines():
            click.echo(f"  {printable(line)}")


def _title(plugin: ChatMemoryPlugin, scope: Scope, thread_id: str) -> str | None:
    thread = plugin.find_thread(scope, thread_id) if isinstance(plugin, DescribesThreads) else None
    return thread.title if thread else None


def _messages(plugin: ChatMemoryPlugin, scope: Scope, thread_id: str) -> cabc.Iterator[ChatMessage]:
    page = plugin.load_messages(scope, thread_id, limit=PAGE, after=0)
    while page:
        yield from page
        page = plugin.load_messages(scope, thread_id, limit=PAGE, after=sequence_of(page[-1]))


def _text(message: ChatMessage) -> str:
    """Return what the message says, with what it has besides in words."""
    content = message.content
    others = [part for part in content if "text" not in part] if isinstance(content, list) else []
    lines = [message.text] if message.text else []
    lines += [f"[{part.get('type', 'part')}]" for part in others]
    lines += [f"[calls {call.get('function', {}).get('name', call.get('id'))}]" for call in message.tool_calls or ()]
    return "\n".join(lines) or "[nothing]"
