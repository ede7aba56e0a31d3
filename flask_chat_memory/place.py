"""Where a turn is stored."""

from __future__ import annotations

import collections.abc as cabc
import dataclasses

from .message import ChatMessage
from .plugins.abilities import KeepsLiveTurns
from .plugins.base import ChatMemoryPlugin
from .plugins.records import Appended
from .plugins.records import Scope


@dataclasses.dataclass(frozen=True)
class Place:
    """A thread of a scope."""

    plugin: ChatMemoryPlugin
    scope: Scope
    thread_id: str

    def end(self, turn: str, question_id: str, batch: list[ChatMessage]) -> Appended | None:
        """Store the answer of a turn, unless somebody else has ended it or the question is gone."""
        key = f"answer:{turn}"
        if isinstance(self.plugin, KeepsLiveTurns):
            return self.plugin.end_turn(self.scope, self.thread_id, turn, batch, key=key, reply_to=question_id)
        return self.plugin.append_messages(self.scope, self.thread_id, batch, key=key, reply_to=question_id)

    def holds(self, appended: Appended, batch: cabc.Sequence[ChatMessage]) -> bool:
        """Tell whether what was stored there before is this batch."""
        found = self.plugin.load_messages(self.scope, appended.thread_id, after=appended.sequence - 1, limit=len(batch))
        return batch[-1] in found
