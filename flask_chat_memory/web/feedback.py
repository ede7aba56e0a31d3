"""The route that takes what a visitor thinks of a message."""

from __future__ import annotations

import flask

from ..errors import RequestRefused
from ..plugins.records import Mark
from ..plugins.rules import check_mark
from ..question import shown_thread
from .current import conversation_with
from .current import posted


def add_routes(blueprint: flask.Blueprint) -> None:
    """Add the route to those of an app."""
    blueprint.add_url_rule("/<chatbot>/feedback", view_func=feedback, methods=["POST"])


def feedback(chatbot: str) -> flask.Response:
    """Keep a rating and a comment, instead of those that were given before; without both, none are kept."""
    conversation, body = conversation_with(chatbot), posted()
    message_id, rating, comment = body.get("message_id"), body.get("rating"), body.get("comment")
    if not isinstance(message_id, str):
        raise RequestRefused(400, "The message must be named by text.")
    if not conversation.mark(message_id, rating, comment, shown_thread(body)):
        flask.abort(404, "There is no such message.")
    kept = check_mark(Mark(rating, comment))
    return flask.jsonify(message_id=message_id, rating=kept.rating, comment=kept.comment)
