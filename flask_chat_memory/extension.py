"""The extension object."""

from __future__ import annotations

import collections.abc as cabc
import functools
import typing as t
import weakref

import flask
import msgspec

from .accounts import Accounts
from .adoption import adopt_after_login
from .cli import commands
from .condensing import Condensation
from .config import ChatbotSettings
from .config import read_settings
from .config import Settings
from .conversation import Conversation
from .documents import Documents
from .errors import ConfigurationError
from .errors import MissingOwner
from .errors import UnknownThread
from .forgetting import Forgetting
from .functions import SiteFunctions
from .instances import PluginInstances
from .instances import SettingsLoader
from .owner import known_owner
from .owner import OwnerLoader
from .plugins.abilities import CurrentThread
from .plugins.base import ChatMemoryPlugin
from .plugins.records import Scope
from .plugins.registry import PluginRegistry
from .plugins.registry import PluginsAlter
from .pointer import close_pointers
from .pointer import forget_visitor
from .pointer import Pointer
from .provider import plain_function
from .remembering import Remembering
from .resolve import check
from .short_term.chain import coverage_of
from .short_term.extract import lead
from .short_term.extract import statements
from .signals import Announcer
from .storage.domains import DomainStorage
from .summaries import Summaries
from .summarising import Summarising
from .threads import checked_changes
from .threads import describer
from .turn import Turn
from .unfinished import end_failed_turns
from .unfinished import end_refused_turns
from .visitor import NamedVisitor
from .visitor import Visitor
from .web import BLUEPRINT
from .web import register_web


