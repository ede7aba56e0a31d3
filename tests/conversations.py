"""Apps with a memory, and what the tests of conversations and turns share."""

from __future__ import annotations

import collections.abc as cabc
import json
import pathlib
import typing as t

import flask
from werkzeug.test import EnvironBuilder
from werkzeug.test import TestResponse

from flask_chat_memory import Appended
from flask_chat_memory import ChatMemory
from flask_chat_memory import ChatMemoryPlugin
from flask_chat_memory import ChatMessage
from flask_chat_memory import Conversation
from flask_chat_memory import Scope
from flask_chat_memory import StorageError
from flask_chat_memory import Turn
from flask_chat_memory.plugins.in_memory import InMemoryPlugin

OWNER = "user:1"
BUILT_IN = ("in_memory", "sqlalchemy")


class Site:
    """An app with a memory whose only visitor is ``OWNER``.

    :param folder: becomes the instance folder.
    :param config: values by the key without its ``CHAT_MEMORY_``.
    """

    def __init__(self, folder: pathlib.Path, plugin: t.Any = "in_memory", **config: t.Any) -> None:
        self.app = flask.Flask("site", instance_path=str(folder))
        self.app.config.update({"SECRET_KEY": "secret", "CHAT_MEMORY_PLUGIN": plugin})
        self.app.config.update({f"CHAT_MEMORY_{key}": value for key, value in config.items()})
        self.memory = ChatMemory(self.app, owner_loader=lambda: OWNER)

    def start(self, owner: str = OWNER, chatbot: str | None = None) -> Conversation:
        with self.app.app_context():
            return self.memory.start_conversation(owner, chatbot)

    @property
    def plugin(self) -> t.Any:
        with self.app.app_context():
            return self.memory.plugin

    def stored(self, thread_id: str | None, owner: str = OWNER, chatbot: str = "default") -> list[ChatMessage]:
        assert thread_id is not None
        plugin: ChatMemoryPlugin = self.plugin
        return plugin.load_messages(Scope(owner, chatbot), thread_id)

    def post(self, text: str, key: str | None = None, accept: str = "text/event-stream") -> TestResponse:
        return self.app.test_client().post(
            "/chat-memory/default/messages",
            json={"messages": [{"role": "user", "text": text}], "key": key},
            headers={"Accept": accept},
            buffered=True,
        )

    def leave_at_once(self, path: str, **request: t.Any) -> None:
        """Make a request and go away before the body begins; a test client always reads the first piece."""
        environment = EnvironBuilder(path, method="POST", **request).get_environ()
        body = self.app(environment, lambda *_: lambda data: None)
        t.cast(t.Any, body).close()


class FragilePlugin(InMemoryPlugin):
    """Works until it is told that its store is down."""

    down = False

    def load_messages(self, *arguments: t.Any, **named: t.Any) -> list[ChatMessage]:
        self._check()
        return super().load_messages(*arguments, **named)

    def current_thread(self, scope: Scope) -> str | None:
        self._check()
        return super().current_thread(scope)

    def load_current(self, scope: Scope, *, limit: int | None = None) -> tuple[str | None, list[ChatMessage]]:
        self._check()
        return super().load_current(scope, limit=limit)

    def start_turn(self, *arguments: t.Any, **named: t.Any) -> Appended:
        self._check()
        return super().start_turn(*arguments, **named)

    def end_turn(self, *arguments: t.Any, **named: t.Any) -> Appended | None:
        self._check()
        return super().end_turn(*arguments, **named)

    def _check(self) -> None:
        if self.down:
            raise StorageError("no answer from postgres://name:password@host")


class CountingPlugin(InMemoryPlugin):
    """Counts the messages that it was asked for, and the batches that it was given."""

    asked = 0
    given = 0

    def load_messages(self, *arguments: t.Any, **named: t.Any) -> list[ChatMessage]:
        found = super().load_messages(*arguments, **named)
        self.asked += len(found)
        return found

    def load_current(self, scope: Scope, *, limit: int | None = None) -> tuple[str | None, list[ChatMessage]]:
        thread_id, found = super().load_current(scope, limit=limit)
        self.asked += len(found)
        return thread_id, found

    def start_turn(self, *arguments: t.Any, **named: t.Any) -> Appended:
        self.given += 1
        return super().start_turn(*arguments, **named)

    def end_turn(self, *arguments: t.Any, **named: t.Any) -> Appended | None:
        self.given += 1
        return super().end_turn(*arguments, **named)


class Source:
    """An iterator that knows whether it was closed."""

    def __init__(self, pieces: cabc.Iterable[t.Any]) -> None:
        self._pieces = iter(pieces)
        self.closed = 0
        self.given = 0

    def __iter__(self) -> Source:
        return self

    def __next__(self) -> t.Any:
        piece = next(self._pieces)
        self.given += 1
        if isinstance(piece, Exception):
            raise piece
        return piece

    def close(self) -> None:
        self.closed += 1


def body(text: str, **more: t.Any) -> dict[str, t.Any]:
    """What a page posts."""
    return {"messages": [{"role": "user", "text": text}], **more}


def told(messages: cabc.Iterable[ChatMessage]) -> list[tuple[str, t.Any, str | None]]:
    """Role, content and status of each message."""
    return [(message.role, message.content, message.status) for message in messages]


def ask(conversation: Conversation, text: str, answer: str = "fine") -> Turn:
    """Take one whole turn."""
    turn = conversation.turn(text)
    turn.finish(answer)
    return turn


def events(response: TestResponse) -> list[t.Any]:
    """The events of a streamed answer; ``[DONE]`` as it is."""
    lines = [line.removeprefix("data: ") for line in response.get_data(as_text=True).split("\n\n")]
    lines = [line for line in lines if line not in ("", ":")]
    return [line if line == "[DONE]" else json.loads(line) for line in lines]
