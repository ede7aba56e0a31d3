"""``flask chat-memory reset``."""

from __future__ import annotations

import click

from ..plugins.records import Scope
from ..threads import lister
from ..web.current import chat_memory
from .chatbots import chatbot_option
from .chatbots import server_plugins
from .command import operator_command
from .deleting import confirm
from .deleting import deletion_options
from .output import print_json
from .owners import owner_argument
from .progress import progress


@operator_command
@owner_argument
@chatbot_option
@deletion_options
def command(as_json: bool, owner: str, chatbot: str | None, dry_run: bool, yes: bool) -> None:
    """Delete the conversations of an owner, who begins anew; memories and other documents stay.

    \b
    flask chat-memory reset user:1
    """
    lists = [(Scope(owner, name), lister(plugin)) for name, plugin in server_plugins(chatbot)]
    found = [(scope, thread.id) for scope, plugin in lists for thread in plugin.list_threads(scope)]
    counts = {scope.chatbot: sum(of == scope for of, _ in found) for scope, _ in lists}
    if found and not dry_run:
        confirm(f"Delete {len(found):,} conversations of {owner} for ever?", yes)
        conversations = {scope: chat_memory().start_conversation(owner, scope.chatbot) for scope, _ in lists}
        with progress("Deleting", len(found)) as done:
            for scope, thread_id in found:
                counts[scope.chatbot] -= not conversations[scope].delete_thread(thread_id)
                done(1)
    if as_json:
        print_json({"dry_run": dry_run, "deleted": counts})
        return
    verb = "Would delete" if dry_run else "Deleted"
    for name, count in counts.items():
        click.echo(f"{verb} {count:,} conversations with {name}.")
