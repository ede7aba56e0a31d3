"""Where a turn is stored."""

from __future__ import annotations

import collections.abc as cabc
import dataclasses

from .message import ChatMessage
from .plugins.abilities import HidesMessages
from .plugins.abilities import KeepsLiveTurns
from .plugins.base import ChatMemoryPlugin
from .plugins.records import Appended
from .plugins.records import Scope
from .signals import Announce
from .signals import nobody


@dataclasses.dataclass(frozen=True)
class Place:
    """A thread of a scope.

    :param announce: tells of turns that end there.
    """

    plugin: ChatMemoryPlugin
    scope: Scope
    thread_id: str
    announce: Announce = nobody

    def load(self, *, after: int, limit: int | None) -> list[ChatMessage]:
        """Return messages of all lines, also of those that are not seen."""
        if isinstance(self.plugin, HidesMessages):
            return self.plugin.load_messages(self.scope, self.thread_id, after=after, limit=limit, hidden=True)
        return self.plugin.load_messages(self.scope, self.thread_id, after=after, limit=limit)

    def end(self, turn: str, question_id: str, batch: list[ChatMessage]) -> Appended | None:
        """Store the answer of a turn, unless somebody else has ended it or the question is gone."""
        key = f"answer:{turn}"
        if isinstance(self.plugin, KeepsLiveTurns):
            return self.plugin.end_turn(self.scope, self.thread_id, turn, batch, key=key, reply_to=question_id)
        return self.plugin.append_messages(self.scope, self.thread_id, batch, key=key, reply_to=question_id)

    def holds(self, appended: Appended, batch: cabc.Sequence[ChatMessage]) -> bool:
        """Tell whether what was stored there before is this batch."""
        there = dataclasses.replace(self, thread_id=appended.thread_id)
        return batch[-1] in there.load(after=appended.sequence - 1, limit=len(batch))
