"""An app that real servers run in tests: it answers with what it was asked, and obeys a few words."""

from __future__ import annotations

import collections.abc as cabc
import json
import os
import pathlib
import threading
import time

from flask import Flask
from flask import render_template_string
from flask import Response

from flask_chat_memory import ChatMemory
from flask_chat_memory import Turn

PAGE = "<!doctype html><html lang=en><title>Chat</title><body>{{ chat_widget() }}"


def create_app() -> Flask:
    """Make the app in the folder that CHAT_FOLDER names; a number in its file ``clock`` is added to the time.

    CHAT_CONFIG holds configuration as JSON. A bot that was told to ``wait`` goes on when there is a file ``release``.
    """
    folder = pathlib.Path(os.environ["CHAT_FOLDER"])
    app = Flask(__name__, instance_path=str(folder))
    app.config.update(SECRET_KEY="test", CHAT_MEMORY_PLUGIN="sqlalchemy")
    app.config.update(json.loads(os.environ.get("CHAT_CONFIG", "{}")))
    memory = ChatMemory(app)

    def clock() -> float:
        ahead = folder / "clock"
        return time.time() + (float(ahead.read_text()) if ahead.exists() else 0)

    with app.app_context():
        assert memory.plugin is not None
        memory.plugin.clock = clock

    @memory.provider
    def answer(turn: Turn) -> cabc.Iterator[str]:
        if turn.text == "hang":
            yield f"process {os.getpid()} "
            threading.Event().wait()
        if turn.text == "wait":
            yield f"process {os.getpid()} "
            while not (folder / "release").exists():
                time.sleep(0.02)
        for word in f"you said {turn.text}".split():
            yield word + " "

    @app.after_request
    def name_worker(response: Response) -> Response:
        response.headers["Worker"] = str(os.getpid())
        return response

    @app.get("/")
    def page() -> str:
        return render_template_string(PAGE)

    return app
