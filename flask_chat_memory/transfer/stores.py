"""The stores of a site, as those see them who move what is in them."""

from __future__ import annotations

import abc
import collections.abc as cabc

import msgspec

from ..errors import ConfigurationError
from ..plugins.abilities import PurgesThreads
from ..plugins.abilities import RestoresThreads
from ..plugins.base import ChatMemoryPlugin
from ..storage.base import Storage
from ..storage.keys import FOLDERS

DOMAINS = tuple(domain for domain in FOLDERS if domain != "conversation")
"""Where documents are. Those of the domain ``conversation`` are threads, which plugins give and take."""


class Stores(msgspec.Struct, frozen=True):
    """Plugins and storages.

    :param plugins: chatbot -> its plugin; those of equal settings are one.
    :param storages: domain -> its storage, where there is one.
    """

    plugins: cabc.Mapping[str, ChatMemoryPlugin]
    storages: cabc.Mapping[str, Storage] = {}


class MovablePlugin(PurgesThreads, RestoresThreads, ChatMemoryPlugin, abc.ABC):
    """Stands in annotations for a plugin whose threads can be gone through and restored."""


def movable(plugin: ChatMemoryPlugin) -> MovablePlugin:
    """Return a plugin that has the abilities which moving needs.

    :raises ConfigurationError: if it has not.
    """
    lacking = [ability.__name__ for ability in (PurgesThreads, RestoresThreads) if not isinstance(plugin, ability)]
    if lacking:
        raise ConfigurationError(
            f"threads of the plugin {_name(plugin)} cannot be moved: it lacks {', '.join(lacking)}"
        )
    return plugin  # type: ignore[return-value]


def _name(plugin: ChatMemoryPlugin) -> str:
    return repr(plugin.id or type(plugin).__name__)
