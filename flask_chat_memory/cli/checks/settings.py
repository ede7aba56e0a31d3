"""What can be told of a site without its stores: its configuration and the libraries that it runs with."""

from __future__ import annotations

import collections.abc as cabc
import importlib.metadata
import platform

import flask

from ...extension import ChatMemory
from ...settings import ChatbotSettings
from .finding import Finding

LIBRARIES = (
    "flask-chat-memory", "flask", "flask-session", "flask-login", "sqlalchemy", "msgspec", "redis", "hiredis",
    "psycopg", "pymysql", "cryptography", "pyyaml", "phonenumbers", "alembic",
)  # fmt: skip


def check_versions() -> cabc.Iterator[Finding]:
    found = [f"Python {platform.python_version()}"]
    for name in LIBRARIES:
        try:
            found.append(f"{name} {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            continue
    yield Finding("versions", "ok", ", ".join(found))


def check_secret_key(app: flask.Flask) -> cabc.Iterator[Finding]:
    if app.secret_key:
        yield Finding("secret key", "ok", "SECRET_KEY is set")
    else:
        cure = "set SECRET_KEY to a long random text, the same in all workers"
        yield Finding("secret key", "problem", "SECRET_KEY is not set, so no visitor is recognised", cure)


def check_chatbots(memory: ChatMemory) -> cabc.Iterator[Finding]:
    for chatbot in memory.settings.chatbots.values():
        # Options mask their secrets themselves.
        where = "the browser keeps the history"
        if chatbot.plugin is not None:
            where = f"plugin {chatbot.plugin.plugin.id!r}, {chatbot.plugin.options!r}"
        yield Finding("configuration", "ok", f"chatbot {chatbot.name!r}: {where if chatbot.history else 'no history'}")
        yield Finding("short-term memory", "ok", f"chatbot {chatbot.name!r}: {_chain(chatbot)}")
        yield _provider(memory, chatbot)


def _chain(chatbot: ChatbotSettings) -> str:
    return ", then ".join(type(memory).__name__ for memory in chatbot.short_term) or "the model sees everything"


def _provider(memory: ChatMemory, chatbot: ChatbotSettings) -> Finding:
    if memory.has_provider(chatbot.name):
        return Finding("provider", "ok", f"chatbot {chatbot.name!r} has a provider")
    return Finding(
        "provider",
        "note",
        f"chatbot {chatbot.name!r} has no provider: the route of the widget answers with 503",
        f"register one with @memory.provider({chatbot.name!r}), unless a view of the site calls the model",
    )
