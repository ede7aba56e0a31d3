"""The plugin instances of an app: made on first use, shared by chatbots with equal settings."""

from __future__ import annotations

import collections.abc as cabc
import logging
import os
import threading
import typing as t

import flask

from .config import choose_plugin
from .documents import Documents
from .errors import ConfigurationError
from .errors import StorageError
from .events import log_event
from .plugins.base import ChatMemoryPlugin
from .plugins.forks import rest_in_forks
from .plugins.registry import PluginRegistry
from .plugins.unreachable import unreachable
from .resolve import resolve
from .settings import ChatbotSettings
from .settings import PluginSettings
from .telemetry import traced

logger = logging.getLogger(__name__)

SettingsLoader = cabc.Callable[[str], cabc.Mapping[str, t.Any] | None]


class PluginInstances:
    """Gives each chatbot its plugin.

    :param loader: the site's choice at run time, which wins over the configuration.
    :param configured: the choices of the configuration, whose instances are never let go.
    :param documents: the storages, for plugins that keep threads in one.
    """

    def __init__(
        self,
        registry: PluginRegistry,
        loader: SettingsLoader | None,
        configured: cabc.Collection[PluginSettings],
        documents: Documents,
    ) -> None:
        self._registry = registry
        self._loader = loader
        self._configured = configured
        self._documents = documents
        self._instances: list[tuple[PluginSettings, ChatMemoryPlugin]] = []
        self._loaded: dict[str, PluginSettings] = {}
        self._warned: set[str] = set()
        self.lock = threading.RLock()
        rest_in_forks(self)

    def after_fork(self) -> None:
        self.lock = threading.RLock()

    def of_chatbot(self, app: flask.Flask, chatbot: ChatbotSettings) -> ChatMemoryPlugin | None:
        """Return the plugin of a chatbot; None keeps the history in the browser."""
        try:
            loaded = self._loader(chatbot.name) if self._loader else None
        except StorageError as error:
            return unreachable(f"the settings of chatbot {chatbot.name} could not be loaded: {error}", error)
        if loaded is None:
            return self._instance(app, chatbot.plugin) if chatbot.plugin else None
        try:
            _check_choice(loaded)
            options = loaded.get("options")
            chosen = choose_plugin(
                self._registry,
                loaded["plugin"],
                {} if options is None else options,
                "the settings loader's plugin",
                "the settings loader's options",
            )
            self._forget_former(chatbot.name, chosen)
            return self._instance(app, chosen) if chosen else None
        except ConfigurationError as error:
            if str(error) not in self._warned:
                self._warned.add(str(error))
                log_event(
                    logger,
                    logging.WARNING,
                    "a chatbot keeps its history in the browser",
                    error,
                    chatbot=chatbot.name,
                )
            return None

    def _instance(self, app: flask.Flask, settings: PluginSettings) -> ChatMemoryPlugin:
        with self.lock:
            plugin = next((plugin for known, plugin in self._instances if known == settings), None)
            if plugin is None:
                plugin = traced(settings.plugin(resolve(app, settings.options, self._documents)))
                _warn_of_workers(plugin)
                self._instances.append((settings, plugin))
            return plugin

    def _forget_former(self, chatbot: str, chosen: PluginSettings | None) -> None:
        """Let go of the plugin of a former choice: it closes when the last call that uses it is over."""
        with self.lock:
            former = self._loaded.pop(chatbot, None)
            if chosen is not None:
                self._loaded[chatbot] = chosen
            if former is not None and former not in [*self._loaded.values(), *self._configured]:
                self._instances = [(known, plugin) for known, plugin in self._instances if known != former]


def _check_choice(loaded: object) -> None:
    if not isinstance(loaded, cabc.Mapping) or "plugin" not in loaded or not set(loaded) <= {"plugin", "options"}:
        raise ConfigurationError("the settings loader must return None or a dict with 'plugin' and 'options'")


def _warn_of_workers(plugin: ChatMemoryPlugin) -> None:
    workers = os.environ.get("WEB_CONCURRENCY", "")
    if not plugin.shared_by_processes and workers.isdecimal() and int(workers) > 1:
        log_event(
            logger,
            logging.WARNING,
            "WEB_CONCURRENCY is over 1, but the plugin keeps its threads in one process: "
            "a visitor's next request may meet another worker, which knows nothing of the conversation",
            plugin=plugin.id,
            workers=int(workers),
        )
