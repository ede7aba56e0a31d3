"""Chooses storages: a built-in kind, an import path, a class, an instance, or a dict with a type and its options."""

from __future__ import annotations

import collections.abc as cabc
import inspect
import typing as t

import msgspec

from ..errors import ConfigurationError
from ..plugins.base import ChatMemoryPlugin
from ..plugins.importing import import_named
from ..plugins.importing import is_path
from ..plugins.options import CheckedOptions
from ..plugins.options import definitions_of
from ..plugins.options import PluginOptions
from ..plugins.registry import EXTRAS
from .base import Storage
from .keys import FOLDERS

BUILT_IN = {
    "file": "flask_chat_memory.storage.file:FileStorage",
    "sqlalchemy": "flask_chat_memory.storage.sqlalchemy:SQLAlchemyStorage",
    "redis": "flask_chat_memory.storage.redis:RedisStorage",
    "in_memory": "flask_chat_memory.storage.in_memory:InMemoryStorage",
    "encrypted": "flask_chat_memory.storage.encrypted:EncryptedStorage",
}


AGEING = tuple(domain for domain in FOLDERS if domain not in ("conversation", "summaries"))
"""Domains whose documents may be kept for a time."""


class StorageSettings(msgspec.Struct, frozen=True):
    """A chosen storage and its checked options; equal ones share one instance.

    :param storage: a class, or the site's instance.
    :param options: None for a storage without typed options.
    """

    storage: type[Storage] | Storage
    options: CheckedOptions | None = None

    def is_of(self, kind: type[Storage]) -> bool:
        """Tell whether it is a storage of a class."""
        return issubclass(self.storage if isinstance(self.storage, type) else type(self.storage), kind)

    def make(self, plain: cabc.Callable[[CheckedOptions], CheckedOptions] = lambda options: options) -> Storage:
        """Return the site's instance, or a new one.

        :param plain: makes options plain that depend on the app.
        """
        if isinstance(self.storage, Storage):
            return self.storage
        make: cabc.Callable[..., Storage] = self.storage
        return make() if self.options is None else make(plain(self.options))


def choose_storage(choice: object, key: str) -> StorageSettings:
    """Find a storage and check its options.

    :param choice: ``"file"``, ``"package.module:Class"``, a class, an instance, or a dict of one of the first three
        under ``type`` with the options; or what was chosen before.
    :param key: the configuration key, for errors.
    :raises ConfigurationError: naming the key, the value and what is allowed.
    """
    if isinstance(choice, StorageSettings):
        return choice
    if isinstance(choice, Storage):
        return StorageSettings(choice)
    options: cabc.Mapping[str, t.Any] = {}
    if isinstance(choice, cabc.Mapping):
        if "type" not in choice:
            raise ConfigurationError(f"{key} is a dict without 'type'; known types are: {', '.join(BUILT_IN)}")
        options = {name: value for name, value in choice.items() if name != "type"}
        choice = choice["type"]
    storage = _find(choice, key)
    if storage.Options is not None:
        return StorageSettings(storage, storage.Options.make(options, key))
    if options or not _needs_nothing(storage):
        raise ConfigurationError(f"{key}: {storage.__name__} has no Options; give an instance of it")
    return StorageSettings(storage)


def read_storages(
    config: cabc.Mapping[str, t.Any], plugin: type[ChatMemoryPlugin] | None, options: PluginOptions | None
) -> dict[str, StorageSettings | None]:
    """Return the storage of each domain; None where there is none.

    :param plugin: that of ``CHAT_MEMORY_PLUGIN``, beside which documents are if nothing else is said.
    """
    main = config["CHAT_MEMORY_STORAGE"]
    if main is not None:
        chosen: StorageSettings | None = choose_storage(main, "CHAT_MEMORY_STORAGE")
    else:
        chosen = None if plugin is None else beside(plugin, options)
    given = config["CHAT_MEMORY_STORAGES"]
    if not isinstance(given, cabc.Mapping):
        raise ConfigurationError(f"CHAT_MEMORY_STORAGES must be a dict, not {type(given).__name__}")
    for domain in given:
        if domain not in FOLDERS:
            known = ", ".join(FOLDERS)
            raise ConfigurationError(f"CHAT_MEMORY_STORAGES has no domain {domain!r}; the domains are: {known}")
    own = {domain: choose_storage(choice, f"CHAT_MEMORY_STORAGES[{domain!r}]") for domain, choice in given.items()}
    return {domain: own.get(domain, chosen) for domain in FOLDERS}


def read_retention(given: object, storages: cabc.Mapping[str, StorageSettings | None]) -> dict[str, int]:
    """Return domain -> seconds that its documents are kept.

    :param storages: of the domains.
    :raises ConfigurationError: naming the key, the value and what is allowed.
    """
    key = "CHAT_MEMORY_RETENTION"
    if not isinstance(given, cabc.Mapping):
        raise ConfigurationError(f"{key} must be a dict, not {type(given).__name__}")
    kept = {}
    for domain, seconds in given.items():
        if domain not in AGEING:
            raise ConfigurationError(
                f"{key} has no domain {domain!r}; the domains are: {', '.join(AGEING)}. Conversations go by the "
                "option 'expiry' of their plugin, and their summaries with them"
            )
        if seconds is None:
            continue
        if type(seconds) is not int or seconds < 1:
            raise ConfigurationError(f"{key}[{domain!r}] is {seconds!r}; it must be a whole number of seconds, or None")
        if storages[domain] is None:
            raise ConfigurationError(f"{key} has {domain!r}, for which there is no storage; set CHAT_MEMORY_STORAGE")
        kept[domain] = seconds
    return kept


def beside(plugin: type[ChatMemoryPlugin], options: t.Any) -> StorageSettings | None:
    """Return the storage beside a plugin with these options; None if there is none."""
    if plugin.storage is None:
        return None
    storage = _find(plugin.storage, "CHAT_MEMORY_STORAGE")
    names = definitions_of(t.cast("type[CheckedOptions]", storage.Options))
    values = {name: getattr(options, name) for name in names if hasattr(options, name)}
    if plugin.storage == "encrypted":
        values["storage"] = beside(options.plugin, options.options)
        if values["storage"] is None:
            return None
    return choose_storage({"type": storage, **values}, "CHAT_MEMORY_STORAGE")


def _find(choice: object, key: str) -> type[Storage]:
    found = choice
    if isinstance(choice, str):
        path = BUILT_IN.get(choice)
        if path is None and not is_path(choice):
            hint = "; for no storage of its own use None, not a string" if choice.lower() == "none" else ""
            ids = ", ".join(BUILT_IN)
            raise ConfigurationError(
                f"{key}: no storage {choice!r}; known are: {ids}, or an import path 'package.module:Class'{hint}"
            )
        found = import_named(path or choice, f"{key}: storage {choice!r}", EXTRAS.get(choice), ConfigurationError)
    if not (isinstance(found, type) and issubclass(found, Storage)):
        raise ConfigurationError(f"{key}: {choice!r} is no Storage: give an id, an import path, a class or an instance")
    missing = sorted(getattr(found, "__abstractmethods__", ()))
    if missing:
        raise ConfigurationError(f"{key}: storage {choice!r} lacks {', '.join(missing)}")
    if not (found.Options is None or isinstance(found.Options, type) and issubclass(found.Options, CheckedOptions)):
        raise ConfigurationError(f"{key}: storage {choice!r}: its Options are no CheckedOptions")
    return found


def _needs_nothing(storage: type[Storage]) -> bool:
    try:
        inspect.signature(storage).bind()
    except TypeError:
        return False
    return True
