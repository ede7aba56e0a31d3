"""The site whose conversations :mod:`tests.benchmarks.purge` purges; it imports no more than a site does."""

from __future__ import annotations

import os

import flask

from flask_chat_memory import ChatMemory

URL = "CHAT_MEMORY_BENCHMARK_URL"


def create_app() -> flask.Flask:
    app = flask.Flask("site")
    app.config.update(SECRET_KEY="x", CHAT_MEMORY_PLUGIN="sqlalchemy", CHAT_MEMORY_OPTIONS={"url": os.environ[URL]})
    ChatMemory(app)
    return app
