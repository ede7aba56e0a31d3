"""The plugins, called as conversations call them."""

from __future__ import annotations

import collections.abc as cabc
import typing as t

from flask_chat_memory.live import LEASE
from flask_chat_memory.message import ChatMessage
from flask_chat_memory.plugins.abilities import CurrentThread
from flask_chat_memory.plugins.abilities import KeepsLiveTurns
from flask_chat_memory.plugins.base import ChatMemoryPlugin
from flask_chat_memory.plugins.records import LiveTurn
from flask_chat_memory.plugins.records import Scope
from tests.benchmarks.store import Body
from tests.benchmarks.store import fill
from tests.benchmarks.store import OWNER
from tests.benchmarks.store import THREAD_ID

SCOPE = Scope(OWNER)

Make = cabc.Callable[[dict[str, t.Any]], ChatMemoryPlugin]
"""Makes what is measured from the options of the plugin that keeps it."""


class Measured(ChatMemoryPlugin, CurrentThread, KeepsLiveTurns):
    """What a plugin must be."""


class PluginSystem:
    """One of ours.

    :param plugin: what is measured; it is closed by who made it.
    """

    def __init__(self, plugin: ChatMemoryPlugin, length: int) -> None:
        self.name = f"plugin {plugin.id}"
        self._plugin = t.cast(Measured, plugin)
        fill(self, length)

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

    def cut(self, length: int) -> None:
        raise NotImplementedError

    def add(self, owner: str, messages: cabc.Sequence[ChatMessage]) -> None:
        self._plugin.save_messages(Scope(owner), THREAD_ID, messages)

    def delete(self, owner: str) -> bool:
        return self._plugin.delete_thread(Scope(owner), THREAD_ID)


class RawSystem:
    """A driver alone, given the messages in their dict form."""

    name: str

    def message(self, body: Body) -> Body:
        return body

    def append(self, messages: cabc.Sequence[Body], key: str) -> None:
        self.add(OWNER, messages)

    def turn(self, question: Body, answer: Body, limit: int) -> None:
        self.load(limit)
        self.append([question], "")
        self.append([answer], "")

    def load(self, limit: int | None) -> list[Body]:
        raise NotImplementedError

    def cut(self, length: int) -> None:
        raise NotImplementedError

    def add(self, owner: str, messages: cabc.Sequence[Body]) -> None:
        raise NotImplementedError

    def delete(self, owner: str) -> None:
        raise NotImplementedError
