"""Messages as a page shows them."""

from __future__ import annotations

import collections.abc as cabc
import typing as t

from ..history import Page
from ..plugins.records import Mark
from ..plugins.rules import sequence_of

PENDING = "pending"


class ShownMessage(t.TypedDict):
    """One bubble: ``role`` is ``user`` or ``ai``; ``status`` is how the answer ended, or ``pending`` on a question.

    A question that was asked in several versions has its own ``version`` and all ``versions``; a message of which the
    visitor has said something has its ``rating`` or ``comment``.
    """

    role: str
    text: str
    id: str | None
    status: str | None
    version: t.NotRequired[int]
    versions: t.NotRequired[list[int]]
    rating: t.NotRequired[int]
    comment: t.NotRequired[str]


def shown_messages(page: Page) -> list[ShownMessage]:
    """Return the questions and the answers of a page; what only the model sees is left out."""
    return list(_shown(page))


def _shown(page: Page) -> cabc.Iterator[ShownMessage]:
    for message in page.messages:
        if message.role == "user":
            status = PENDING if message.turn in page.running else None
            shown: ShownMessage = {"role": "user", "text": message.text, "id": message.id, "status": status}
            versions = page.versions.get(sequence_of(message))
            if versions is not None:
                shown["version"], shown["versions"] = sequence_of(message), list(versions)
        elif message.role == "assistant" and (message.text or message.status):
            shown = {"role": "ai", "text": message.text, "id": message.id, "status": message.status}
        else:
            continue
        mark = page.marks.get(message.id or "", Mark())
        if mark.rating is not None:
            shown["rating"] = mark.rating
        if mark.comment is not None:
            shown["comment"] = mark.comment
        yield shown
