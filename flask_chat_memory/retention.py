"""What is older than it may be is deleted: threads by the expiry of their plugin, documents by their domain."""

from __future__ import annotations

import abc
import collections
import collections.abc as cabc
import typing as t

from .errors import ConfigurationError
from .plugins.abilities import PurgesThreads
from .plugins.base import ChatMemoryPlugin
from .settings import Settings
from .signals import Announce
from .signals import thread_deleted
from .storage.domains import DomainStorage
from .summaries import Summaries

THREADS = "conversation"
MESSAGES = "messages"

Counts = dict[str, int]
"""What was deleted: ``conversation`` is threads, ``messages`` those in them, any other a domain of documents."""


class Job(t.NamedTuple):
    """Threads that go.

    :param before: those without activity since this UNIX time in seconds.
    :param chatbot: None is all that the plugin keeps, those of former chatbots, too.
    """

    plugin: PurgesThreads
    before: float
    chatbot: str | None


class Retaining(abc.ABC):
    """The part of the extension that deletes what has become too old."""

    @property
    @abc.abstractmethod
    def settings(self) -> Settings:
        """The settings of the current app."""

    @abc.abstractmethod
    def storage(self, domain: str) -> DomainStorage:
        """Return where the documents of a domain are."""

    @abc.abstractmethod
    def _counted(self, chatbot: str | None) -> cabc.Iterator[tuple[str, ChatMemoryPlugin]]:
        """Yield name and plugin of a chatbot, or of all, that keep their history on the server."""

    @abc.abstractmethod
    def _announcer(self) -> Announce:
        """Return what sends the signals of the current app."""

    def purge(self, *, before: float | None = None, chatbot: str | None = None) -> Counts:
        """Delete what is older than it may be, and return how much that was.

        It is deleted in batches; interrupted anywhere, it can be repeated. A thread that somebody writes to meanwhile,
        or of which a turn is running, stays. Documents go by ``CHAT_MEMORY_RETENTION``; the ledger of usage stays.

        :param before: threads without activity since this UNIX time in seconds; None goes by the ``expiry`` of each
            chatbot's plugin.
        :param chatbot: only threads of this one, and no documents.
        :raises ValueError: for a time that is none, or in the future; nothing is deleted.
        :raises ConfigurationError: for an unknown chatbot, and if a plugin cannot go through its threads; nothing is
            deleted.
        """
        counts: collections.Counter[str] = collections.Counter({THREADS: 0, MESSAGES: 0})
        for batch in self.purge_in_batches(before=before, chatbot=chatbot):
            counts.update(batch)
        return dict(counts)

    def purge_in_batches(
        self, *, before: float | None = None, chatbot: str | None = None, dry_run: bool = False
    ) -> cabc.Iterator[Counts]:
        """Do what :meth:`purge` does, and yield after each batch what went with it; who stops then has lost nothing.

        :param dry_run: delete nothing, and yield what would go.
        """
        jobs = self._jobs(before, chatbot)
        return self._counts_of_batches(jobs, dry_run, with_documents=chatbot is None)

    def purge_summaries(self) -> int:
        """Delete the summaries of all threads that are gone, by expiry, a purge or their number; return how many.

        All threads are gone through: do it in the background, after a purge of the threads. It can be repeated.
        """
        if self.settings.storages["summaries"] is None:
            return 0
        return Summaries(self.storage("summaries")).purge(dict(self._counted(None)))

    def _counts_of_batches(self, jobs: list[Job], dry_run: bool, with_documents: bool) -> cabc.Iterator[Counts]:
        for job in jobs:
            yield from _would_go(job) if dry_run else self._purge_threads(job)
        summaries = self.purge_summaries() if with_documents and not dry_run else 0
        if summaries:
            yield {"summaries": summaries}
        for domain in self.settings.retention if with_documents else ():
            storage = self.storage(domain)
            yield {domain: storage.count_expired() if dry_run else storage.purge()}

    def _purge_threads(self, job: Job) -> cabc.Iterator[Counts]:
        announce = self._announcer()
        for purged in job.plugin.purge_threads(job.before, chatbot=job.chatbot):
            for scope, thread_id in purged.threads:
                announce(thread_deleted, owner=scope.owner, chatbot=scope.chatbot, thread_id=thread_id)
            yield {THREADS: len(purged.threads), MESSAGES: purged.messages}

    def _jobs(self, before: float | None, chatbot: str | None) -> list[Job]:
        if chatbot is not None:
            self.settings.chatbot(chatbot)
        plugins = [(name, plugin, purger(name, plugin)) for name, plugin in self._counted(chatbot)]
        stores = {id(plugin): (plugin, purging) for _, plugin, purging in plugins}.values()
        if before is not None:
            if not all(0 < before <= plugin.clock() for plugin, _ in stores):
                raise ValueError("before must be a UNIX time in seconds that is not in the future")
            return [Job(purging, before, chatbot) for _, purging in stores]
        expiries = {plugin.options.expiry for _, plugin, _ in plugins}
        jobs = []
        if chatbot is not None or len(expiries) > 1:
            jobs += [
                Job(purging, plugin.clock() - plugin.options.expiry, name)
                for name, plugin, purging in plugins
                if plugin.options.expiry is not None
            ]
        if chatbot is None and expiries and None not in expiries:
            # A store may be that of several plugins: what has outlived them all is nobody's by now.
            longest = max(t.cast("set[int]", expiries))
            jobs += [Job(purging, plugin.clock() - longest, None) for plugin, purging in stores]
        return jobs


def _would_go(job: Job) -> cabc.Iterator[Counts]:
    for _scope, thread in job.plugin.all_threads(chatbot=job.chatbot):
        if thread.last_activity < job.before:
            yield {THREADS: 1, MESSAGES: thread.messages}


def purger(name: str, plugin: ChatMemoryPlugin) -> PurgesThreads:
    """Return the plugin of a chatbot as one that goes through the threads of all owners.

    :raises ConfigurationError: if it does not.
    """
    if not isinstance(plugin, PurgesThreads):
        raise ConfigurationError(
            f"plugin {plugin.id!r} of chatbot {name!r} cannot go through its threads; "
            f"it must inherit {PurgesThreads.__name__}, too"
        )
    return plugin