class ChatMemory(SiteFunctions, Accounts, Remembering, Forgetting):
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
        configured = [chatbot.plugin for chatbot in settings.chatbots.values() if chatbot.plugin]
        if settings.url_prefix is not None and BLUEPRINT in app.blueprints:
            raise ConfigurationError(f"the app has a blueprint {BLUEPRINT!r} already; give that one another name")
        documents = Documents(settings.storages)
        for chatbot in settings.chatbots.values():
            if chatbot.plugin and chatbot.history:
                check(app, chatbot.plugin.options, documents)
        instances = PluginInstances(self.plugins, self._settings_loader, configured, documents)
        self._states[app] = _State(settings, instances, documents)
        app.extensions["chat_memory"] = self
        register_web(app, settings)
        app.cli.add_command(commands)
        app.after_request(close_pointers)
        app.after_request(end_refused_turns)
        app.teardown_request(end_failed_turns)
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
        return self._plugin(self._chatbot(chatbot))

    def storage(self, domain: str) -> DomainStorage:
        """Return where the documents of a domain are: ``learning``, ``settings``, ``site`` for the site's own, ...

        :raises ConfigurationError: for an unknown domain, and if no storage is configured for it.
        """
        return self._state.documents.of_domain(_current_app(), domain)

    def conversation(self, chatbot: str | None = None) -> Conversation:
        """Return the conversation of the current visitor, which writes nothing by itself.

        Call it in the view: a response that streams is too late to recognise a visitor.

        :raises ConfigurationError: for an unknown chatbot, and outside of a request.
        """
        if not flask.has_request_context():
            raise ConfigurationError("outside of a request, name the owner: start_conversation(owner)")
        settings = self._chatbot(chatbot)
        plugin = self._plugin(settings)
        visitor: Visitor = NamedVisitor(None)
        if settings.history:
            # The owner first: Flask-Login must have loaded its user before the session is written.
            user = known_owner(self._owner_loader)
            visitor = NamedVisitor(user) if plugin is None else self._pointer(user, settings.name)
        return self._make_conversation(settings, plugin, visitor, in_request=True)

    def start_conversation(self, owner: str, chatbot: str | None = None, title: str | None = None) -> Conversation:
        """Return a conversation of an owner outside of a request: the ongoing one, or a new one.

        :param title: of a new one, for good; without it, the first question makes one.
        :raises RequestRefused: for a title of more than 200 characters.
        :raises ConfigurationError: if the chatbot keeps no history on the server.
        :raises MissingOwner: without an owner.
        """
        title = checked_changes({"title": title})["title"]
        settings, plugin, scope = self._named(owner, chatbot)
        if title is not None:
            describer(plugin)
        thread_id = None
        if plugin.options.threads == "one" and isinstance(plugin, CurrentThread):
            thread_id = plugin.current_thread(scope)
        visitor = NamedVisitor(owner, thread_id or plugin.create_thread_id(), reserved=thread_id is None)
        return self._make_conversation(settings, plugin, visitor, title=title)

    def open_conversation(self, owner: str, thread_id: str, chatbot: str | None = None) -> Conversation:
        """Return an existing conversation of an owner outside of a request.

        :raises UnknownThread: if the owner has no such thread.
        :raises ConfigurationError: if the chatbot keeps no history on the server.
        :raises MissingOwner: without an owner.
        """
        settings, plugin, scope = self._named(owner, chatbot)
        if not plugin.has_thread(scope, thread_id):
            raise UnknownThread("the owner has no thread of this id")
        return self._make_conversation(settings, plugin, NamedVisitor(owner, thread_id, opened=True))

    def _current_owner(self) -> str:
        if not flask.has_request_context():
            raise ConfigurationError("outside of a request, name the owner: user_memories(owner)")
        owner = self._pointer(known_owner(self._owner_loader), next(iter(self.settings.chatbots))).owner
        if owner is None:
            raise MissingOwner("nothing was stored for this visitor yet, so nothing can be remembered")
        return owner

    def _announcer(self) -> Announcer:
        return Announcer(_current_app())

    def _settings_of_apps(self) -> list[Settings]:
        return [state.settings for state in self._states.values()]

    @property
    def _state(self) -> _State:
        state = self._states.get(_current_app()) if flask.has_app_context() else None
        if state is None:
            raise ConfigurationError("ChatMemory is not set up for the current app; call init_app(app)")
        return state

    def _chatbot(self, name: str | None) -> ChatbotSettings:
        return self._state.settings.chatbot(name)

    def _plugin(self, chatbot: ChatbotSettings) -> ChatMemoryPlugin | None:
        return self._state.instances.of_chatbot(_current_app(), chatbot) if chatbot.history else None

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

    def _counted(self, chatbot: str | None) -> cabc.Iterator[tuple[str, ChatMemoryPlugin]]:
        if chatbot is None:
            yield from self._server_plugins()
            return
        plugin = self.plugin_for(chatbot)
        if plugin is not None:
            yield chatbot, plugin

    def _named(self, owner: str, chatbot: str | None) -> tuple[ChatbotSettings, ChatMemoryPlugin, Scope]:
        settings = self._chatbot(chatbot)
        plugin = self._plugin(settings)
        if plugin is None:
            raise ConfigurationError(f"chatbot {settings.name!r} keeps no history on the server; choose a plugin")
        return settings, plugin, Scope(owner, settings.name)

    def _make_conversation(
        self,
        chatbot: ChatbotSettings,
        plugin: ChatMemoryPlugin | None,
        visitor: Visitor,
        *,
        title: str | None = None,
        in_request: bool = False,
    ) -> Conversation:
        app, settings = _current_app(), self.settings
        provider = self._providers.of_chatbot(chatbot.name, settings)
        make_title = self._title_functions.of_chatbot(chatbot.name, settings)
        return Conversation(
            settings=settings,
            chatbot=chatbot,
            plugin=plugin,
            visitor=visitor,
            provider=plain_function(app, provider) if provider else None,
            make_title=_in_app(app, plain_function(app, make_title)) if make_title else None,
            summarising=self._summarising(app, chatbot) if plugin else None,
            known=self._known() if chatbot.knowledge else None,
            title=title,
            in_request=in_request,
            admission=self._admission,
            announce=self._announcer(),
        )

    def _summarising(self, app: flask.Flask, chatbot: ChatbotSettings) -> Summarising | None:
        coverage = coverage_of(chatbot.short_term)
        if coverage is None or self.settings.storages["summaries"] is None:
            return None
        self._redacting()  # Refused here rather than in the background.
        summarizer = self._summarizers.of_chatbot(chatbot.name, self.settings)
        extractor = self._fact_extractors.of_chatbot(chatbot.name, self.settings)
        return Summarising(
            summaries=Summaries(self.storage("summaries")),
            coverage=coverage,
            condense=Condensation(
                summarize=plain_function(app, summarizer)
                if summarizer
                else functools.partial(lead, fits=coverage.fits),
                extract=plain_function(app, extractor) if extractor else statements,
                redact=self.redact,
            ),
            context=app.app_context,
        )

    def _drop_summaries(self, owner: str) -> None:
        if any(coverage_of(chatbot.short_term) for chatbot in self.settings.chatbots.values()):
            Summaries(self.storage("summaries")).delete_all(owner)


class _State(msgspec.Struct, frozen=True):
    """What belongs to one app."""

    settings: Settings
    instances: PluginInstances
    documents: Documents


def _current_app() -> flask.Flask:
    # The proxy is no key; what it stands for is typed only in newer Flask.
    return t.cast(flask.Flask, t.cast(t.Any, flask.current_app)._get_current_object())


def _in_app(app: flask.Flask, function: cabc.Callable[[Turn], str | None]) -> cabc.Callable[[Turn], str | None]:
    def call(turn: Turn) -> str | None:
        with app.app_context():
            return function(turn)

    return call


def _drop_at_logout(app: flask.Flask) -> None:
    try:
        from flask_login import user_logged_out
    except ImportError:
        return
    user_logged_out.connect(_forget_visitor, app)


def _forget_visitor(_app: flask.Flask, **_facts: object) -> None:
    forget_visitor()
