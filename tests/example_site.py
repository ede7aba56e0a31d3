"""The example app, and what its tests do as visitors."""

from __future__ import annotations

import collections.abc as cabc
import json
import pathlib
import typing as t

import flask
import pytest
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from example_app import create_app
from example_app.accounts import DEMO_PASSWORD
from flask_chat_memory import ChatMemory

MESSAGES = "/chat-memory/support/messages"


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (
        "CHAT_MEMORY_PLUGIN", "CHAT_MEMORY_THREADS", "KNOWLEDGE_FOLDER", "OPENAI_API_KEY", "OPENAI_BASE_URL",
        "OPENAI_MODEL", "SECRET_KEY"
    ):  # fmt: skip
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def make_app(tmp_path: pathlib.Path) -> cabc.Iterator[cabc.Callable[..., flask.Flask]]:
    made = []

    def make(**config: t.Any) -> flask.Flask:
        app = create_app({"TESTING": True, "BOT_DELAY": 0, **config}, instance_path=str(tmp_path))
        made.append(app)
        return app

    yield make
    for app in made:
        with app.app_context():
            plugin = memory_of(app).plugin
            if plugin is not None:
                plugin.close()


@pytest.fixture
def app(make_app: cabc.Callable[..., flask.Flask]) -> flask.Flask:
    return make_app()


@pytest.fixture
def client(app: flask.Flask) -> FlaskClient:
    return app.test_client()


def memory_of(app: flask.Flask) -> ChatMemory:
    return t.cast(ChatMemory, app.extensions["chat_memory"])


def log_in(client: FlaskClient, name: str = "amber", password: str = DEMO_PASSWORD, **more: t.Any) -> TestResponse:
    return client.post("/login", data={"name": name, "password": password}, **more)


def ask(client: FlaskClient, *texts: str) -> str:
    """Send the newest text, as the widget does, and return the streamed answer."""
    messages = [{"role": ("user", "ai")[place % 2], "text": text} for place, text in enumerate(texts)]
    with client.post(MESSAGES, json={"messages": messages}) as response:
        assert response.status_code == 200
        _sign, *events, done = response.get_data(as_text=True).removesuffix("\n\n").split("\n\n")
    assert done == "data: [DONE]"
    return "".join(json.loads(event.removeprefix("data: "))["text"] for event in events)


def shown(client: FlaskClient) -> list[str]:
    history = client.get("/chat-memory/support/history").get_json()
    return [message["text"] for message in history["messages"]]


def titles(client: FlaskClient) -> list[str]:
    listed = client.get("/chat-memory/support/threads").get_json()
    return [thread["title"] for thread in listed["threads"]]


def session_cookie(client: FlaskClient) -> str | None:
    cookie = client.get_cookie("session")
    return cookie.value if cookie else None
