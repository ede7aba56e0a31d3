"""The page on which visitors download and delete what is stored of them."""

from __future__ import annotations

import typing as t

import flask
from flask_wtf import FlaskForm

from flask_chat_memory import ChatMemory

FORMATS = {
    "html": "A page to read",
    "md": "Text in Markdown",
    "json": "Lines of JSON, for programs",
}


def init_app(app: flask.Flask) -> None:
    """Add the page to the app."""
    app.add_url_rule("/my-data", view_func=my_data, methods=["GET", "POST"])


def my_data() -> flask.typing.ResponseReturnValue:
    """Offer the downloads and the deletion, or delete everything."""
    memory = t.cast(ChatMemory, flask.current_app.extensions["chat_memory"])
    if not memory.current_owners():
        # No form: its token would give a cookie to somebody of whom nothing is kept.
        return flask.render_template("my_data.html"), {"Cache-Control": "private, no-store"}
    form = FlaskForm()
    if form.validate_on_submit():
        memory.forget_visitor()
        flask.flash("Everything that was stored of you is deleted.")
        return flask.redirect(flask.url_for("my_data"), 303)
    page = flask.render_template("my_data.html", form=form, formats=FORMATS)
    return page, 422 if form.is_submitted() else 200, {"Cache-Control": "private, no-store"}
