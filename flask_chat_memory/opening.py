"""Opens conversations: of the current visitor, and of named owners outside of requests."""

from __future__ import annotations

import abc
import collections.abc as cabc
import functools
import typing as t

import flask

from .condensing import Condensation
from .conversation import Conversation
from .errors import ConfigurationError
from .errors import MissingOwner
from .errors import UnknownThread
from .functions import SiteFunctions
from .owner import known_owner
from .owner import OwnerLoader
from .plugins.abilities import CurrentThread
from .plugins.base import ChatMemoryPlugin
from .plugins.records import FORGOTTEN
from .plugins.records import Scope
from .pointer import Pointer
from .provider import plain_function
from .remembering import Remembering
from .settings import ChatbotSettings
from .short_term.chain import coverage_of
from .short_term.extract import lead
from .short_term.extract import statements
from .signals import Announcer
from .summarising import Summarising
from .threads import checked_changes
from .threads import describer
from .turn import Turn
from .visitor import NamedVisitor
from .visitor import Visitor


class Opening(SiteFunctions, Remembering):
    """The part of the extension that opens conversations."""

    _owner_loader: OwnerLoader | None

    @abc.abstractmethod
    def _plugin(self, chatbot: ChatbotSettings) -> ChatMemoryPlugin | None:
        """Return the plugin of a chatbot; None if the browser keeps the history, or nothing does."""

    @abc.abstractmethod
    def _pointer(self, user: str | None, chatbot: str) -> Pointer:
        """Return what the session of the current visitor says of a chatbot.

        :param user: the owner, None for an anonymous visitor.
        """

    @abc.abstractmethod
    def _announcer(self) -> Announcer:
        """Return what sends the signals of the current app."""

    def conversation(self, chatbot: str | None = None) -> Conversation:
        """Return the conversation of the current visitor, which writes nothing by itself.

        Call it in the view: a response that streams is too late to recognise a visitor.

        :raises ConfigurationError: for an unknown chatbot, and outside of a request.
        """
        if not flask.has_request_context():
            raise ConfigurationError("outside of a request, name the owner: start_conversation(owner)")
        settings = self.settings.chatbot(chatbot)
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

    def _named(self, owner: str, chatbot: str | None) -> tuple[ChatbotSettings, ChatMemoryPlugin, Scope]:
        settings = self.settings.chatbot(chatbot)
        plugin = self._plugin(settings)
        if plugin is None:
            raise ConfigurationError(f"chatbot {settings.name!r} keeps no history on the server; choose a plugin")
        if owner == FORGOTTEN:
            raise MissingOwner(f"{FORGOTTEN!r} is no owner; it stands for all who were forgotten")
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
        app, settings = current_app(), self.settings
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
        summarizer = self._summarizers.of_chatbot(chatbot.name, self.settings)
        extractor = self._fact_extractors.of_chatbot(chatbot.name, self.settings)
        return Summarising(
            summaries=self.summaries,
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


def current_app() -> flask.Flask:
    # The proxy is no key; what it stands for is typed only in newer Flask.
    return t.cast(flask.Flask, t.cast(t.Any, flask.current_app)._get_current_object())


def _in_app(app: flask.Flask, function: cabc.Callable[[Turn], str | None]) -> cabc.Callable[[Turn], str | None]:
    def call(turn: Turn) -> str | None:
        with app.app_context():
            return function(turn)

    return call
