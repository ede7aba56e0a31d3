"""``SQLChatMessageHistory`` of LangChain: the table ``message_store``, which tells no times."""

from __future__ import annotations

import collections.abc as cabc
import json
import typing as t

from .base import Draft
from .base import ForeignThread
from .base import Source
from .database import decoded
from .database import ForeignDatabase
from .database import Row

TABLE = "message_store"
ROLES = {
    "human": "user",
    "HumanMessageChunk": "user",
    "ai": "assistant",
    "AIMessageChunk": "assistant",
    "tool": "tool",
    "ToolMessageChunk": "tool",
}


class LangChain(Source):
    """Sessions are threads.

    :param where: a URL, or the path of a file of SQLite.
    """

    name = "langchain"

    def __init__(self, where: str, table: str = TABLE) -> None:
        super().__init__()
        self._database = ForeignDatabase(where)
        self._table = table

    def threads(self) -> cabc.Iterator[ForeignThread]:
        for session, rows in self._database.groups(self._table, "session_id", ["message"]):
            draft = Draft(self, session)
            for row in rows:
                self._add(draft, row)
            yield draft.finished()

    def _add(self, draft: Draft, row: Row) -> None:
        try:
            stored = decoded(row["message"])
            kind, data = stored["type"], dict(stored["data"])
        except (ValueError, KeyError, TypeError):
            self.left_out["message that cannot be read"] += 1
            return
        role = ROLES.get(kind) or (data.get("role") if kind == "chat" else None)
        if role not in ("user", "assistant", "tool"):
            self.left_out[f"{kind} message"] += 1
            return
        draft.add(
            [row["id"], stored],
            role,
            data.get("content"),
            source_id=data.get("id"),
            name=data.get("name"),
            tool_calls=[_tool_call(call) for call in data.get("tool_calls") or []],
            tool_call_id=data.get("tool_call_id"),
            usage=data.get("usage_metadata"),
            model=(data.get("response_metadata") or {}).get("model_name"),
            metadata={
                name: data[name]
                for name in ("additional_kwargs", "response_metadata", "artifact", "invalid_tool_calls")
                if data.get(name)
            },
        )


def _tool_call(call: cabc.Mapping[str, t.Any]) -> dict[str, t.Any]:
    function = {"name": call.get("name"), "arguments": json.dumps(call.get("args") or {}, ensure_ascii=False)}
    return {"id": call.get("id"), "type": "function", "function": function}
