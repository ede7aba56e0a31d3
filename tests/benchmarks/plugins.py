"""The plugins, called as conversations call them."""

from __future__ import annotations

import collections.abc as cabc
import pathlib

from flask_chat_memory.live import LEASE
from flask_chat_memory.message import ChatMessage
from flask_chat_memory.plugins.file import FilePlugin
from flask_chat_memory.plugins.in_memory import InMemoryPlugin
from flask_chat_memory.plugins.records import LiveTurn
from flask_chat_memory.plugins.records import Scope
from flask_chat_memory.plugins.sqlalchemy import SQLAlchemyPlugin
from tests.benchmarks.store import Body
from tests.benchmarks.store import cut
from tests.benchmarks.store import messages
from tests.benchmarks.store import OTHER_LENGTH
from tests.benchmarks.store import OTHER_THREADS
from tests.benchmarks.store import SCOPE
from tests.benchmarks.store import THREAD_ID


class Plugin:
    """A system that is one of ours."""

    _plugin: FilePlugin | InMemoryPlugin | SQLAlchemyPlugin

    def message(self, body: Body) -> ChatMessage:
        return ChatMessage.from_dict(body)

    def append(self, messages: cabc.Sequence[ChatMessage], key: str) -> object:
        return self._plugin.append_messages(SCOPE, THREAD_ID, messages, key=key)

    def load(self, limit: int | None) -> list[ChatMessage]:
        return self._plugin.load_messages(SCOPE, THREAD_ID, limit=limit)

    def turn(self, question: ChatMessage, answer: ChatMessage, limit: int) -> None:
        turn, asked, answered = str(question.turn), str(question.id), str(answer.id)
        self._plugin.load_current(SCOPE, limit=limit)
        live = LiveTurn(turn, asked, answered, self._plugin.clock() + LEASE)
        self._plugin.start_turn(SCOPE, THREAD_ID, question, key=f"question:{asked}", live=live)
        self._plugin.end_turn(SCOPE, THREAD_ID, turn, [answer], key=f"answer:{turn}", reply_to=asked)

    def close(self) -> None:
        self._plugin.close()


class OurSqlalchemy(Plugin):
    name = "plugin sqlalchemy"

    def __init__(self, path: pathlib.Path) -> None:
        self._path = path
        self._plugin = SQLAlchemyPlugin({"url": f"sqlite:///{path}"})

    def cut(self, length: int) -> None:
        cut(self._path, length)


class OurInMemory(Plugin):
    name = "plugin in_memory"

    def __init__(self, length: int) -> None:
        self._plugin = InMemoryPlugin()
        for number in range(OTHER_THREADS):
            self._plugin.save_messages(Scope(f"user:{number + 2}"), "other", messages(OTHER_LENGTH))
        self._plugin.save_messages(SCOPE, THREAD_ID, messages(length))

    def cut(self, length: int) -> None:
        self._plugin.save_messages(SCOPE, THREAD_ID, self._plugin.load_messages(SCOPE, THREAD_ID)[:length])
