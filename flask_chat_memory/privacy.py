"""Gives owners what is stored of them."""

from __future__ import annotations

import abc
import collections
import collections.abc as cabc
import time
import typing as t

from .errors import ConfigurationError
from .forgetting import Forgetting
from .plugins.records import Scope
from .pointer import forget_visitor

if t.TYPE_CHECKING:
    from .transfer.stores import Stores

Format = t.Literal["json", "md", "html"]


class Privacy(Forgetting, abc.ABC):
    """The part of the extension that exports and forgets owners."""

    @abc.abstractmethod
    def stores(self) -> Stores:
        """Return the plugins and storages of the current app, for who moves what is in them."""

    @abc.abstractmethod
    def current_owners(self) -> list[str]:
        """Return who the current visitor is, and who they were before a login as long as threads wait to be adopted.

        :return: nobody for a visitor for whom nothing was stored yet.
        :raises ConfigurationError: outside of a request.
        """

    def forget_visitor(self) -> dict[str, int]:
        """Do with the current visitor what :meth:`forget` does with an owner, and drop what the session tells of them.

        A user stays logged in.
        """
        counts: collections.Counter[str] = collections.Counter()
        for owner in self.current_owners():
            counts.update(self.forget(owner))
        forget_visitor()
        return dict(counts)

    def export(self, owner: str, format: Format = "json") -> cabc.Iterator[bytes]:
        """Return all that is stored of an owner, piece by piece: conversations, documents of all domains, usage.

        It is read while it is used, within an app context or not; memory does not grow with what there is.

        :param format: ``json`` (lines of JSON, as ``flask chat-memory import`` reads them), ``md`` (Markdown) or
            ``html`` (a page to be opened as a file, without scripts).
        :raises MissingOwner: without an owner.
        :raises ConfigurationError: for another format, and if a plugin cannot give its threads away.
        """
        # Imported on first use: a process that exports nothing does not wait for it.
        from .transfer.exporting import Export
        from .transfer.readable import HTML
        from .transfer.readable import Markdown
        from .transfer.stores import movable

        stores = self.stores()
        entries = Export(stores, time.time(), owner=Scope(owner).owner)
        for plugin in stores.plugins.values():
            movable(plugin)
        if format == "json":
            return entries.lines()
        if format not in ("md", "html"):
            raise ConfigurationError(f"there is no format {format!r} of an export; the formats are: json, md, html")
        return (Markdown() if format == "md" else HTML()).write(entries)
