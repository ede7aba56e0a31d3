"""The route that searches the visitor's conversations."""

from __future__ import annotations

import typing as t

import flask

from ..search import Hit
from .current import conversation_with


class ShownHit(t.TypedDict):
    """A hit as a page shows it; of a title, ``message_id``, ``text`` and ``role`` are None."""

    thread_id: str
    title: str | None
    message_id: str | None
    text: str | None
    role: str | None


def add_routes(blueprint: flask.Blueprint) -> None:
    """Add the route to those of an app."""
    blueprint.add_url_rule("/<chatbot>/search", view_func=search)


def search(chatbot: str) -> flask.Response:
    """Find a text in the messages and the titles of the visitor's threads."""
    hits = conversation_with(chatbot).search(flask.request.args.get("text", ""))
    return flask.jsonify(results=[_shown(hit) for hit in hits.found], complete=hits.complete)


def _shown(hit: Hit) -> ShownHit:
    return {
        "thread_id": hit.thread_id,
        "title": hit.title,
        "message_id": hit.message_id,
        "text": hit.text,
        "role": "ai" if hit.role == "assistant" else hit.role,
    }
