"""The extension object."""

from __future__ import annotations

import collections.abc as cabc
import typing as t
import weakref

import flask
import msgspec

from .accounts import Accounts
from .adoption import adopt_after_login
from .cli import commands
from .config import read_settings
from .documents import Documents
from .errors import ConfigurationError
from .errors import MissingOwner
from .health import Health
from .health import SECONDS
from .instances import PluginInstances
from .instances import SettingsLoader
from .opening import current_app
from .opening import Opening
from .owner import known_owner
from .owner import OwnerLoader
from .plugins.base import ChatMemoryPlugin
from .plugins.registry import PluginRegistry
from .plugins.registry import PluginsAlter
from .pointer import close_pointers
from .pointer import forget_visitor
from .pointer import Pointer
from .privacy import Privacy
from .purging import BackgroundPurge
from .resolve import check
from .retention import Retaining
from .settings import ChatbotSettings
from .settings import Settings
from .short_term.chain import coverage_of
from .signals import Announcer
from .storage.domains import DomainStorage
from .unfinished import end_failed_turns
from .unfinished import end_refused_turns
from .web import BLUEPRINT
from .web import register_web

if t.TYPE_CHECKING:
    from .plugins.sql.schema import Schema
    from .transfer.stores import Stores


class ChatMemory(Opening, Accounts, Privacy, Retaining):
    """Gives the chatbots of an app a memory.

    One object serves any number of apps and keeps nothing of a request.

    :param owner_loader: returns the owner of the current request, or None for an anonymous visitor; without it,
        Flask-Login's user is the owner.
    :param settings_loader: given the name of a chatbot, returns None or ``{"plugin", "options"}``, which win over the
        configuration; asked whenever a conversation is resolved.
    :param plugins_alter: may change the dict id -> :class:`PluginDefinition` of the plugins to choose from.
    """

    def __init__(
        self,
        app: flask.Flask | None = None,
        *,
        owner_loader: OwnerLoader | None = None,
        settings_loader: SettingsLoader | None = None,
        plugins_alter: PluginsAlter | None = None,
    ) -> None:
        super().__init__()
        self.plugins = PluginRegistry(plugins_alter)
        self._owner_loader = owner_loader
        self._settings_loader = settings_loader
        self._states: weakref.WeakKeyDictionary[flask.Flask, _State] = weakref.WeakKeyDictionary()
        if app is not None:
            self.init_app(app)

    def init_app(self, app: flask.Flask) -> None:
        """Read the configuration of an app and set the extension up on it. No store is contacted.

        :raises ConfigurationError: naming the key, the value and what is allowed.
        """
        if "chat_memory" in app.extensions:
            raise ConfigurationError(
                "this app has a ChatMemory already; import that object and use it instead of making a second one"
            )
        settings = read_settings(app.config, self.plugins)
        self._check_functions(settings)
        if any(self._makes_summaries(chatbot) for chatbot in settings.chatbots.values()):
            self._check_redaction(settings)
        configured = [chatbot.plugin for chatbot in settings.chatbots.values() if chatbot.plugin]
        if settings.url_prefix is not None and BLUEPRINT in app.blueprints:
            raise ConfigurationError(f"the app has a blueprint {BLUEPRINT!r} already; give that one another name")
        documents = Documents(settings.storages, settings.retention)
        for chatbot in settings.chatbots.values():
            if chatbot.plugin and chatbot.history:
                check(app, chatbot.plugin.options, documents)
        instances = PluginInstances(self.plugins, self._settings_loader, configured, documents)
        self._states[app] = _State(settings, instances, documents, Health())
        app.extensions["chat_memory"] = self
        register_web(app, settings)
        app.cli.add_command(commands)
        app.after_request(close_pointers)
        app.after_request(end_refused_turns)
        app.teardown_request(end_failed_turns)
        if settings.purge_every is not None:
            app.after_request(BackgroundPurge(app, settings.purge_every, self.purge_in_batches).after_request)
        _drop_at_logout(app)

    @property
    def settings(self) -> Settings:
        """The settings of the current app."""
        return self._state.settings

    @property
    def plugin(self) -> ChatMemoryPlugin | None:
        """The plugin of the default chatbot; None if the browser keeps the history."""
        return self.plugin_for()

    def plugin_for(self, chatbot: str | None = None) -> ChatMemoryPlugin | None:
        """Return the plugin of a chatbot; None if the browser keeps the history, or nothing does."""
        return self._plugin(self.settings.chatbot(chatbot))

    def has_provider(self, chatbot: str) -> bool:
        """Tell whether there is a function that calls the model for a chatbot."""
        return self._providers.of_chatbot(chatbot, self.settings) is not None

    def schemas(self) -> list[Schema]:
        """Return the tables of all chatbots and documents of the current app, the same tables once."""
        found = [schema for _, plugin in self._server_plugins() for schema in plugin.schemas()]
        found += [schema for storage in self._state.documents.all(current_app()) for schema in storage.schemas()]
        return list({schema.identity: schema for schema in found}.values())

    def health(self, seconds: float = SECONDS) -> dict[str, t.Any]:
        """Ask every store for a sign of life, for the site's own health route; nothing is made, nobody is recognised.

        :param seconds: after which a store that has not answered counts as down.
        :return: ``{"ok", "stores"}``; a store has ``id``, ``serves`` (chatbots or domains of documents), ``ok``,
            ``milliseconds`` and ``error``, the class of what went wrong.
        """
        state, app = self._state, current_app()
        chatbots: dict[int, tuple[ChatMemoryPlugin, list[str]]] = {}
        for name, plugin in self._server_plugins():
            chatbots.setdefault(id(plugin), (plugin, []))[1].append(name)
        return state.health.told([*chatbots.values(), *state.documents.in_use(app)], seconds)

    def storage(self, domain: str) -> DomainStorage:
        """Return where the documents of a domain are: ``learning``, ``settings``, ``site`` for the site's own, ...

        :raises ConfigurationError: for an unknown domain, and if no storage is configured for it.
        """
        return self._state.documents.of_domain(current_app(), domain)

    def current_owners(self) -> list[str]:
        if not flask.has_request_context():
            raise ConfigurationError("outside of a request, nobody visits; name the owner")
        pointer = self._pointer(known_owner(self._owner_loader), next(iter(self.settings.chatbots)))
        return [owner for owner in (pointer.owner, pointer.left_anonymous) if owner is not None]

    def _current_owner(self) -> str:
        if not flask.has_request_context():
            raise ConfigurationError("outside of a request, name the owner: user_memories(owner)")
        owners = self.current_owners()
        if not owners:
            raise MissingOwner("nothing was stored for this visitor yet, so nothing can be remembered")
        return owners[0]

    def _makes_summaries(self, chatbot: ChatbotSettings) -> bool:
        is_stored = chatbot.history and (chatbot.plugin is not None or self._settings_loader is not None)
        return is_stored and coverage_of(chatbot.short_term) is not None

    def _announcer(self) -> Announcer:
        return Announcer(current_app())

    def _settings_of_apps(self) -> list[Settings]:
        return [state.settings for state in self._states.values()]

    @property
    def _state(self) -> _State:
        state = self._states.get(current_app()) if flask.has_app_context() else None
        if state is None:
            raise ConfigurationError("ChatMemory is not set up for the current app; call init_app(app)")
        return state

    def _plugin(self, chatbot: ChatbotSettings) -> ChatMemoryPlugin | None:
        return self._state.instances.of_chatbot(current_app(), chatbot) if chatbot.history else None

    def _pointer(self, user: str | None, chatbot: str) -> Pointer:
        pointer = Pointer(user, chatbot)
        adopt = self.settings.on_login == "adopt"
        adopt_after_login(
            pointer, adopt, self._server_plugins, self._known_memories, self._drop_summaries, self._announcer()
        )
        return pointer

    def _server_plugins(self) -> cabc.Iterator[tuple[str, ChatMemoryPlugin]]:
        for name, chatbot in self.settings.chatbots.items():
            plugin = self._plugin(chatbot)
            if plugin is not None:
                yield name, plugin

    def stores(self) -> Stores:
        from .transfer.stores import Stores

        documents = self._state.documents.in_use(current_app())
        storages = {domain: storage for storage, domains in documents for domain in domains}
        return Stores(dict(self._server_plugins()), storages)

    def _counted(self, chatbot: str | None) -> cabc.Iterator[tuple[str, ChatMemoryPlugin]]:
        if chatbot is None:
            yield from self._server_plugins()
            return
        plugin = self.plugin_for(chatbot)
        if plugin is not None:
            yield chatbot, plugin

    def _drop_summaries(self, owner: str) -> None:
        if any(coverage_of(chatbot.short_term) for chatbot in self.settings.chatbots.values()):
            self.summaries.delete_all(owner)


class _State(msgspec.Struct, frozen=True):
    """What belongs to one app."""

    settings: Settings
    instances: PluginInstances
    documents: Documents
    health: Health


def _drop_at_logout(app: flask.Flask) -> None:
    try:
        from flask_login import user_logged_out
    except ImportError:
        return
    user_logged_out.connect(_forget_visitor, app)


def _forget_visitor(_app: flask.Flask, **_facts: object) -> None:
    forget_visitor()
