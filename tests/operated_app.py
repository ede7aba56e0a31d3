"""The app of a site whose commands run in a process of their own; it imports no more than a site does."""

from __future__ import annotations

import json
import os

import flask

from flask_chat_memory import ChatMemory

CONFIG = "CHAT_MEMORY_TEST_CONFIG"
"""The environment variable of its configuration, as JSON, beside ``instance_path``."""


def create_app() -> flask.Flask:
    config = json.loads(os.environ[CONFIG])
    app = flask.Flask("site", instance_path=config.pop("instance_path", None))
    app.config.update(SECRET_KEY="a key for tests", **config)
    ChatMemory(app)
    return app
