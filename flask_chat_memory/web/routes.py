"""The routes that the widget calls."""

from __future__ import annotations

import hashlib
import importlib.resources
import logging
import typing as t

import flask
from werkzeug.exceptions import HTTPException

from ..errors import ChatMemoryError
from ..errors import RequestRefused
from ..events import log_event
from ..provider import run
from ..question import client_key
from ..question import NOT_TOLD
from ..question import shown_thread
from ..response import keep_private
from . import feedback
from . import lines
from . import privacy
from . import search
from . import threads
from .current import chat_memory
from .current import conversation_with
from .current import csrf_token
from .current import posted
from .origin import refuse_cross_site
from .shown import shown_messages

logger = logging.getLogger(__name__)

BLUEPRINT = "chat_memory"
MAX_CURSOR = 18
"""Digits."""
MAX_BODY = 16 * 1024 * 1024
"""Bytes of a request body, where the site sets no ``MAX_CONTENT_LENGTH`` of its own."""
TOKEN_HEADER = "Chat-Memory-Token"
UNAVAILABLE = "The chat is not available just now. Please try again later."


def make_blueprint(url_prefix: str, with_privacy: bool) -> flask.Blueprint:
    """Make the routes of one app: made anew for each, for the prefix comes from its configuration.

    :param with_privacy: visitors may get and delete what is stored of them.
    """
    blueprint = flask.Blueprint(
        BLUEPRINT,
        __name__,
        url_prefix=url_prefix,
        template_folder="templates",
        static_folder="static",
        # In the path and not behind it, so that modules that import each other stay of one version.
        static_url_path=f"/static/{_static_version()}",
    )
    blueprint.before_request(_check_request)
    blueprint.after_request(_keep_private)
    blueprint.register_error_handler(HTTPException, _refused)
    blueprint.register_error_handler(RequestRefused, _refused)
    blueprint.register_error_handler(ChatMemoryError, _failed)
    blueprint.add_url_rule("/<chatbot>/history", view_func=history)
    blueprint.add_url_rule("/<chatbot>/messages", view_func=messages, methods=["POST"])
    blueprint.add_url_rule("/<chatbot>/reset", view_func=reset, methods=["POST"])
    blueprint.add_url_rule("/<chatbot>/stop", view_func=stop, methods=["POST"])
    blueprint.add_url_rule("/<chatbot>/resume", view_func=resume)
    for part in (threads, lines, search, feedback):
        part.add_routes(blueprint)
    if with_privacy:
        privacy.add_routes(blueprint)
    return blueprint


def history(chatbot: str) -> flask.Response:
    """Return a page of the history: the newest one, or the one before a cursor."""
    conversation = conversation_with(chatbot)
    before = flask.request.args.get("before")
    if before is not None and not (before.isdecimal() and len(before) <= MAX_CURSOR):
        raise RequestRefused(400, "The cursor must be a number.")
    shown = flask.request.args.get("thread_id", NOT_TOLD)
    preload = chat_memory().settings.preload
    page = conversation.page(preload, int(before) if before else None, shown)
    return flask.jsonify(
        mode=conversation.mode,
        thread_id=page.thread_id,
        messages=shown_messages(page),
        has_more=page.cursor is not None,
        cursor=page.cursor,
    )


def messages(chatbot: str) -> flask.Response:
    """Take a question and answer it through the provider."""
    conversation = conversation_with(chatbot)
    # Asked for first, so that nothing is stored where nobody can answer.
    provider = conversation.require_provider()
    turn = conversation.turn(posted())
    return turn.response(run(provider, turn))


def reset(chatbot: str) -> flask.Response:
    """Delete the thread and start a new one."""
    shown = shown_thread(posted()) if flask.request.get_data() else NOT_TOLD
    return flask.jsonify(thread_id=conversation_with(chatbot).reset(shown))


def stop(chatbot: str) -> flask.Response:
    """Stop a turn that is being answered: the one that is named, or all of the thread."""
    body = posted()
    question_id = body.get("question_id")
    if not (question_id is None or isinstance(question_id, str)):
        raise RequestRefused(400, "The question must be named by text.")
    key = client_key(body)
    stopped = conversation_with(chatbot).stop(shown_thread(body), question_id=question_id, key=key)
    return flask.jsonify(stopped=stopped)


def resume(chatbot: str) -> flask.Response:
    """Give the answer to a question that was asked before: what there is of it, and what is still to come."""
    question_id = flask.request.args.get("question_id")
    if not question_id:
        raise RequestRefused(400, "The question must be named.")
    turn = conversation_with(chatbot).resume(question_id, flask.request.args.get("thread_id", NOT_TOLD))
    return turn.response([])


def _check_request() -> None:
    if flask.request.max_content_length is None:
        flask.request.max_content_length = MAX_BODY
    refuse_cross_site()


def _keep_private(response: flask.Response) -> flask.Response:
    return response if flask.request.endpoint == f"{BLUEPRINT}.static" else keep_private(response)


def _refused(error: HTTPException) -> tuple[flask.Response, int]:
    if error.response is not None:
        return t.cast(flask.Response, error.response), error.response.status_code
    response = flask.jsonify(error=error.description)
    if type(error).__name__ == "CSRFError":
        # The page is older than its token: the widget asks again with a fresh one.
        response.headers[TOKEN_HEADER] = csrf_token()
    return response, error.code or 500


def _failed(error: ChatMemoryError) -> tuple[flask.Response, int]:
    log_event(logger, logging.ERROR, "a request was not answered", error, endpoint=flask.request.endpoint)
    return flask.jsonify(error=UNAVAILABLE), 503


def _static_version() -> str:
    digest = hashlib.blake2b(digest_size=6)
    static = importlib.resources.files("flask_chat_memory.web") / "static"
    for file in sorted(static.iterdir(), key=lambda file: file.name):
        digest.update(file.read_bytes())
    return digest.hexdigest()
