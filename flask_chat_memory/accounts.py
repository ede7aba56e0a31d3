"""What the answers to an owner have cost, over all chatbots."""

from __future__ import annotations

import abc
import collections.abc as cabc
import datetime as dt
import typing as t

from .errors import ConfigurationError
from .plugins.abilities import CountsUsage
from .plugins.base import ChatMemoryPlugin
from .plugins.records import Scope
from .plugins.records import UsageDay
from .usage import Counted

Price = cabc.Callable[[Counted, str | None], float]
"""Takes numbers of tokens and the model that they are of; returns what they cost."""

P = t.TypeVar("P", bound=Price)


class Accounts(abc.ABC):
    """The part of the extension that reads the ledgers of its chatbots."""

    def __init__(self) -> None:
        super().__init__()
        self._price: Price | None = None

    @abc.abstractmethod
    def _counted(self, chatbot: str | None) -> cabc.Iterator[tuple[str, ChatMemoryPlugin]]:
        """Yield name and plugin of a chatbot, or of all, that keep their history on the server."""

    def usage(
        self, owner: str, chatbot: str | None = None, *, since: dt.date | None = None, until: dt.date | None = None
    ) -> list[UsageDay]:
        """Return what the answers to an owner have cost, by day (of UTC), chatbot and model.

        :param chatbot: None is all chatbots that keep their history on the server.
        :param since: the first day; ``until`` is the last one.
        :raises ConfigurationError: if a plugin does not count usage.
        :raises MissingOwner: without an owner.
        """
        found: list[UsageDay] = []
        for name, plugin in self._counted(chatbot):
            if not isinstance(plugin, CountsUsage):
                raise ConfigurationError(f"plugin {plugin.id!r} of chatbot {name!r} does not count usage")
            found += plugin.list_usage(Scope(owner, name), since=since, until=until)
        return sorted(found, key=lambda line: (line.day, line.chatbot, line.model or ""))

    def price(self, function: P) -> P:
        """Register the function that says what tokens cost: it is given a usage and a model, and returns a number.

        :raises ConfigurationError: for a second one.
        """
        if self._price is not None:
            raise ConfigurationError("there is a function for the price already")
        self._price = function
        return function

    def cost(
        self, owner: str, chatbot: str | None = None, *, since: dt.date | None = None, until: dt.date | None = None
    ) -> float:
        """Return the price of :meth:`usage`.

        :raises ConfigurationError: if no function for the price is registered.
        """
        if self._price is None:
            raise ConfigurationError("there is no function for the price; register one with @memory.price")
        return sum(self._price(line, line.model) for line in self.usage(owner, chatbot, since=since, until=until))
