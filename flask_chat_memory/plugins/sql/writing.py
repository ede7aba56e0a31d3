"""The write operations, each within one transaction."""

from __future__ import annotations

import collections.abc as cabc

from ...message import ChatMessage
from ..counting import total_tokens
from ..lines import Lines
from ..records import Appended
from ..records import LiveTurn
from ..records import Scope
from ..rules import KEYS_KEPT
from ..rules import number
from ..rules import sequence_of
from .rows import Append
from .rows import bounded
from .rows import columns_of
from .rows import columns_of_lines
from .rows import lines_of
from .rows import ThreadRow
from .rows import usage_rows
from .tables import thread_key
from .thread_rows import ThreadRows


class Writer(ThreadRows):
    """Writes messages within a transaction that the caller opens and commits."""

    def append(self, append: Append) -> Appended | None:
        """Do what :meth:`ChatMemoryPlugin.append_messages` promises, and start or end the live record of a turn."""
        appended = self._append(append)
        is_refused = bool(append.messages) and appended is not None and not appended.sequence
        if append.ends is not None and not is_refused:
            key = thread_key(append.scope, appended.thread_id if appended else append.thread_id)
            self.run(self._statements.delete_live, {"key": key, "turn_id": append.ends})
        return appended

    def _append(self, append: Append) -> Appended | None:
        scope, thread_id, messages, key = append.scope, append.thread_id, append.messages, append.key
        thread = self.look(scope, thread_id, key, append.reply_to)
        if thread and thread.alive and thread.known is not None:
            ours = self._repeated and self._is_at(thread.key, thread.known, messages)
            return Appended(thread.thread_id, thread.known, repeated=not ours)
        if append.replaces is not None and not self._shows(thread, thread_id, append.replaces):
            return Appended(thread_id, 0)
        if append.reply_to is not None and not (thread and thread.alive and thread.question is not None):
            if not self._repeated:
                self._count(append)
            return None
        goal = thread.thread_id if thread else thread_id
        if not messages or append.only_into not in (None, goal):
            return Appended(goal, 0)
        thread = self._opened(scope, thread_id, thread, append.title)
        first = thread.sequence + 1
        self._insert(thread.key, [message.numbered(first + place) for place, message in enumerate(messages)])
        self._touch(thread.key, last=thread.sequence + len(messages), added=len(messages), messages=messages)
        self._place(append, thread)
        if append.reply_to is not None:
            self._count(append)
        if key is not None:
            self.run(self._statements.insert_key, {"thread_key": thread.key, "append_key": key, "sequence": first})
        if append.begins:
            self._begin(thread.key, first, append.begins)
        self._trim(thread.key, thread.messages + len(messages))
        return Appended(thread.thread_id, first)

    def _shows(self, thread: ThreadRow | None, thread_id: str, sequence: int) -> bool:
        """Tell whether it is the named thread, and a message of it is visible."""
        if not (thread and thread.alive and thread.thread_id == thread_id):
            return False
        there = self.rows(self._statements.id_at, {"thread_key": thread.key, "sequence": bounded(sequence)})
        return bool(there) and lines_of(thread.lines, thread.key).sees(sequence)

    def _place(self, append: Append, thread: ThreadRow) -> None:
        """Keep in which lines a batch is that was just added to the thread."""
        first, last = thread.sequence + 1, thread.sequence + len(append.messages)
        if append.replaces is not None:
            lines = lines_of(thread.lines, thread.key)
            self.show(thread.key, lines.replaced(append.replaces, thread.sequence, append.kept))
        elif thread.lines is not None and thread.question is not None:
            self.show(thread.key, lines_of(thread.lines, thread.key).placed(first, last, thread.question))

    def show(self, key: str, lines: Lines) -> None:
        self.run(self._statements.set_lines, {"this": key, **columns_of_lines(lines)})

    def replace(self, scope: Scope, thread_id: str, messages: cabc.Sequence[ChatMessage]) -> None:
        """Do what :meth:`ChatMemoryPlugin.save_messages` promises."""
        key = thread_key(scope, thread_id)
        thread = self._opened(scope, thread_id, self.look(scope, thread_id, redirect=False))
        numbered = number(messages, thread.sequence)
        self.run(self._statements.remove_messages, {"thread_key": key})
        self._insert(key, numbered)
        for statement in (self._statements.drop_live, self._statements.drop_marks):
            self.run(statement, {"thread_key": key})
        self.run(self._statements.empty_thread, {"this": key, **self.times})
        last = max([thread.sequence, *(sequence_of(message) for message in numbered)])
        self._touch(key, last=last, added=len(numbered), messages=numbered)

    def clear(self, scope: Scope, thread_id: str) -> None:
        """Do what :meth:`ChatMemoryPlugin.clear_messages` promises; the keys of appends stay known."""
        key = thread_key(scope, thread_id)
        self.hold(scope, key)
        if self.is_alive(scope, thread_id):
            for statement in self._statements.remove_contents:
                self.run(statement, {"thread_key": key})
            self.run(self._statements.empty_thread, {"this": key, **self.times})

    def delete(self, scope: Scope, thread_id: str) -> bool:
        """Do what :meth:`ChatMemoryPlugin.delete_thread` promises."""
        key = thread_key(scope, thread_id)
        self.hold(scope, key)
        alive = self.is_alive(scope, thread_id)
        self.remove(scope, key)
        return alive

    def _count(self, answer: Append) -> None:
        for row in usage_rows(answer.scope, answer.messages, self.times["now"]):
            self.run(self._statements.add_usage, row)

    def _is_at(self, key: str, sequence: int, messages: cabc.Sequence[ChatMessage]) -> bool:
        """Tell whether a batch is the one that is stored there."""
        (stored,) = self.rows(self._statements.id_at, {"thread_key": key, "sequence": sequence}) or [(None,)]
        return stored[0] is not None and bool(messages) and columns_of(messages[0])["message_id"] == stored[0]

    def _begin(self, key: str, sequence: int, live: LiveTurn) -> None:
        self.run(
            self._statements.insert_live,
            {
                "thread_key": key,
                "turn": live.turn,
                "question_id": live.question_id,
                "answer_id": live.answer_id,
                "lease": live.lease,
                "question_sequence": sequence,
            },
        )

    def _insert(self, key: str, messages: cabc.Iterable[ChatMessage]) -> None:
        self.run_many(
            self._statements.insert_message,
            [
                {
                    "thread_key": key,
                    "sequence": message.sequence,
                    **columns_of(message),
                }
                for message in messages
            ],
        )

    def _touch(self, key: str, *, last: int, added: int, messages: cabc.Iterable[ChatMessage]) -> None:
        self.run(
            self._statements.touch_thread,
            {"this": key, "last": last, "added": added, "more": total_tokens(messages), **self.times},
        )

    def _trim(self, key: str, count: int) -> None:
        """Remove whole turns, as :func:`rules.trim` does in memory."""
        excess = count - (self._options.max_messages or count)
        if excess <= 0:
            return
        this = {"thread_key": key, "excess": excess, **self.times}
        statements = self._statements
        question = self.rows(statements.question_at_limit, this) or self.rows(statements.newest_question, this)
        if not question:
            return
        running = self.rows(statements.oldest_running, this)[0][0]
        cut = {"thread_key": key, "cut": question[0][0] if running is None else min(question[0][0], running)}
        turns = self.rows(statements.turns_before, cut)
        removed = self.run(statements.delete_before, cut)
        for (turn,) in turns:
            removed += self.run(statements.delete_turn, {"thread_key": key, "turn_id": turn})
        self.run(statements.count_removed, {"this": key, "removed": removed})
        self.run(statements.drop_marks, {"thread_key": key})
        self.run(statements.forget_keys, {"thread_key": key, "kept": KEYS_KEPT - 1})
