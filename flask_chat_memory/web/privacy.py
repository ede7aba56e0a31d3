"""The routes with which visitors get and delete what is stored of them."""

from __future__ import annotations

import collections.abc as cabc
import itertools
import logging
import typing as t

import flask

from ..errors import ChatMemoryError
from ..errors import RequestRefused
from ..events import log_event
from ..owner import ANONYMOUS
from .current import chat_memory
from .current import posted

logger = logging.getLogger(__name__)

KINDS = {
    "json": ("application/jsonl", "my-data.jsonl"),
    "md": ("text/markdown", "my-data.md"),
    "html": ("text/html", "my-data.html"),
}
"""Format -> its media type, and the name of the file."""
AHEAD = 2
"""Pieces that are made before the response begins: a store that is down is told of with a status of its own."""


def add_routes(blueprint: flask.Blueprint) -> None:
    """Add the routes to those of an app."""
    blueprint.add_url_rule("/privacy/export", view_func=export_my_data)
    blueprint.add_url_rule("/privacy/delete", view_func=delete_my_data, methods=["POST"])


def export_my_data() -> flask.Response:
    """Give the visitor a file with all that is stored of them."""
    format = flask.request.args.get("format", "json")
    if format not in KINDS:
        raise RequestRefused(400, "The format must be json, md or html.")
    pieces = chat_memory().export(_owner(), t.cast(t.Any, format))
    begun = list(itertools.islice(pieces, AHEAD))
    kind, name = KINDS[format]
    response = flask.Response(_logged(itertools.chain(begun, pieces)), content_type=f"{kind}; charset=utf-8")
    response.headers["Content-Disposition"] = f'attachment; filename="{name}"'
    response.headers["X-Content-Type-Options"] = "nosniff"
    response.headers["Content-Security-Policy"] = "sandbox; default-src 'none'; style-src 'unsafe-inline'"
    return response


def delete_my_data() -> flask.Response:
    """Delete all that is stored of the visitor, and forget who they are."""
    if posted().get("confirm") is not True:
        raise RequestRefused(400, "Confirm that everything is to be deleted.")
    _owner()
    return flask.jsonify(deleted=chat_memory().forget_visitor())


def _owner() -> str:
    memory = chat_memory()
    owners = memory.current_owners()
    if memory.settings.privacy == "users" and (not owners or owners[0].startswith(ANONYMOUS)):
        raise RequestRefused(401, "Please log in first.")
    if not owners:
        flask.abort(404, "Nothing is stored of you.")
    return owners[0]


def _logged(pieces: cabc.Iterator[bytes]) -> cabc.Iterator[bytes]:
    try:
        yield from pieces
    except ChatMemoryError as error:
        # The file is cut off, which the server tells the browser by the end of the connection.
        log_event(logger, logging.ERROR, "an export was cut off", error)
        raise
