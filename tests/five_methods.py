"""A plugin as a third party would write it first: the five required methods and a dict."""

from __future__ import annotations

import collections.abc as cabc
import secrets
import typing as t

from flask_chat_memory import chat_memory_plugin
from flask_chat_memory import ChatMemoryPlugin
from flask_chat_memory import ChatMessage
from flask_chat_memory import Scope
from flask_chat_memory.plugins.rules import check_append
from flask_chat_memory.plugins.rules import is_thread_id
from flask_chat_memory.plugins.rules import number
from flask_chat_memory.plugins.rules import select


@chat_memory_plugin("five_methods", label="Five methods")
class FiveMethodsPlugin(ChatMemoryPlugin):
    """Keeps records in a dict: (scope, thread id) -> (last activity, records)."""

    def __init__(self, options: cabc.Mapping[str, t.Any] | None = None) -> None:
        super().__init__(options)
        self.records: dict[tuple[Scope, str], tuple[float, list[dict[str, t.Any]]]] = {}

    def create_thread_id(self) -> str:
        return secrets.token_hex(16)

    def has_thread(self, scope: Scope, thread_id: str) -> bool:
        if not is_thread_id(thread_id) or (scope, thread_id) not in self.records:
            return False
        last_activity, _ = self.records[scope, thread_id]
        return not self.is_expired(last_activity)

    def load_messages(
        self,
        scope: Scope,
        thread_id: str,
        *,
        limit: int | None = None,
        before: int | None = None,
        after: int | None = None,
    ) -> list[ChatMessage]:
        with self.lock:
            records = self.records[scope, thread_id][1] if self.has_thread(scope, thread_id) else []
            return select([ChatMessage.from_record(record) for record in records], limit, before, after)

    def save_messages(self, scope: Scope, thread_id: str, messages: cabc.Sequence[ChatMessage]) -> None:
        check_append(thread_id, None)
        with self.lock:
            last = max((message.sequence or 0 for message in self.load_messages(scope, thread_id)), default=0)
            records = [message.to_record() for message in number(messages, last)]
            self.records[scope, thread_id] = (self.clock(), records)

    def delete_thread(self, scope: Scope, thread_id: str) -> bool:
        with self.lock:
            alive = self.has_thread(scope, thread_id)
            if alive:
                del self.records[scope, thread_id]
            return alive
