"""Sites with a chatbot, and browsers that visit them."""

from __future__ import annotations

import collections.abc as cabc
import contextlib
import dataclasses
import pathlib
import sqlite3
import threading
import typing as t

import cachelib.file
import flask
import flask_login
import flask_session
import pytest
import werkzeug.test

from flask_chat_memory import ChatMemory
from flask_chat_memory import ChatMemoryPlugin
from flask_chat_memory import Turn
from flask_chat_memory.provider import Answer

PATIENCE = 20.0
"""Seconds after which a test that waits for another thread gives up."""


class ManualClock:
    """A clock that moves when it is told to."""

    def __init__(self, now: float = 1_750_000_000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now

    def advance(self, seconds: float) -> None:
        self.now += seconds


class User(flask_login.UserMixin):  # type: ignore[misc]
    def __init__(self, id: str) -> None:
        self.id = id


def make_app(folder: pathlib.Path, *, sessions: str = "cookie", **config: t.Any) -> flask.Flask:
    """Return an app whose files are in the folder; without a ChatMemory.

    :param sessions: ``cookie``, or ``files`` for Flask-Session on cachelib's files.
    """
    app = flask.Flask(__name__, instance_path=str(folder / "instance"))
    app.config.update(SECRET_KEY="a key for tests", TESTING=True, CHAT_MEMORY_PLUGIN="sqlalchemy")
    app.config.update(config)
    if sessions == "files":
        cache = cachelib.file.FileSystemCache(str(folder / "sessions"))
        app.config.update(SESSION_TYPE="cachelib", SESSION_CACHELIB=cache, SESSION_PERMANENT=True)
        flask_session.Session(app)
    return app


def add_login(app: flask.Flask) -> None:
    """Add Flask-Login with a user for every name, and the routes ``/login/<name>`` and ``/logout``."""
    manager = flask_login.LoginManager(app)
    manager.user_loader(User)

    @app.get("/login/<name>")
    def login(name: str) -> str:
        flask_login.login_user(User(name), remember="remember" in flask.request.args)
        return "logged in"

    @app.get("/logout")
    def logout() -> str:
        flask_login.logout_user()
        return "logged out"


SESSIONS = pytest.mark.parametrize("sessions", ["cookie", "files"])
PLUGINS = pytest.mark.parametrize("plugin", ["in_memory", "sqlalchemy"])
THREADS = pytest.mark.parametrize("threads", ["one", "many"])


def said(*texts: str) -> list[str]:
    """Return what a page shows after these questions to :func:`echo`."""
    return [line for text in texts for line in (text, f"You said: {text}")]


def echo(turn: Turn) -> str:
    return f"You said: {turn.text}"


@dataclasses.dataclass
class Site:
    """An app with its ChatMemory.

    :ivar sent: what the model was sent, call by call.
    :ivar answer: the model.
    """

    app: flask.Flask
    memory: ChatMemory
    sent: list[list[dict[str, t.Any]]] = dataclasses.field(default_factory=list)
    answer: cabc.Callable[[Turn], Answer] = echo
    entered: threading.Event = dataclasses.field(default_factory=threading.Event)
    release: threading.Event = dataclasses.field(default_factory=threading.Event)

    @property
    def plugin(self) -> ChatMemoryPlugin:
        return self.plugin_of(None)

    def plugin_of(self, chatbot: str | None) -> ChatMemoryPlugin:
        with self.app.app_context():
            plugin = self.memory.plugin_for(chatbot)
        assert plugin is not None
        return plugin

    def set_clock(self) -> ManualClock:
        clock = self.plugin.clock = ManualClock()
        return clock

    def browser(self) -> Browser:
        return Browser(self.app)

    @property
    def database(self) -> pathlib.Path:
        return pathlib.Path(self.app.instance_path) / "chat-memory.sqlite3"

    def rows(self, table: str = "message") -> int:
        """Return the number of rows of a table; 0 if there is not even a database."""
        if not self.database.exists():
            return 0
        with contextlib.closing(sqlite3.connect(self.database)) as connection:
            count: int = connection.execute(f"select count(*) from chat_memory_{table}").fetchone()[0]
            return count

    @contextlib.contextmanager
    def store_down(self) -> cabc.Iterator[None]:
        """Make every statement about threads fail for the time of the block."""
        with contextlib.closing(sqlite3.connect(self.database, isolation_level=None)) as connection:
            connection.execute("alter table chat_memory_thread rename to away")
            try:
                yield
            finally:
                connection.execute("alter table away rename to chat_memory_thread")

    @contextlib.contextmanager
    def slow_request(self, browser: Browser) -> cabc.Iterator[None]:
        """Keep another request of the browser waiting; the session that it saves is the last that the browser gets."""
        twin = browser.twin()
        responses: list[werkzeug.test.TestResponse] = []
        self.entered.clear()
        self.release.clear()
        with background(lambda: responses.append(twin.client.get("/slow"))):
            assert self.entered.wait(PATIENCE)
            try:
                yield
            finally:
                self.release.set()
        if responses[0].headers.getlist("Set-Cookie"):
            browser.take_session(twin)


@contextlib.contextmanager
def background(work: cabc.Callable[[], object]) -> cabc.Iterator[None]:
    """Do the work in a thread, which has ended when the block has."""
    errors: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        thread.join(PATIENCE)
    assert not thread.is_alive()
    assert errors == []


def make_site(
    folder: pathlib.Path,
    *,
    sessions: str = "cookie",
    login: bool = False,
    permanent: bool = False,
    extension: cabc.Mapping[str, t.Any] | None = None,
    **config: t.Any,
) -> Site:
    """Return a site with a page and an echoing model.

    :param extension: keyword arguments of the ChatMemory.
    """
    app = make_app(folder, sessions=sessions, **config)
    if login:
        add_login(app)
    memory = ChatMemory(app, **(extension or {}))
    site = Site(app, memory)

    def answer(turn: Turn) -> Answer:
        site.sent.append(turn.messages)
        return site.answer(turn)

    for chatbot in app.config["CHAT_MEMORY_CHATBOTS"] or ("default",):
        memory.provider(chatbot)(answer)

    if permanent:

        @app.before_request
        def keep_session() -> None:
            if flask.session and not flask.session.permanent:
                flask.session.permanent = True

    @app.get("/")
    def page() -> str:
        return flask.render_template_string("<!doctype html>{{ chat_widget(request.args.get('chatbot')) }}")

    @app.get("/bubbles")
    def bubbles() -> flask.Response:
        page = flask.render_template_string("{{ chat_history()|tojson }}")
        return flask.Response(page, content_type="application/json")

    @app.get("/plain")
    def plain() -> str:
        return flask.render_template_string("nothing of the chat")

    @app.get("/slow")
    def slow() -> str:
        flask.session.get("anything")
        site.entered.set()
        assert site.release.wait(PATIENCE)
        return "at last"

    return site


class Browser:
    """One visitor's browser: it keeps cookies and talks to the routes."""

    def __init__(self, app: flask.Flask) -> None:
        self.app = app
        self.client = app.test_client()

    def ask(self, text: str, chatbot: str = "default", **body: t.Any) -> werkzeug.test.TestResponse:
        """Post a question and want JSON."""
        return self.post(f"{chatbot}/messages", {"messages": [{"role": "user", "text": text}], **body})

    def post(self, path: str, body: object = None, **arguments: t.Any) -> werkzeug.test.TestResponse:
        return self.client.post(f"/chat-memory/{path}", json=body, headers={"Accept": "application/json"}, **arguments)

    def history(self, chatbot: str = "default", **query: t.Any) -> dict[str, t.Any]:
        response = self.client.get(f"/chat-memory/{chatbot}/history", query_string=query)
        assert response.status_code == 200, response.text
        return t.cast("dict[str, t.Any]", response.json)

    def texts(self, chatbot: str = "default", **query: t.Any) -> list[str]:
        return [message["text"] for message in self.history(chatbot, **query)["messages"]]

    def reset(self, chatbot: str = "default", **body: t.Any) -> str:
        response = self.post(f"{chatbot}/reset", body)
        assert response.status_code == 200, response.text
        return t.cast("dict[str, str]", response.json)["thread_id"]

    def new_chat(self) -> str:
        response = self.post("default/threads")
        assert response.status_code == 200, response.text
        return t.cast("dict[str, str]", response.json)["thread_id"]

    def threads(self, chatbot: str = "default", **query: t.Any) -> list[dict[str, t.Any]]:
        response = self.client.get(f"/chat-memory/{chatbot}/threads", query_string=query)
        assert response.status_code == 200, response.text
        return t.cast("dict[str, list[dict[str, t.Any]]]", response.json)["threads"]

    def change(self, thread_id: str, chatbot: str = "default", **changes: t.Any) -> werkzeug.test.TestResponse:
        return self.client.patch(f"/chat-memory/{chatbot}/threads/{thread_id}", json=changes)

    def delete(self, thread_id: str, chatbot: str = "default") -> werkzeug.test.TestResponse:
        return self.client.delete(f"/chat-memory/{chatbot}/threads/{thread_id}")

    def login(self, name: str, remember: bool = False) -> None:
        assert self.client.get(f"/login/{name}", query_string={"remember": ""} if remember else None).status_code == 200

    def logout(self) -> None:
        assert self.client.get("/logout").status_code == 200

    def kept(self) -> dict[str, t.Any]:
        """Return what the session keeps for the chat."""
        with self.client.session_transaction() as session:
            return dict(session.get("_chat_memory", {}))

    def keep(self, value: object) -> None:
        with self.client.session_transaction() as session:
            session["_chat_memory"] = value

    def twin(self) -> Browser:
        """Return another browser with the same session, such as a second connection of this one."""
        twin = Browser(self.app)
        twin.take_session(self)
        return twin

    def take_session(self, other: Browser) -> None:
        cookie = other.client.get_cookie("session")
        if cookie is None:
            self.client.delete_cookie("session")
        else:
            self.client.set_cookie("session", cookie.value)
