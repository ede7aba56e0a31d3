"""The order and the shape in which messages are shown to a model."""

from __future__ import annotations

import collections.abc as cabc
import typing as t

from ..message import ChatMessage

INSTRUCTING = ("system", "developer")
"""Roles in which the site speaks to the model."""


def by_turn(messages: cabc.Iterable[ChatMessage]) -> list[ChatMessage]:
    """Group messages by turn, turns in the order of their questions.

    Stored order is arrival, so the messages of turns that overlap are mixed.
    """
    messages = list(messages)
    groups: dict[str | int, list[ChatMessage]] = {}
    for turn, message in zip(turns_of(messages), messages, strict=True):
        groups.setdefault(turn, []).append(message)
    return [message for group in groups.values() for message in group]


def turns_of(messages: cabc.Iterable[ChatMessage]) -> list[str | int]:
    """Return the turn of each message; one without a turn belongs to the question before it."""
    turns: list[str | int] = []
    turn: str | int = 0
    for place, message in enumerate(messages, 1):
        if message.turn is not None:
            turn = message.turn
        elif message.role == "user":
            turn = place
        turns.append(turn)
    return turns


def acceptable(messages: cabc.Iterable[ChatMessage]) -> list[ChatMessage]:
    """Return messages in an order that strict providers accept.

    Messages without content are left out, tool calls without their results and results without their call likewise, and
    messages of the user in a row are joined, as are those of the assistant. Neither an answer nor a result stands
    before the first user message. What the site has stored as ``system`` or ``developer`` is part of the one system
    message.
    """
    result: list[ChatMessage] = []
    is_asked = False
    for message in _paired([message for message in messages if message.role not in INSTRUCTING]):
        if message.role != "tool" and _is_blank(message) and not message.tool_calls:
            continue
        if message.role in ("assistant", "tool") and not is_asked:
            continue
        is_asked = is_asked or message.role == "user"
        if message.role != "tool" and result and result[-1].role == message.role:
            result[-1] = _joined(result[-1], message)
        else:
            result.append(message)
    return result


def _paired(messages: list[ChatMessage]) -> cabc.Iterator[ChatMessage]:
    """Keep a tool call only with all of its results right behind it, and a result only behind its call."""
    place = 0
    while place < len(messages):
        message = messages[place]
        place += 1
        if message.role == "tool":
            continue
        if not message.tool_calls:
            yield message
            continue
        end = place
        while end < len(messages) and messages[end].role == "tool":
            end += 1
        results = {result.tool_call_id: result for result in messages[place:end]}
        wanted = [call["id"] for call in message.tool_calls if isinstance(call.get("id"), str)]
        place = end
        if len(set(wanted)) == len(message.tool_calls) and results.keys() >= set(wanted):
            yield message
            # The result of a tool that gave nothing is an empty text: null is refused.
            yield from (
                results[call] if results[call].content else results[call].replace(content="") for call in wanted
            )
        elif message.content:
            yield ChatMessage.from_dict({k: v for k, v in message.to_dict().items() if k != "tool_calls"})


def _is_blank(message: ChatMessage) -> bool:
    parts = message.content if isinstance(message.content, list) else []
    return not message.text.strip() and all(part.get("type") == "text" for part in parts)


def _joined(first: ChatMessage, second: ChatMessage) -> ChatMessage:
    first = first.replace(tool_calls=second.tool_calls)
    if _is_blank(second):
        return first
    if isinstance(first.content, list) or isinstance(second.content, list):
        return first.replace(content=[*_parts(first), *_parts(second)])
    return first.replace(content=f"{first.text}\n\n{second.text}")


def _parts(message: ChatMessage) -> list[dict[str, t.Any]]:
    if isinstance(message.content, list):
        return message.content
    return [{"type": "text", "text": message.text}]
