"""A thread as a whole: all that one store keeps of it in one value."""

from __future__ import annotations

import msgspec

from ...message import ChatMessage
from ..hiding import read_visible
from ..lines import Lines
from ..records import LiveTurn
from ..records import Mark
from ..records import Thread
from ..records import ThreadChanges
from ..rules import KEYS_KEPT
from ..rules import select
from ..rules import trim


class StoredThread(msgspec.Struct):
    """A thread with all that belongs to it.

    :param messages: of all lines, in their order.
    :param sequence: the highest that was ever given.
    :param keys: of appends, the newest last -> sequence.
    :param live: turn -> its record, in the order of the questions.
    :param marks: id of a message -> mark.
    """

    created_at: float
    last_activity: float
    messages: list[ChatMessage] = []
    sequence: int = 0
    keys: dict[str, int] = {}
    live: dict[str, LiveTurn] = {}
    lines: Lines = Lines()
    marks: dict[str, Mark] = {}
    tokens: int = 0
    description: ThreadChanges = msgspec.field(default_factory=ThreadChanges)

    def record(self, thread_id: str) -> Thread:
        return Thread(
            id=thread_id,
            created_at=self.created_at,
            last_activity=self.last_activity,
            messages=len(self.messages),
            tokens=self.tokens,
            **self.description,
        )

    def find(self, id: str) -> ChatMessage | None:
        # From the end: what is replied to is new.
        return next((message for message in reversed(self.messages) if message.id == id), None)

    def select(
        self, limit: int | None = None, before: int | None = None, after: int | None = None
    ) -> list[ChatMessage]:
        """Return visible messages."""
        hidden = self.lines.hidden
        return read_visible(lambda *place: (select(self.messages, *place), hidden), limit, before, after)

    def shows(self, sequence: int) -> bool:
        """Tell whether there is a message of this sequence that is visible."""
        found = select(self.messages, 1, sequence + 1)
        return self.lines.sees(sequence) and [message.sequence for message in found] == [sequence]

    def remember(self, key: str, sequence: int) -> None:
        """Keep the key of an append; the oldest ones are forgotten."""
        self.keys[key] = sequence
        for old in list(self.keys)[:-KEYS_KEPT]:
            del self.keys[old]

    def trim(self, limit: int | None, now: float) -> None:
        kept = trim(self.messages, limit, self.running(now))
        if kept is not self.messages:
            self.messages = kept
            self.drop_marks()

    def drop_marks(self) -> None:
        """Remove the marks of messages that are no longer there."""
        if self.marks:
            kept = {message.id for message in self.messages}
            self.marks = {id: mark for id, mark in self.marks.items() if id in kept}

    def running(self, now: float) -> set[str]:
        return {turn for turn, record in self.live.items() if record.lease > now}
