"""Forgets an owner: threads over all chatbots, the documents of every domain, the name in the ledgers of usage."""

from __future__ import annotations

import abc
import collections
import collections.abc as cabc

from .errors import ConfigurationError
from .plugins.abilities import CountsUsage
from .plugins.abilities import PurgesThreads
from .plugins.abilities import RestoresUsage
from .plugins.base import ChatMemoryPlugin
from .plugins.records import FORGOTTEN
from .plugins.records import Scope
from .retention import purger
from .retention import THREADS
from .settings import Settings
from .signals import Announce
from .signals import thread_deleted
from .storage.domains import DomainStorage

USAGE = "usage"


class Forgetting(abc.ABC):
    """The part of the extension that deletes all that there is of an owner."""

    @property
    @abc.abstractmethod
    def settings(self) -> Settings:
        """The settings of the current app."""

    @abc.abstractmethod
    def storage(self, domain: str) -> DomainStorage:
        """Return where the documents of a domain are."""

    @abc.abstractmethod
    def _server_plugins(self) -> cabc.Iterator[tuple[str, ChatMemoryPlugin]]:
        """Yield name and plugin of each chatbot that keeps its history on the server."""

    @abc.abstractmethod
    def _announcer(self) -> Announce:
        """Return what sends the signals of the current app."""

    def forget(self, owner: str, *, dry_run: bool = False) -> dict[str, int]:
        """Delete all threads and documents of an owner; return how many of each domain.

        The lines in the ledgers of usage become those of the owner ``forgotten``; they count as ``usage``. All threads
        of all owners are gone through, so that nothing is missed that has expired or is of a former chatbot: on a large
        site, do it in the background. Interrupted anywhere, it can be done again. A turn that is being answered
        meanwhile is stopped, and its answer not stored; what that has cost is counted when it ends, in the owner's name
        until they are forgotten once more.

        :param dry_run: only count.
        :raises MissingOwner: without an owner.
        :raises ConfigurationError: for the owner ``forgotten``, and if a plugin cannot go through its threads; nothing
            is deleted.
        """
        counts: collections.Counter[str] = collections.Counter()
        for step in self.forget_in_steps(owner, dry_run=dry_run):
            counts.update(step)
        return dict(counts)

    def forget_in_steps(self, owner: str, *, dry_run: bool = False) -> cabc.Iterator[dict[str, int]]:
        """Do what :meth:`forget` does, and yield after each thread that is gone through what went meanwhile."""
        if owner == FORGOTTEN:
            raise ConfigurationError(f"{FORGOTTEN!r} is no owner; it stands for all who were forgotten")
        return self._forget(owner, self._purging(), dry_run)

    def _forget(
        self, owner: str, plugins: list[tuple[ChatMemoryPlugin, PurgesThreads]], dry_run: bool
    ) -> cabc.Iterator[dict[str, int]]:
        domains = {domain: self.storage(domain) for domain, chosen in self.settings.storages.items() if chosen}
        owned = {domain: storage.of_owner(Scope(owner).owner) for domain, storage in domains.items()}
        threads = 0
        yield {THREADS: 0, USAGE: 0}
        for plugin, purging in plugins:
            # All at first: a plugin need not bear that threads go while it goes through them.
            found = []
            for scope, thread in purging.all_threads():
                if scope.owner == owner:
                    found.append((scope, thread.id))
                yield {}
            threads += len(found)
            for scope, thread_id in found:
                if not dry_run:
                    self._delete(plugin, scope, thread_id)
                yield {THREADS: 1}
            if isinstance(plugin, CountsUsage):
                for scope in self._scopes(plugin, owner, {scope for scope, _ in found}):
                    yield {USAGE: len(plugin.list_usage(scope)) if dry_run else plugin.forget_usage(scope)}
        for domain, storage in owned.items():
            if not dry_run:
                yield {domain: storage.delete_all()}
            elif domain == THREADS:
                # Documents in folders are threads, which were counted.
                yield {domain: max(0, storage.count("*/*") - threads)}
            else:
                yield {domain: storage.count()}

    def _scopes(self, plugin: object, owner: str, known: set[Scope]) -> list[Scope]:
        """Return the scopes of an owner of which something may be counted, those of former chatbots included."""
        counted = plugin.usage_scopes() if isinstance(plugin, RestoresUsage) else ()
        configured = {Scope(owner, name) for name, other in self._server_plugins() if other is plugin}
        found = known | configured | {scope for scope in counted if scope.owner == owner}
        return sorted(found, key=lambda scope: scope.chatbot)

    def _delete(self, plugin: ChatMemoryPlugin, scope: Scope, thread_id: str) -> None:
        if plugin.delete_thread(scope, thread_id):
            self._announcer()(thread_deleted, owner=scope.owner, chatbot=scope.chatbot, thread_id=thread_id)

    def _purging(self) -> list[tuple[ChatMemoryPlugin, PurgesThreads]]:
        """Return each plugin once, twice told: as what deletes, and as what goes through all threads."""
        purging = ((plugin, purger(name, plugin)) for name, plugin in self._server_plugins())
        return list({id(plugin): (plugin, purges) for plugin, purges in purging}.values())
