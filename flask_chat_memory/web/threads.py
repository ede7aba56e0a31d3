"""The routes of the threads of a visitor."""

from __future__ import annotations

import typing as t

import flask

from ..conversation import Conversation
from ..errors import RequestRefused
from ..plugins.records import Thread
from .current import conversation_with
from .current import posted

PAGE = 50
"""Threads."""
UNKNOWN = "There is no such conversation."
CHANGEABLE = {"title": (str, type(None)), "pinned": (bool,), "archived": (bool,)}
ARCHIVED = {"false": False, "true": True}


class ShownThread(t.TypedDict):
    """A thread as a page shows it; the times are UNIX times in seconds."""

    id: str
    title: str | None
    created_at: float
    last_activity: float
    messages: int
    pinned: bool
    archived: bool


def add_routes(blueprint: flask.Blueprint) -> None:
    """Add the routes to those of an app."""
    threads, thread = "/<chatbot>/threads", "/<chatbot>/threads/<thread_id>"
    blueprint.add_url_rule(threads, view_func=list_threads)
    blueprint.add_url_rule(threads, view_func=new_chat, methods=["POST"])
    blueprint.add_url_rule(thread, view_func=update_thread, methods=["PATCH"])
    blueprint.add_url_rule(thread, view_func=delete_thread, methods=["DELETE"])
    blueprint.add_url_rule(f"{thread}/open", view_func=open_thread, methods=["POST"])


def list_threads(chatbot: str) -> flask.Response:
    """Return a page of the visitor's threads."""
    query = flask.request.args
    archived = ARCHIVED.get(query.get("archived", "false"))
    if archived is None:
        raise RequestRefused(400, "archived must be true or false.")
    page = conversation_with(chatbot).list_threads(PAGE, query.get("cursor"), archived=archived)
    return flask.jsonify(threads=[_shown(thread) for thread in page.threads], cursor=page.cursor)


def new_chat(chatbot: str) -> flask.Response:
    """Start a new thread and keep the former one."""
    return flask.jsonify(thread_id=_many_threads(chatbot).new_chat())


def open_thread(chatbot: str, thread_id: str) -> flask.Response:
    """Go on with another thread."""
    if not _many_threads(chatbot).open(thread_id):
        flask.abort(404, UNKNOWN)
    return flask.jsonify(thread_id=thread_id)


def update_thread(chatbot: str, thread_id: str) -> flask.Response:
    """Change the title of a thread, pin it or archive it."""
    conversation, body = conversation_with(chatbot), posted()
    for name, value in body.items():
        if name not in CHANGEABLE:
            raise RequestRefused(400, "Only title, pinned and archived can be changed.")
        if not isinstance(value, CHANGEABLE[name]):
            raise RequestRefused(400, f"The value of {name} is none that it can have.")
    thread = conversation.find_thread(thread_id) if conversation.update_thread(thread_id, **body) else None
    if thread is None:
        flask.abort(404, UNKNOWN)
    return flask.jsonify(_shown(thread))


def delete_thread(chatbot: str, thread_id: str) -> flask.Response:
    """Delete a thread."""
    if not conversation_with(chatbot).delete_thread(thread_id):
        flask.abort(404, UNKNOWN)
    return flask.jsonify(thread_id=thread_id)


def _shown(thread: Thread) -> ShownThread:
    return {
        "id": thread.id,
        "title": thread.title,
        "created_at": thread.created_at,
        "last_activity": thread.last_activity,
        "messages": thread.messages,
        "pinned": thread.pinned,
        "archived": thread.archived,
    }


def _many_threads(chatbot: str) -> Conversation:
    conversation = conversation_with(chatbot)
    if conversation.threads != "many":
        flask.abort(404, "This chatbot has one conversation for each visitor.")
    return conversation
