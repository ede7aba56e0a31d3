"""Finds plugins: a built-in id, an id from an entry point, an import path, or a class."""

from __future__ import annotations

import collections.abc as cabc
import importlib.metadata
import logging
import typing as t

import msgspec

from ..errors import ConfigurationError
from ..errors import UnknownPlugin
from ..events import log_event
from .base import ChatMemoryPlugin
from .importing import import_named
from .importing import is_path
from .options import definitions_of
from .options import OptionDefinition
from .options import PluginOptions

logger = logging.getLogger(__name__)

ENTRY_POINT_GROUP = "flask_chat_memory.plugins"
BUILT_IN = {
    "in_memory": "flask_chat_memory.plugins.in_memory:InMemoryPlugin",
    "sqlalchemy": "flask_chat_memory.plugins.sqlalchemy:SQLAlchemyPlugin",
    "file": "flask_chat_memory.plugins.file:FilePlugin",
    "redis": "flask_chat_memory.plugins.redis:RedisPlugin",
    "flask_session": "flask_chat_memory.plugins.flask_session:FlaskSessionPlugin",
    "flask_session_pool": "flask_chat_memory.plugins.flask_session:FlaskSessionPoolPlugin",
    "documents": "flask_chat_memory.plugins.documents:DocumentsPlugin",
    "encrypted": "flask_chat_memory.plugins.encrypted:EncryptedPlugin",
}

EXTRAS = {"redis": "redis", "encrypted": "encryption"}
"""The extra that installs the driver of a built-in plugin, by its id."""

P = t.TypeVar("P", bound="type[ChatMemoryPlugin]")
PluginChoice = t.Union[str, "type[ChatMemoryPlugin]"]


def chat_memory_plugin(id: str, *, label: str, description: str = "") -> cabc.Callable[[P], P]:
    """Give a plugin class the id that configuration uses, and the texts that a settings page shows."""

    def decorate(cls: P) -> P:
        cls.id = id
        cls.label = label
        cls.description = description
        return cls

    return decorate


class PluginDefinition(msgspec.Struct):
    """What a settings page shows of a plugin.

    :param plugin: the class.
    """

    id: str
    label: str
    description: str
    plugin: type[ChatMemoryPlugin]

    @property
    def options(self) -> dict[str, OptionDefinition]:
        """The options by name, in the order of declaration."""
        return definitions_of(self.plugin.Options)


PluginsAlter = cabc.Callable[[dict[str, PluginDefinition]], object]


class PluginRegistry:
    """The plugins that an app can choose from.

    :param alter: is given the dict id -> :class:`PluginDefinition` and may rename, remove or replace entries.
    """

    def __init__(self, alter: PluginsAlter | None = None) -> None:
        self._alter = alter
        self._altered: dict[str, PluginDefinition] | None = None

    def definitions(self) -> dict[str, PluginDefinition]:
        """Return id -> :class:`PluginDefinition` of the built-in and installed plugins whose drivers are there."""
        if self._altered is None:
            found: dict[str, PluginDefinition] = {}
            for id in [*BUILT_IN, *_entry_points()]:
                try:
                    plugin = _load(id)
                except ConfigurationError:
                    continue
                except Exception as error:
                    log_event(logger, logging.ERROR, "an installed plugin cannot be loaded", error, plugin=id)
                    continue
                found.setdefault(id, PluginDefinition(id, plugin.label, plugin.description, plugin))
            if self._alter:
                self._alter(found)
            self._altered = found
        return dict(self._altered)

    def find(self, choice: PluginChoice) -> type[ChatMemoryPlugin]:
        """Return the class for an id, an import path (``package.module:Class``) or a class.

        :raises UnknownPlugin: naming the ids that are known.
        :raises ConfigurationError: if its driver is not installed.
        """
        if isinstance(choice, type):
            return _checked(choice, choice)
        if not isinstance(choice, str):
            raise UnknownPlugin(f"{choice!r} is no plugin: give an id, an import path, a class or None")
        if choice in BUILT_IN and not self._alter:
            # Without a look at what is installed, which takes milliseconds: settings loaders choose in each request.
            return _load(choice)
        known = self.definitions() if self._alter else dict.fromkeys([*BUILT_IN, *_entry_points()])
        definition = known.get(choice)
        if definition is not None:
            return definition.plugin
        if choice in known or is_path(choice):
            return _load(choice)
        hint = "; to keep the history in the browser use None, not a string" if choice.lower() == "none" else ""
        ids = ", ".join(known)
        raise UnknownPlugin(f"no plugin {choice!r}; known are: {ids}, or an import path 'package.module:Class'{hint}")

    def create(self, choice: PluginChoice, options: cabc.Mapping[str, t.Any] | None = None) -> ChatMemoryPlugin:
        """Return a new instance with the options, which are checked."""
        return self.find(choice)(options)


def _entry_points() -> dict[str, importlib.metadata.EntryPoint]:
    found = importlib.metadata.entry_points(group=ENTRY_POINT_GROUP)
    return {entry.name: entry for entry in found if entry.name not in BUILT_IN}


def _load(choice: str) -> type[ChatMemoryPlugin]:
    path = BUILT_IN.get(choice)
    if path is None:
        entry = _entry_points().get(choice)
        path = entry.value if entry else choice
    return _checked(import_named(path, f"plugin {choice!r}", EXTRAS.get(choice), UnknownPlugin), choice)


def _checked(found: t.Any, choice: object) -> type[ChatMemoryPlugin]:
    if not (isinstance(found, type) and issubclass(found, ChatMemoryPlugin)):
        raise UnknownPlugin(f"{choice!r} is no ChatMemoryPlugin class")
    if not (isinstance(found.Options, type) and issubclass(found.Options, PluginOptions)):
        raise UnknownPlugin(f"plugin {choice!r}: its Options are no PluginOptions")
    missing = sorted(getattr(found, "__abstractmethods__", ()))
    if missing:
        raise UnknownPlugin(f"plugin {choice!r} lacks {', '.join(missing)}")
    return found
