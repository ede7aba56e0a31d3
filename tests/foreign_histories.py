"""Writes histories with the libraries whose they are; run as a script, for their imports warn of this and that."""

from __future__ import annotations

import asyncio
import sys
import typing as t

ITEMS: list[dict[str, t.Any]] = [
    {"role": "system", "content": "Be kind."},
    {"role": "user", "content": "How warm is it? 漢 😀"},
    {"id": "rs_1", "type": "reasoning", "summary": [{"type": "summary_text", "text": "Look it up."}]},
    {
        "type": "function_call",
        "call_id": "c1",
        "name": "weather",
        "arguments": '{"town": "Graz"}',
        "id": "fc_1",
        "status": "completed",
    },
    {
        "type": "function_call",
        "call_id": "c2",
        "name": "weather",
        "arguments": '{"town": "Linz"}',
        "id": "fc_2",
        "status": "completed",
    },
    {"type": "function_call_output", "call_id": "c1", "output": "21"},
    {"type": "function_call_output", "call_id": "c2", "output": "19"},
    {
        "type": "message",
        "id": "msg_1",
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": "Warm enough.", "annotations": []}],
    },
    {"type": "web_search_call", "id": "ws_1", "status": "completed"},
    {"role": "user", "content": [{"type": "input_text", "text": "Thanks"}, {"type": "input_image", "image_url": "a"}]},
]


def langchain(path: str, session: str, *, more: bool = False) -> None:
    from langchain_community.chat_message_histories import SQLChatMessageHistory
    from langchain_core.messages import AIMessage
    from langchain_core.messages import ChatMessage
    from langchain_core.messages import HumanMessage
    from langchain_core.messages import SystemMessage
    from langchain_core.messages import ToolMessage

    history = SQLChatMessageHistory(session, connection=f"sqlite:///{path}")
    if more:
        history.add_messages([HumanMessage("And tomorrow?"), AIMessage("Rain.")])
        return
    parts: list[t.Any] = [
        {"type": "text", "text": "How warm is it? 漢 😀"},
        {"type": "image_url", "image_url": {"url": "https://example.org/sky.png"}},
    ]
    history.add_messages(
        [
            SystemMessage("Be kind."),
            HumanMessage(parts, id="human-1"),
            AIMessage(
                "",
                tool_calls=[{"name": "weather", "args": {"town": "Graz"}, "id": "c1"}],
                usage_metadata={"input_tokens": 10, "output_tokens": 5, "total_tokens": 15},
                response_metadata={"model_name": "small-1"},
                id="ai-1",
            ),
            ToolMessage("21", tool_call_id="c1", name="weather"),
            AIMessage("Warm enough."),
            ChatMessage("Too short.", role="critic"),
        ]
    )


async def agents(path: str, kind: str, session: str, *, more: bool = False) -> None:
    from agents import SQLiteSession
    from agents.extensions.memory import SQLAlchemySession

    items: list[t.Any] = [{"role": "user", "content": "And tomorrow?"}] if more else ITEMS
    if kind == "sqlite":
        session_of_file = SQLiteSession(session, path)
        await session_of_file.add_items(items)
        session_of_file.close()
    else:
        url = f"sqlite+aiosqlite:///{path}"
        session_of_url = SQLAlchemySession.from_url(session, url=url, create_tables=True)
        await session_of_url.add_items(items)
        await session_of_url.engine.dispose()


if __name__ == "__main__":
    library, folder = sys.argv[1:]
    if library == "langchain":
        for session in ("one", "two"):
            langchain(f"{folder}/before.sqlite3", session)
            langchain(f"{folder}/after.sqlite3", session)
        langchain(f"{folder}/after.sqlite3", "one", more=True)
    else:
        kind = library.partition("-")[2]
        for session in ("one", "two"):
            asyncio.run(agents(f"{folder}/before.sqlite3", kind, session))
            asyncio.run(agents(f"{folder}/after.sqlite3", kind, session))
        asyncio.run(agents(f"{folder}/after.sqlite3", kind, "one", more=True))
