"""What the current app has: the extension, and the protection of its forms."""

from __future__ import annotations

import typing as t

import flask

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
