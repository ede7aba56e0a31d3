"""The pages."""

from __future__ import annotations

import flask
from flask_login import current_user
from flask_login import login_user
from flask_login import logout_user

from .accounts import check_password
from .accounts import DEMO_PASSWORD
from .accounts import HASHES
from .settings import CHATBOT

PARTS = {
    "system": "Instructions of the shop",
    "summary": "Summary",
    "facts": "Key facts",
    "knowledge": "Memories of you",
    "tools": "Tools",
    "history": "Earlier messages",
    "question": "Your question",
}
"""Names of the parts of what is sent to the model, as visitors read them."""


def init_app(app: flask.Flask) -> None:
    """Add the pages to the app."""
    app.add_url_rule("/", view_func=index)
    app.add_url_rule("/login", view_func=login, methods=["GET", "POST"])
    app.add_url_rule("/logout", view_func=logout, methods=["POST"])


def index() -> str:
    """Show the chat."""
    conversation = flask.current_app.extensions["chat_memory"].conversation(CHATBOT)
    has_many = conversation.threads == "many"
    questions = (message for message in reversed(conversation.history(20)) if message.role == "user")
    return flask.render_template(
        "index.html",
        on_server=conversation.mode == "server",
        has_many=has_many,
        summary=conversation.summary,
        view=next((question.metadata.get("view") for question in questions), None),
        parts=PARTS,
    )


def login() -> flask.typing.ResponseReturnValue:
    """Show the form, or log somebody in."""
    if current_user.is_authenticated:
        return _to_index()
    name = flask.request.form.get("name", "").strip()
    if flask.request.method == "POST":
        user = check_password(name, flask.request.form.get("password", ""))
        if user is not None:
            # A new session id: whoever knew the old one, or planted it, is not logged in with it.
            flask.current_app.session_interface.regenerate(flask.session)  # type: ignore[attr-defined]
            login_user(user)
            return _to_index()
    page = flask.render_template("login.html", name=name, accounts=HASHES, password=DEMO_PASSWORD)
    return page, 422 if flask.request.method == "POST" else 200, {"Cache-Control": "private, no-store"}


def logout() -> flask.typing.ResponseReturnValue:
    """Log out; the chat's place in the session goes with it."""
    logout_user()
    return _to_index()


def _to_index() -> flask.typing.ResponseReturnValue:
    # Always to one page of ours, never to an address that came with the request.
    return flask.redirect(flask.url_for("index"), 303)
