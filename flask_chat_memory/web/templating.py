"""The functions that templates call: ``chat_widget()`` and ``chat_history()``."""

from __future__ import annotations

import collections.abc as cabc
import hashlib
import logging
import types

import flask
from markupsafe import Markup

from ..conversation import Conversation
from ..errors import ConfigurationError
from ..errors import MissingOwner
from ..errors import StorageError
from ..events import log_event
from ..history import Page
from ..response import keep_private
from .current import chat_memory
from .current import csrf_token
from .labels import LABELS
from .parts import parts_of
from .shown import shown_messages
from .shown import ShownMessage

logger = logging.getLogger(__name__)


def add_template_functions(app: flask.Flask) -> None:
    """Make the functions known to all templates of the app; as globals, they are seen by imported macros, too."""
    app.jinja_env.globals.update(chat_widget=chat_widget, chat_history=chat_history)


def chat_widget(
    chatbot: str | None = None,
    *,
    title: str | None = None,
    labels: cabc.Mapping[str, str] | None = None,
    nonce: str | None = None,
    markdown: bool = True,
    threads: bool = False,
    tools: bool = False,
) -> Markup:
    """Render the chat: history, input, stop and reset.

    :param title: names the chat, for everyone.
    :param labels: texts that replace those of :data:`LABELS`.
    :param nonce: of the page's Content Security Policy, for the script tag.
    :param markdown: show the markup of answers.
    :param threads: show the list of the visitor's threads, where the chatbot has many.
    :param tools: let the visitor regenerate, edit and rate, where messages are on the server.
    :raises ConfigurationError: for an unknown chatbot or label, if the routes are switched off, and for a list that
        the plugin cannot give.
    """
    memory = chat_memory()
    settings = memory.settings
    if settings.url_prefix is None:
        raise ConfigurationError("chat_widget() needs the routes, which CHAT_MEMORY_URL_PREFIX = None switches off")
    unknown = set(labels or ()) - set(LABELS)
    if unknown:
        raise ConfigurationError(f"chat_widget() has no label {min(unknown)!r}; the labels are: {', '.join(LABELS)}")
    conversation = memory.conversation(chatbot)
    page, unavailable = _page(conversation, settings.preload)
    _warn_without_provider(conversation)
    chatbot_settings = settings.chatbot(conversation.chatbot)
    parts = parts_of(
        conversation,
        memory.plugin_for(conversation.chatbot),
        threads=threads,
        temporary=chatbot_settings.temporary,
        tools=tools,
    )
    urls = _urls(conversation.chatbot, conversation.threads)
    texts = {**LABELS, **(labels or {})}
    widget = types.SimpleNamespace(
        chatbot=conversation.chatbot,
        mode=conversation.mode,
        thread_id=page.thread_id,
        messages=shown_messages(page),
        has_more=page.cursor is not None,
        cursor=page.cursor,
        greeting=chatbot_settings.greeting,
        unavailable=unavailable,
        threads=conversation.threads,
        parts=parts,
        urls=urls,
        # The URL names the chatbot, and tells apps of one host apart.
        storage_key=f"chat-memory:{urls['messages']}:{_owner_mark(conversation)}",
        adopt=settings.on_login == "adopt",
        csrf_token=csrf_token(),
        nonce=nonce,
        labels=texts,
        max_chars=settings.max_message_chars,
        title=title or texts["log"],
        markdown=markdown,
    )
    return Markup(flask.render_template("chat_memory/widget.html", widget=widget))


def _warn_without_provider(conversation: Conversation) -> None:
    """Say in the log of the first page what the first question would be answered with."""
    warned: set[str] = flask.current_app.extensions.setdefault("chat_memory_without_provider", set())
    if not conversation.has_provider and conversation.chatbot not in warned:
        warned.add(conversation.chatbot)
        log_event(
            logger,
            logging.WARNING,
            "a chatbot has no provider: its questions will be answered with 503",
            chatbot=conversation.chatbot,
        )


def chat_history(chatbot: str | None = None, limit: int | None = None) -> list[ShownMessage]:
    """Return the newest messages as a list of ``{"role", "text", "id", "status"}``, oldest first.

    :param limit: messages; None is ``CHAT_MEMORY_PRELOAD``.
    """
    memory = chat_memory()
    page, _ = _page(memory.conversation(chatbot), memory.settings.preload if limit is None else limit)
    return shown_messages(page)


def _page(conversation: Conversation, limit: int) -> tuple[Page, bool]:
    """Return the newest page, and whether the store failed: then the page of the site is shown without it."""
    flask.after_this_request(keep_private)
    try:
        return conversation.page(limit), False
    except (StorageError, MissingOwner) as error:
        log_event(logger, logging.ERROR, "a page is shown without its history", error, chatbot=conversation.chatbot)
        return Page(), True


def _urls(chatbot: str, threads: str) -> dict[str, str]:
    routes = ["messages", "history", "reset", "stop", "resume"]
    urls = {name: flask.url_for(f"chat_memory.{name}", chatbot=chatbot) for name in routes}
    if threads == "many":
        urls["threads"] = flask.url_for("chat_memory.new_chat", chatbot=chatbot)
    urls["script"] = flask.url_for("chat_memory.static", filename="chat-memory.js")
    urls["style"] = flask.url_for("chat_memory.static", filename="chat-memory.css")
    return urls


def _owner_mark(conversation: Conversation) -> str:
    # In client mode only those who are logged in are told apart: for all others, the browser is the owner.
    if conversation.owner is None or conversation.mode != "client":
        return "anon"
    return hashlib.blake2b(conversation.owner.encode(), digest_size=8).hexdigest()
