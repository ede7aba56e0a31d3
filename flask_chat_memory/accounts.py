"""What the answers to an owner have cost, over all chatbots that count it."""

from __future__ import annotations

import collections.abc as cabc
import datetime as dt

from .errors import ConfigurationError
from .plugins.abilities import CountsUsage
from .plugins.base import ChatMemoryPlugin
from .plugins.records import Scope
from .plugins.records import UsageDay
from .usage import Counted

Price = cabc.Callable[[Counted, str | None], float]
"""Takes numbers of tokens and the model that they are of; returns what they cost."""


def usage_of(
    owner: str,
    plugins: cabc.Iterable[tuple[str, ChatMemoryPlugin]],
    since: dt.date | None,
    until: dt.date | None,
) -> list[UsageDay]:
    """Return the lines of the ledgers, by day, chatbot and model.

    :param plugins: name and plugin of each chatbot.
    :raises ConfigurationError: if a plugin counts nothing.
    """
    found: list[UsageDay] = []
    for chatbot, plugin in plugins:
        if not isinstance(plugin, CountsUsage):
            raise ConfigurationError(f"plugin {plugin.id!r} of chatbot {chatbot!r} does not count usage")
        found += plugin.list_usage(Scope(owner, chatbot), since=since, until=until)
    return sorted(found, key=lambda line: (line.day, line.chatbot, line.model or ""))
