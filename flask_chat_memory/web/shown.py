"""Messages as a page shows them."""

from __future__ import annotations

import collections.abc as cabc
import typing as t

from ..history import Page
from ..message import ChatMessage

PENDING = "pending"


class ShownMessage(t.TypedDict):
    """One bubble: ``role`` is ``user`` or ``ai``; ``status`` is how the answer ended, or ``pending`` on a question."""

    role: str
    text: str
    id: str | None
    status: str | None


def shown_messages(page: Page) -> list[ShownMessage]:
    """Return the questions and the answers of a page; what only the model sees is left out."""
    return list(_shown(page.messages, page.running))


def _shown(messages: cabc.Iterable[ChatMessage], running: frozenset[str]) -> cabc.Iterator[ShownMessage]:
    for message in messages:
        if message.role == "user":
            status = PENDING if message.turn in running else None
            yield {"role": "user", "text": message.text, "id": message.id, "status": status}
        elif message.role == "assistant" and (message.text or message.status):
            yield {"role": "ai", "text": message.text, "id": message.id, "status": message.status}
