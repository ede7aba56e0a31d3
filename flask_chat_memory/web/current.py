"""What the current request has: the extension, a conversation, a body, the protection of the site's forms."""

from __future__ import annotations

import typing as t

import flask

from ..conversation import Conversation
from ..errors import RequestRefused

if t.TYPE_CHECKING:
    from ..extension import ChatMemory


def chat_memory() -> ChatMemory:
    """Return the extension of the current app."""
    return t.cast("ChatMemory", flask.current_app.extensions["chat_memory"])


def csrf_token() -> str | None:
    """Return a token of Flask-WTF, if the site is protected by its CSRFProtect."""
    if "csrf" not in flask.current_app.extensions:
        return None
    from flask_wtf.csrf import generate_csrf

    return t.cast(str, generate_csrf())


def conversation_with(chatbot: str) -> Conversation:
    """Return the visitor's conversation with a chatbot of the URL; for an unknown one, 404."""
    memory = chat_memory()
    if chatbot not in memory.settings.chatbots:
        flask.abort(404, "There is no such chatbot.")
    return memory.conversation(chatbot)


def posted() -> dict[str, t.Any]:
    """Return the JSON object that was posted.

    :raises RequestRefused: 400 if it is none.
    """
    try:
        body = flask.request.get_json(silent=True)
    except RecursionError:
        body = None
    if not isinstance(body, dict):
        raise RequestRefused(400, "The request must be a JSON object.")
    return body
