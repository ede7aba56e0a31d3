"""The threads of one scope become those of another, within one transaction."""

from __future__ import annotations

from ...message import ChatMessage
from ..abilities import Reseals
from ..records import Scope
from .rows import Append
from .rows import EVERYTHING
from .rows import messages_of
from .tables import scope_key
from .tables import thread_key
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
        for key, thread_id, alive, running, current, title in self._rows(
            self._statements.threads_of_scope, {**of_source, **self._times}
        ):
            if running:
                left += 1
            elif not alive:
                self.remove(source, key)
            elif self.is_alive(target, thread_id) or self._joins(target, bool(current)):
                messages = self._messages(key)
                if reseal:
                    messages = reseal.messages(thread_id, self._goal(target, thread_id), messages)
                self._append(Append(target, thread_id, messages, f"adopt:{thread_id}"))
                self.remove(source, key)
            else:
                if reseal:
                    title = reseal.title(thread_id, title) if title else None
                    messages = reseal.messages(thread_id, thread_id, self._messages(key))
                    self.run(self._statements.remove_messages, {"thread_key": key})
                    self._insert(key, messages)
                self._rescope(source, target, key, thread_id, title, bool(current))
        return left

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

    def _messages(self, key: str) -> list[ChatMessage]:
        everything = {"thread_key": key, "after": -1, "limit": EVERYTHING, **self._times}
        return messages_of(self._rows(self._statements.oldest, everything), key)

    def _goal(self, scope: Scope, thread_id: str) -> str:
        """Return the thread that a batch goes to."""
        thread = self._look(scope, thread_id)
        return thread.thread_id if thread else thread_id

    def _joins(self, target: Scope, is_current: bool) -> bool:
        """Tell whether a thread becomes part of the conversation that the target has."""
        return is_current and self._options.threads == "one" and self._current_of(target)
