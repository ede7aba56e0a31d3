"""``SQLiteSession`` and ``SQLAlchemySession`` of the OpenAI Agents SDK, which write the same tables."""

from __future__ import annotations

import collections.abc as cabc
import typing as t

from .base import Draft
from .base import ForeignThread
from .base import Source
from .base import time_of
from .database import decoded
from .database import ForeignDatabase

MESSAGES = "agent_messages"
_TEXTS = {"input_text", "output_text", "text"}


class OpenAIAgents(Source):
    """Sessions are threads, items are messages.

    Calls that follow each other are one message. Reasoning goes with the message that it has led to, as metadata.

    :param where: a URL, or the path of a file of SQLite.
    """

    name = "openai-agents"

    def __init__(self, where: str, table: str = MESSAGES) -> None:
        super().__init__()
        self._database = ForeignDatabase(where)
        self._table = table

    def threads(self) -> cabc.Iterator[ForeignThread]:
        for session, rows in self._database.groups(self._table, "session_id", ["message_data"]):
            items = _Items(self, Draft(self, session))
            for row in rows:
                try:
                    item = decoded(row["message_data"])
                    kind = item.get("type", "message")
                except (ValueError, AttributeError):
                    self.left_out["item that cannot be read"] += 1
                    continue
                items.add(kind, item, row["id"], time_of(row.get("created_at")))
            yield items.finished()


class _Items:
    """The items of a session on their way to messages."""

    def __init__(self, source: Source, draft: Draft) -> None:
        self._source = source
        self._draft = draft
        self._reasoning: list[t.Any] = []
        self._calls = False

    def add(self, kind: object, item: dict[str, t.Any], row: object, at: float | None) -> None:
        raw, follows_call, self._calls = [row, item], self._calls, kind == "function_call"
        if kind == "reasoning":
            self._reasoning.append(item)
        elif kind == "message" and item.get("role") in ("user", "assistant"):
            role = item["role"]
            metadata = self._reasons() if role == "assistant" else None
            content = item.get("content")
            draft_id = item.get("id")
            self._draft.add(raw, role, _content(content), source_id=draft_id, at=at, metadata=metadata)
        elif kind == "function_call":
            call = {
                "id": item.get("call_id"),
                "type": "function",
                "function": {"name": item.get("name"), "arguments": item.get("arguments")},
            }
            if follows_call and self._draft.messages:
                last = self._draft.messages[-1]
                self._draft.messages[-1] = last.replace(tool_calls=[*(last.tool_calls or []), call])
                return
            metadata = self._reasons()
            self._draft.add(
                raw, "assistant", None, source_id=item.get("id"), at=at, tool_calls=[call], metadata=metadata
            )
        elif kind == "function_call_output":
            output = item.get("output")
            self._draft.add(raw, "tool", _content(output), at=at, tool_call_id=item.get("call_id"))
        else:
            self._source.left_out[f"{item.get('role')} message" if kind == "message" else f"{kind} item"] += 1

    def finished(self) -> ForeignThread:
        if self._reasoning:
            self._source.left_out["reasoning item without an answer"] += len(self._reasoning)
        return self._draft.finished()

    def _reasons(self) -> dict[str, t.Any] | None:
        found, self._reasoning = self._reasoning, []
        return {"reasoning": found} if found else None


def _content(content: object) -> t.Any:
    """Return text, or parts; parts that are text alone, and tell nothing else, are one text."""
    if not isinstance(content, list):
        return content
    if all(isinstance(part, dict) and part.get("type") in _TEXTS and not part.get("annotations") for part in content):
        return "".join(str(part.get("text") or "") for part in content)
    return [
        {**part, "type": "text"} if isinstance(part, dict) and part.get("type") in _TEXTS else part for part in content
    ]
