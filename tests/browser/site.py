"""A site whose bot obeys a few words, served on the loopback interface by threads of the test's process."""

from __future__ import annotations

import collections.abc as cabc
import pathlib
import secrets
import threading

from flask import Flask
from flask import render_template_string
from flask import request
from flask import Response
from flask_login import login_user
from flask_login import LoginManager
from flask_login import logout_user
from flask_login import UserMixin
from werkzeug.serving import make_server

from flask_chat_memory import ChatMemory
from flask_chat_memory import Turn

PAGE = """<!doctype html><html lang="en" dir="{{ request.args.get('dir', 'ltr') }}">
<head><title>Chat</title><meta name="viewport" content="width=device-width, initial-scale=1"></head>
<body><main><h1>Support</h1>
{{ chat_widget(nonce=nonce, threads='threads' in request.args, tools='tools' in request.args) }}
</main></body></html>"""
POLICY = (
    "default-src 'none'; script-src 'nonce-{nonce}' 'strict-dynamic'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'self'; require-trusted-types-for 'script'"
)
PATIENCE = 30
"""Seconds after which a bot that nobody releases gives up."""


class Served:
    """An app that is being served."""

    def __init__(self, app: Flask) -> None:
        self.app = app
        self._server = make_server("127.0.0.1", 0, app, threaded=True)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


class Site(Served):
    """A served app whose bot obeys a few words.

    :ivar asked: what the model was sent, turn by turn: the list of message dicts.
    :ivar waiting: is set when the bot was told to ``wait``; it goes on when a test sets ``release``.
    """

    def __init__(self, folder: pathlib.Path, config: cabc.Mapping[str, object]) -> None:
        self.asked: list[list[dict[str, object]]] = []
        self.release = threading.Event()
        self.waiting = threading.Event()
        app = Flask(__name__, instance_path=str(folder))
        app.config.update(SECRET_KEY="test", CHAT_MEMORY_PLUGIN="sqlalchemy")
        app.config.update(config)
        self.memory = ChatMemory(app)
        self.memory.provider(self._answer)
        _add_pages(app)
        super().__init__(app)

    def close(self) -> None:
        self.release.set()
        super().close()

    def _answer(self, turn: Turn) -> cabc.Iterator[str]:
        self.asked.append(turn.messages)
        word, _, rest = turn.text.partition(" ")
        if word == "wait":
            yield "part one, "
            self.waiting.set()
            self.release.wait(PATIENCE)
            yield "part two"
        elif word == "hang":
            self.waiting.set()
            self.release.wait(PATIENCE)
            yield "too late"
        elif word == "fail":
            yield "as far as this"
            raise RuntimeError("postgres://user:secret@host")
        elif word == "echo":
            yield rest
        elif word == "count":
            yield f"Asked {len(self.asked)}"
        else:
            yield f"You said: {turn.text}"


def _add_pages(app: Flask) -> None:
    manager = LoginManager(app)

    @manager.user_loader  # type: ignore[untyped-decorator]
    def load_user(user_id: str) -> UserMixin:
        user = UserMixin()
        user.id = user_id
        return user

    @app.get("/")
    def page() -> Response:
        nonce = secrets.token_urlsafe(8)
        response = Response(render_template_string(PAGE, nonce=nonce))
        response.headers["Content-Security-Policy"] = POLICY.format(nonce=nonce)
        return response

    @app.get("/login")
    def log_in() -> str:
        login_user(load_user(request.args["name"]))
        return "logged in"

    @app.get("/logout")
    def log_out() -> str:
        logout_user()
        return "logged out"
