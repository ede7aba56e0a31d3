"""``flask chat-memory threads``."""

from __future__ import annotations

import collections.abc as cabc
import heapq

import click
import msgspec

from ..message import timestamp
from ..plugins.abilities import PurgesThreads
from ..plugins.base import ChatMemoryPlugin
from ..plugins.records import Scope
from ..plugins.records import Thread
from ..retention import purger
from ..threads import lister
from .chatbots import chatbot_option
from .chatbots import server_plugins
from .command import operator_command
from .output import print_json
from .output import print_table
from .owners import owner_name
from .progress import progress

Found = tuple[Scope, Thread]


@operator_command
@click.option("--owner", type=owner_name, help="Only of this owner, as user:1.")
@chatbot_option
@click.option("--limit", type=click.IntRange(min=1), default=50, show_default=True, help="At most so many.")
def command(as_json: bool, owner: str | None, chatbot: str | None, limit: int) -> None:
    """List conversations, the newest activity first.

    \b
    flask chat-memory threads --owner user:1
    flask chat-memory threads --chatbot support --limit 10 --json
    """
    plugins = server_plugins(chatbot)
    if owner is None:
        # Before anything is listed: whether all of them can be.
        all_of = [(name, plugin, purger(name, plugin)) for name, plugin in plugins]
        with progress("Looking") as done:
            every = (found for name, plugin, purging in all_of for found in _every(name, plugin, purging, done))
            threads = heapq.nlargest(limit, every, key=_activity)
    else:
        lists = [(Scope(owner, name), lister(plugin)) for name, plugin in plugins]
        of_owner = [(scope, thread) for scope, lists in lists for thread in lists.list_threads(scope, limit=limit)]
        threads = heapq.nlargest(limit, of_owner, key=_activity)
    if as_json:
        print_json([{**msgspec.to_builtins(scope), **msgspec.to_builtins(thread)} for scope, thread in threads])
        return
    print_table(
        ("owner", "chatbot", "id", "last activity", "messages", "tokens", "title"),
        (
            (
                scope.owner,
                scope.chatbot,
                thread.id,
                timestamp(int(thread.last_activity)),
                thread.messages,
                thread.tokens,
                thread.title,
            )
            for scope, thread in threads
        ),
    )


def _every(
    name: str, plugin: ChatMemoryPlugin, purging: PurgesThreads, done: cabc.Callable[[int], None]
) -> cabc.Iterator[Found]:
    for scope, thread in purging.all_threads(chatbot=name):
        done(1)
        if not plugin.is_expired(thread.last_activity):
            yield scope, thread


def _activity(found: Found) -> float:
    return found[1].last_activity
