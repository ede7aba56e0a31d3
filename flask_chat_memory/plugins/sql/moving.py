"""The threads of one scope become those of another, within one transaction."""

from __future__ import annotations

import collections.abc as cabc

from ...message import ChatMessage
from ..abilities import Reseals
from ..hiding import is_hidden
from ..records import Scope
from ..rules import sequence_of
from .rows import Append
from .rows import EVERYTHING
from .rows import Page
from .rows import page_of
from .tables import id_key
from .tables import scope_key
from .tables import thread_key
from .transaction import Row
from .writing import Writer


class Mover(Writer):
    """Moves threads within a transaction that the caller opens and commits."""

    def move(self, source: Scope, target: Scope, reseal: Reseals | None = None) -> int:
        """Do what :meth:`MovesThreads.move_threads` promises."""
        left = 0
        of_source = {"owner": source.owner, "chatbot": source.chatbot, "scope_key": scope_key(source)}
        if source == target:
            return 0
        self._lock(self._statements.lock_scope, of_source)
        for key, thread_id, alive, running, current, title in self.rows(
            self._statements.threads_of_scope, {**of_source, **self.times}
        ):
            if running:
                left += 1
            elif not alive:
                self.remove(source, key)
            elif self.is_alive(target, thread_id) or self._joins(target, bool(current)):
                self._join(source, target, key, thread_id, reseal)
            else:
                if reseal:
                    title = reseal.title(thread_id, title) if title else None
                    self._reseal(key, thread_id, reseal)
                self._rescope(source, target, key, thread_id, title, bool(current))
        return left

    def _join(self, source: Scope, target: Scope, key: str, thread_id: str, reseal: Reseals | None) -> None:
        """Append what is visible of a thread to another one, and remove the thread."""
        goal = self._goal(target, thread_id)
        messages, hidden = self._messages(key)
        messages = [message for message in messages if not is_hidden(sequence_of(message), hidden)]
        marks = self._marks(key, thread_id, goal, messages, reseal)
        if reseal:
            messages = reseal.messages(thread_id, goal, messages)
        self._append(Append(target, thread_id, messages, f"adopt:{thread_id}"))
        new_key = thread_key(target, goal)
        marked = {message_id for message_id, _, _ in self.rows(self._statements.marks, {"thread_key": new_key})}
        self._put_marks(new_key, [mark for mark in marks if mark[0] not in marked])
        self.run(self._statements.drop_marks, {"thread_key": new_key})
        self.remove(source, key)

    def _reseal(self, key: str, thread_id: str, reseal: Reseals) -> None:
        """Make what a thread holds fit the same thread of another scope."""
        messages, _ = self._messages(key)
        marks = self._marks(key, thread_id, thread_id, messages, reseal)
        messages = reseal.messages(thread_id, thread_id, messages)
        self.run(self._statements.remove_messages, {"thread_key": key})
        self._insert(key, messages)
        self._put_marks(key, marks)
        for turn, _, _, lease, text, _ in self.rows(self._statements.live_turns, {"key": key, **self.times}):
            if text:
                told = {"text": reseal.live_text(thread_id, turn, text), "until": lease}
                self.run(self._statements.renew_live, {"key": key, "turn_id": turn, **told, **self.times})

    def _marks(
        self, key: str, thread_id: str, goal: str, messages: cabc.Iterable[ChatMessage], reseal: Reseals | None
    ) -> list[Row]:
        """Return the rows of the marks of messages, as the thread that they go to keeps them."""
        ids = {id_key(message.id): message.id for message in messages if message.id is not None}
        return [
            (name, rating, reseal.comment(thread_id, goal, ids[name], comment) if reseal and comment else comment)
            for name, rating, comment in self.rows(self._statements.marks, {"thread_key": key})
            if name in ids
        ]

    def _put_marks(self, key: str, marks: cabc.Iterable[Row]) -> None:
        for message_id, rating, comment in marks:
            mark = {"thread_key": key, "message_id": message_id, "rating": rating, "comment": comment}
            self.run(self._statements.put_mark, mark)

    def _rescope(
        self, source: Scope, target: Scope, key: str, thread_id: str, title: str | None, current: bool
    ) -> None:
        statements = self._statements
        new_key = thread_key(target, thread_id)
        move = {
            "old_key": key,
            "new_key": new_key,
            "new_owner": target.owner,
            "new_chatbot": target.chatbot,
            "new_title": title,
        }
        for statement in (*statements.rekey, statements.rescope_thread):
            self.run(statement, move)
        self.run(statements.remove_current, {"thread_key": key, "scope_key": scope_key(source)})
        if current:
            self._make_current(target, new_key)
        self._limit_threads(target, new_key)

    def _messages(self, key: str) -> Page:
        """Return the messages of all lines, and what is hidden of them."""
        everything = {"thread_key": key, "after": -1, "limit": EVERYTHING, **self.times}
        return page_of(self.rows(self._statements.oldest, everything), key)

    def _goal(self, scope: Scope, thread_id: str) -> str:
        """Return the thread that a batch goes to."""
        thread = self.look(scope, thread_id)
        return thread.thread_id if thread else thread_id

    def _joins(self, target: Scope, is_current: bool) -> bool:
        """Tell whether a thread becomes part of the conversation that the target has."""
        return is_current and self._options.threads == "one" and self._current_of(target)
