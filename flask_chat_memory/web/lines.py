"""The routes that ask a question anew and switch between its versions."""

from __future__ import annotations

import typing as t

import flask

from ..asking import NO_QUESTION
from ..conversation import Conversation
from ..errors import RequestRefused
from ..provider import run
from ..question import client_key
from ..question import shown_thread
from ..question import ShownThread
from .current import conversation_with
from .current import posted


def add_routes(blueprint: flask.Blueprint) -> None:
    """Add the routes to those of an app."""
    blueprint.add_url_rule("/<chatbot>/regenerate", view_func=regenerate, methods=["POST"])
    blueprint.add_url_rule("/<chatbot>/edit", view_func=edit, methods=["POST"])
    blueprint.add_url_rule("/<chatbot>/switch", view_func=switch, methods=["POST"])
    blueprint.add_url_rule("/<chatbot>/undo", view_func=undo, methods=["POST"])


def regenerate(chatbot: str) -> flask.Response:
    """Answer the last question once more."""
    conversation, body = conversation_with(chatbot), posted()
    provider = conversation.require_provider()
    turn = conversation.regenerate(thread_id=shown_thread(body), key=client_key(body))
    return turn.response(run(provider, turn))


def edit(chatbot: str) -> flask.Response:
    """Ask another question in the place of an older one, and answer it."""
    conversation, body = conversation_with(chatbot), posted()
    question_id, text = _named_question(body), body.get("text")
    if not isinstance(text, str):
        raise RequestRefused(400, "The question must have a text.")
    provider = conversation.require_provider()
    turn = conversation.edit(question_id, text, thread_id=shown_thread(body), key=client_key(body))
    return turn.response(run(provider, turn))


def switch(chatbot: str) -> flask.Response:
    """Show the line that holds another version of a question."""
    conversation, body = conversation_with(chatbot), posted()
    version = body.get("version")
    if type(version) is not int:
        raise RequestRefused(400, "The version must be a number.")
    shown = shown_thread(body)
    if not conversation.switch(version, shown):
        flask.abort(404, "There is no such version.")
    return _changed(conversation, shown)


def undo(chatbot: str) -> flask.Response:
    """Take back a question with what was answered."""
    conversation, body = conversation_with(chatbot), posted()
    shown = shown_thread(body)
    if not conversation.undo(thread_id=shown, question_id=_named_question(body)):
        flask.abort(404, NO_QUESTION)
    return _changed(conversation, shown)


def _named_question(body: dict[str, t.Any]) -> str:
    question_id = body.get("question_id")
    if not isinstance(question_id, str):
        raise RequestRefused(400, "The question must be named by text.")
    return question_id


def _changed(conversation: Conversation, shown: ShownThread) -> flask.Response:
    """Tell which thread has changed."""
    is_named = isinstance(shown, str) and conversation.threads == "many"
    return flask.jsonify(thread_id=shown if is_named else conversation.thread_id)
