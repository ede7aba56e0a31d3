"""The storages of an app: made on first use, shared by domains with equal settings."""

from __future__ import annotations

import collections.abc as cabc
import threading

import flask

from .errors import ConfigurationError
from .plugins.forks import rest_in_forks
from .resolve import resolve
from .storage.base import Storage
from .storage.choice import choose_storage
from .storage.choice import StorageSettings
from .storage.domains import domain_storage
from .storage.domains import DomainStorage
from .telemetry import traced


class Documents:
    """Gives each domain its storage.

    :param storages: domain -> what the configuration chose for it.
    :param retention: domain -> seconds that its documents are kept; those of no other are deleted by age.
    """

    def __init__(self, storages: cabc.Mapping[str, StorageSettings | None], retention: cabc.Mapping[str, int]) -> None:
        self._storages = storages
        self._retention = retention
        self._instances: list[tuple[StorageSettings, Storage]] = []
        self.lock = threading.RLock()
        rest_in_forks(self)

    def after_fork(self) -> None:
        self.lock = threading.RLock()

    def of_domain(self, app: flask.Flask, domain: str) -> DomainStorage:
        """Return the storage of a domain.

        :raises ConfigurationError: for an unknown domain, and if no storage is configured for it.
        """
        return domain_storage(self._serving(app, domain), domain, self._retention.get(domain))

    def in_use(self, app: flask.Flask) -> list[tuple[Storage, list[str]]]:
        """Return each storage once, with the domains that it serves."""
        found: dict[int, tuple[Storage, list[str]]] = {}
        for domain, settings in self._storages.items():
            if settings is not None:
                storage = self._instance(app, settings)
                found.setdefault(id(storage), (storage, []))[1].append(domain)
        return list(found.values())

    def chosen(self, app: flask.Flask, choice: object) -> Storage:
        """Return what a plugin's option chooses; of None, that of the domain ``conversation``."""
        if choice is None:
            return self._serving(app, "conversation")
        return self._instance(app, choose_storage(choice, "storage"))

    def all(self, app: flask.Flask) -> list[Storage]:
        """Return the storages of all domains that have one."""
        return [self._instance(app, settings) for settings in self._storages.values() if settings is not None]

    def _serving(self, app: flask.Flask, domain: str) -> Storage:
        if domain not in self._storages:
            raise ConfigurationError(f"there is no domain {domain!r}; the domains are: {', '.join(self._storages)}")
        settings = self._storages[domain]
        if settings is None:
            raise ConfigurationError(
                f"there is no storage for {domain!r}: CHAT_MEMORY_PLUGIN names none; set CHAT_MEMORY_STORAGE"
            )
        return self._instance(app, settings)

    def _instance(self, app: flask.Flask, settings: StorageSettings) -> Storage:
        with self.lock:
            storage = next((storage for known, storage in self._instances if known == settings), None)
            if storage is None:
                storage = settings.make(lambda options: resolve(app, options, self))
                if storage is not settings.storage:
                    storage = traced(storage)
                self._instances.append((settings, storage))
            return storage
