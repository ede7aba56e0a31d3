"""The chat histories of Neuron, a framework of PHP: files, one row a thread, or one row a message."""

from __future__ import annotations

import collections.abc as cabc
import functools
import json
import os
import typing as t
import urllib.parse

from ...errors import ImportRefused
from .base import Draft
from .base import ForeignThread
from .base import Source
from .base import time_of
from .database import decoded
from .database import ForeignDatabase

PREFIX = "neuron_"
SUFFIX = ".chat"
THREADS = "chat_history"
MESSAGES = "chat_messages"
_STRUCTURE = frozenset({"__id", "__meta", "role", "content", "usage", "type", "tools", "archived_at"})
_ROLES = ("user", "assistant")


class NeuronSource(Source):
    """What the three have in common: the messages."""

    def _messages_of(self, where: str, read: cabc.Callable[[], object]) -> list[object]:
        """Return a list of messages that is kept as one text; one that cannot be read is counted and is empty."""
        try:
            messages = read()
        except (OSError, ValueError, RecursionError):
            messages = None
        if not isinstance(messages, list):
            self.left_out[f"{where} that cannot be read"] += 1
            return []
        return messages

    def _add(self, draft: Draft, stored: object, at: float | None = None) -> None:
        if not isinstance(stored, dict):
            self.left_out["message that cannot be read"] += 1
            return
        kind, role = stored.get("type"), stored.get("role")
        tools = [tool for tool in stored.get("tools") or [] if isinstance(tool, dict)]
        told: dict[str, t.Any] = {"at": at, "metadata": _metadata(stored), "usage": stored.get("usage")}
        id = stored.get("__id")
        if kind == "tool_call":
            calls = [_tool_call(tool) for tool in tools]
            draft.add(stored, "assistant", _content(stored.get("content")), source_id=id, tool_calls=calls, **told)
        elif kind == "tool_call_result":
            for place, tool in enumerate(tools):
                told["metadata"] = {}
                draft.add(
                    [place, stored],
                    "tool",
                    _result(tool.get("result")),
                    source_id=None if place else id,
                    tool_call_id=tool.get("callId") or tool.get("name"),
                    name=tool.get("name"),
                    **told,
                )
        elif role in _ROLES or role == "model":
            role = "assistant" if role == "model" else role
            draft.add(stored, str(role), _content(stored.get("content")), source_id=id, **told)
        else:
            self.left_out[f"{role} message"] += 1


class NeuronFiles(NeuronSource):
    """``FileChatHistory``: a file for each thread, named by it.

    :param folder: where the files are.
    """

    name = "neuron-file"

    def __init__(self, folder: str, prefix: str = PREFIX, suffix: str = SUFFIX) -> None:
        super().__init__()
        self._folder = folder
        self._prefix = prefix
        self._suffix = suffix

    def threads(self) -> cabc.Iterator[ForeignThread]:
        try:
            names = sorted(os.listdir(self._folder))
        except OSError as error:
            raise ImportRefused("there is no such folder") from error
        for name in names:
            if not (name.startswith(self._prefix) and name.endswith(self._suffix)):
                continue
            key = urllib.parse.unquote(name[len(self._prefix) : len(name) - len(self._suffix)])
            path = os.path.join(self._folder, name)
            draft = Draft(self, key)
            for stored in self._messages_of("file", functools.partial(_of_file, path)):
                self._add(draft, stored)
            yield draft.finished(last_activity=os.path.getmtime(path))


class NeuronThreads(NeuronSource):
    """``SQLChatHistory``, with the messages of a thread in one row.

    :param where: a URL, or the path of a file of SQLite.
    """

    name = "neuron-sql"

    def __init__(self, where: str, table: str = THREADS) -> None:
        super().__init__()
        self._database = ForeignDatabase(where)
        self._table = table

    def threads(self) -> cabc.Iterator[ForeignThread]:
        for thread_id, rows in self._database.groups(self._table, "thread_id", ["messages"]):
            draft = Draft(self, thread_id)
            for row in rows:
                for stored in self._messages_of("row", functools.partial(decoded, row["messages"])):
                    self._add(draft, stored)
            times = [time_of(row.get(name)) for row in rows for name in ("created_at", "updated_at")]
            yield draft.finished(times[0], times[-1])


class NeuronMessages(NeuronSource):
    """``EloquentChatHistory``, and newer ``SQLChatHistory``: a row for each message.

    :param where: a URL, or the path of a file of SQLite.
    """

    name = "neuron-eloquent"

    def __init__(self, where: str, table: str = MESSAGES) -> None:
        super().__init__()
        self._database = ForeignDatabase(where)
        self._table = table

    def threads(self) -> cabc.Iterator[ForeignThread]:
        for thread_id, rows in self._database.groups(self._table, "thread_id", ["role", "content", "meta"]):
            draft = Draft(self, thread_id)
            for row in rows:
                try:
                    content, meta = decoded(row["content"]), decoded(row["meta"]) or {}
                    stored = {**meta, "role": row["role"], "content": content}
                except (ValueError, TypeError):
                    self.left_out["message that cannot be read"] += 1
                    continue
                if row.get("message_id"):
                    stored["__id"] = row["message_id"]
                self._add(draft, stored, time_of(row.get("created_at")))
            yield draft.finished()


def _of_file(path: str) -> object:
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def _content(content: object) -> t.Any:
    """Return text or parts; one block of text is a text."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list) or not content:
        return None
    parts = [_part(block) for block in content]
    return parts[0]["text"] if len(parts) == 1 and parts[0].keys() == {"type", "text"} else parts


def _part(block: object) -> dict[str, t.Any]:
    if not isinstance(block, dict):
        return {"type": "text", "text": str(block)}
    if block.get("type") == "text":
        rest = {name: value for name, value in block.items() if name not in ("type", "content") and value}
        return {"type": "text", "text": str(block.get("content") or ""), **rest}
    return block


def _tool_call(tool: cabc.Mapping[str, t.Any]) -> dict[str, t.Any]:
    arguments = json.dumps(tool.get("inputs") or {}, ensure_ascii=False)
    function = {"name": tool.get("name"), "arguments": arguments}
    return {"id": tool.get("callId") or tool.get("name"), "type": "function", "function": function}


def _result(result: object) -> t.Any:
    blocks = result.get("blocks") if isinstance(result, dict) else result
    if isinstance(blocks, list):
        return _content(blocks)
    return result if isinstance(result, str) or result is None else json.dumps(result, ensure_ascii=False)


def _metadata(stored: cabc.Mapping[str, t.Any]) -> dict[str, t.Any]:
    """Return what a message tells besides; older versions have it beside the message's own fields."""
    given = stored.get("__meta")
    if isinstance(given, dict):
        return given
    return {name: value for name, value in stored.items() if name not in _STRUCTURE}
