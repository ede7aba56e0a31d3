"""The choice of chatbots on the command line."""

from __future__ import annotations

import click

from ..plugins.base import ChatMemoryPlugin
from ..web.current import chat_memory

chatbot_option = click.option("--chatbot", metavar="NAME", help="Only this chatbot; else all of the site.")


def server_plugins(chatbot: str | None) -> list[tuple[str, ChatMemoryPlugin]]:
    """Return name and plugin of each chosen chatbot that keeps its history on the server.

    :param chatbot: None chooses all.
    :raises click.UsageError: if there is no such chatbot.
    :raises click.ClickException: if the one that was chosen has no plugin.
    """
    memory = chat_memory()
    names = list(memory.settings.chatbots)
    if chatbot is not None and chatbot not in names:
        raise click.UsageError(f"There is no chatbot {chatbot!r}; the chatbots are: {', '.join(names)}.")
    chosen = {name: memory.plugin_for(name) for name in names if chatbot in (None, name)}
    if chatbot is not None and chosen[chatbot] is None:
        raise click.ClickException(f"Chatbot {chatbot!r} keeps no history on the server.")
    return [(name, plugin) for name, plugin in chosen.items() if plugin is not None]
