"""What providers of models refuse, and the threads in which summaries are made."""

from __future__ import annotations

import collections.abc as cabc
import threading
import typing as t


def check_order(sent: cabc.Sequence[cabc.Mapping[str, t.Any]], question: str) -> None:
    """Refuse what OpenAI or Anthropic refuses: the question must be the last message."""
    roles = [message["role"] for message in sent]
    assert "system" not in roles[1:]
    talk = list(sent[1:] if roles[0] == "system" else sent)
    assert talk[0]["role"] == "user"
    assert talk[-1]["role"] == "user"
    assert talk[-1]["content"].endswith(question)
    assert all(message["content"] for message in sent if message["role"] != "assistant")
    open_calls: list[str] = []
    for before, message in zip([None, *talk], talk, strict=False):
        role = message["role"]
        if role == "tool":
            open_calls.remove(message["tool_call_id"])
            continue
        assert not open_calls
        assert before is None or role != before["role"]
        if role == "assistant":
            calls = message.get("tool_calls") or []
            assert message["content"] or calls
            open_calls = [call["id"] for call in calls]
    assert not open_calls


def wait_for_summaries() -> None:
    for thread in threading.enumerate():
        if thread.name.startswith("summary of turn"):
            thread.join(30)
            assert not thread.is_alive()
