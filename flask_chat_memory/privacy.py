"""Gives owners what is stored of them."""

from __future__ import annotations

import abc
import collections.abc as cabc
import time
import typing as t

from .errors import ConfigurationError
from .forgetting import Forgetting
from .plugins.records import Scope
from .transfer.exporting import Export
from .transfer.readable import HTML
from .transfer.readable import Markdown
from .transfer.stores import movable
from .transfer.stores import Stores

Format = t.Literal["json", "md", "html"]


class Privacy(Forgetting, abc.ABC):
    """The part of the extension that exports and forgets owners."""

    @abc.abstractmethod
    def _stores(self) -> Stores:
        """Return the plugins and storages of the current app."""

    def export(self, owner: str, format: Format = "json") -> cabc.Iterator[bytes]:
        """Return all that is stored of an owner, piece by piece: conversations, documents of all domains, usage.

        It is read while it is used, within an app context or not; memory does not grow with what there is.

        :param format: ``json`` (lines of JSON, as ``flask chat-memory import`` reads them), ``md`` (Markdown) or
            ``html`` (a page to be opened as a file, without scripts).
        :raises MissingOwner: without an owner.
        :raises ConfigurationError: for another format, and if a plugin cannot give its threads away.
        """
        entries = Export(self._stores(), time.time(), owner=Scope(owner).owner)
        for plugin in self._stores().plugins.values():
            movable(plugin)
        if format == "json":
            return entries.lines()
        if format not in ("md", "html"):
            raise ConfigurationError(f"there is no format {format!r} of an export; the formats are: json, md, html")
        return (Markdown() if format == "md" else HTML()).write(entries)
