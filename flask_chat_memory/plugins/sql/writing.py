"""The write operations, each within one transaction."""

from __future__ import annotations

import collections.abc as cabc

from ...message import ChatMessage
from ...values import clean
from ..counting import total_tokens
from ..options import PluginOptions
from ..records import Appended
from ..records import LiveTurn
from ..records import Renewal
from ..records import Scope
from ..rules import KEYS_KEPT
from ..rules import number
from ..rules import sequence_of
from .rows import Append
from .rows import columns_of
from .rows import ThreadRow
from .rows import times
from .rows import usage_rows
from .statements import MOST_AT_ONCE
from .statements import Statements
from .tables import id_key
from .tables import scope_key
from .tables import thread_key
from .transaction import Transaction


class Writer:
    """Writes within a transaction that the caller opens and commits."""

    def __init__(self, transaction: Transaction, statements: Statements, options: PluginOptions, now: float) -> None:
        self.run = transaction.run
        self._run_many = transaction.run_many
        self._rows = transaction.rows
        self._lock = transaction.lock
        self._repeated = transaction.repeated
        self._statements = statements
        self._options = options
        self._times = times(options, now)

    def append(self, append: Append) -> Appended | None:
        """Do what :meth:`ChatMemoryPlugin.append_messages` promises, and start or end the live record of a turn."""
        appended = self._append(append)
        is_refused = bool(append.messages) and appended is not None and not appended.sequence
        if append.ends is not None and not is_refused:
            key = thread_key(append.scope, appended.thread_id if appended else append.thread_id)
            self.run(self._statements.delete_live, {"key": key, "turn_id": append.ends})
        return appended

    def _append(self, append: Append) -> Appended | None:
        scope, thread_id, messages, key, reply_to, only_into, begins, _ends = append
        thread = self._look(scope, thread_id, key, reply_to)
        if thread and thread.alive and thread.known is not None:
            ours = self._repeated and self._is_at(thread.key, thread.known, messages)
            return Appended(thread.thread_id, thread.known, repeated=not ours)
        if reply_to is not None and not (thread and thread.alive and thread.question is not None):
            if not self._repeated:
                self._count(append)
            return None
        goal = thread.thread_id if thread else thread_id
        if not messages or only_into not in (None, goal):
            return Appended(goal, 0)
        thread = self._opened(scope, thread_id, thread)
        first = thread.sequence + 1
        self._insert(thread.key, [message.numbered(first + place) for place, message in enumerate(messages)])
        self._touch(thread.key, last=thread.sequence + len(messages), added=len(messages), messages=messages)
        if reply_to is not None:
            self._count(append)
        if key is not None:
            self.run(self._statements.insert_key, {"thread_key": thread.key, "append_key": key, "sequence": first})
        if begins:
            self._begin(thread.key, first, begins)
        self._trim(thread.key, thread.messages + len(messages))
        return Appended(thread.thread_id, first)

    def replace(self, scope: Scope, thread_id: str, messages: cabc.Sequence[ChatMessage]) -> None:
        """Do what :meth:`ChatMemoryPlugin.save_messages` promises."""
        key = thread_key(scope, thread_id)
        thread = self._opened(scope, thread_id, self._look(scope, thread_id, redirect=False))
        numbered = number(messages, thread.sequence)
        self.run(self._statements.remove_messages, {"thread_key": key})
        self._insert(key, numbered)
        self.run(self._statements.drop_live, {"thread_key": key})
        self.run(self._statements.empty_thread, {"this": key, **self._times})
        last = max([thread.sequence, *(sequence_of(message) for message in numbered)])
        self._touch(key, last=last, added=len(numbered), messages=numbered)

    def clear(self, scope: Scope, thread_id: str) -> None:
        """Do what :meth:`ChatMemoryPlugin.clear_messages` promises; the keys of appends stay known."""
        key = thread_key(scope, thread_id)
        self._hold(scope, key)
        if self.is_alive(scope, thread_id):
            for statement in self._statements.remove_contents:
                self.run(statement, {"thread_key": key})
            self.run(self._statements.empty_thread, {"this": key, **self._times})

    def delete(self, scope: Scope, thread_id: str) -> bool:
        """Do what :meth:`ChatMemoryPlugin.delete_thread` promises."""
        key = thread_key(scope, thread_id)
        self._hold(scope, key)
        alive = self.is_alive(scope, thread_id)
        self.remove(scope, key)
        return alive

    def is_alive(self, scope: Scope, thread_id: str) -> bool:
        key = thread_key(scope, thread_id)
        return bool(self._rows(self._statements.has_thread, {"thread_key": key, **self._times}))

    def remove(self, scope: Scope, key: str) -> None:
        """Delete a thread of the scope with all that belongs to it."""
        for statement in self._statements.remove_all:
            self.run(statement, {"thread_key": key, "scope_key": scope_key(scope)})

    def purge(self, scope: Scope, key: str, before: float) -> int | None:
        """Do what :meth:`PurgesThreads.purge_thread` promises."""
        this = {"thread_key": key, "before": before, **self._times}
        self._hold(scope, key)
        if not self.run(self._statements.remove_idle_thread, this):
            return None
        removed = self.run(self._statements.remove_messages, this)
        self.remove(scope, key)
        return removed

    def _count(self, answer: Append) -> None:
        for row in usage_rows(answer.scope, answer.messages, self._times["now"]):
            self.run(self._statements.add_usage, row)

    def renew(self, turns: cabc.Iterable[Renewal], lease: float) -> set[str]:
        """Do what :meth:`KeepsLiveTurns.renew_turns` promises."""
        texts = {(thread_key(scope, thread_id), turn): text for scope, thread_id, turn, text in turns}
        rows, until = sorted(texts), {"until": lease, **self._times}
        self._run_many(
            self._statements.renew_live,
            [{"key": row[0], "turn_id": row[1], "text": texts[row], **until} for row in rows],
        )
        unwanted: set[str] = set()
        for start in range(0, len(rows), MOST_AT_ONCE):
            chunk = rows[start : start + MOST_AT_ONCE]
            # Of two sizes, for each is compiled once.
            size = 1 if len(chunk) == 1 else MOST_AT_ONCE
            asked = enumerate([*chunk, *[chunk[0]] * (size - len(chunk))])
            names = {
                f"{name}{place}": value
                for place, row in asked
                for name, value in zip(("key", "turn"), row, strict=True)
            }
            unwanted.update(turn for (turn,) in self._rows(self._statements.stop_wanted[size], names))
        return unwanted

    def stop(self, scope: Scope, thread_id: str, turn: str) -> bool:
        """Do what :meth:`KeepsLiveTurns.stop_turn` promises."""
        this = {"key": thread_key(scope, thread_id), "turn_id": turn, **self._times}
        self.run(self._statements.stop_live, this)
        # A second wish changes no row, which MariaDB counts as none found.
        live = self._rows(self._statements.live_turns, this)
        return any(row[0] == turn for row in live)

    def _current_of(self, scope: Scope) -> bool:
        return bool(self._rows(self._statements.current_thread, {"scope_key": scope_key(scope), **self._times}))

    def _make_current(self, scope: Scope, key: str) -> None:
        if not self._current_of(scope):
            self.run(self._statements.make_none_current, {"scope_key": scope_key(scope)})
            self.run(self._statements.make_current, {"scope_key": scope_key(scope), "thread_key": key})

    def _look(
        self,
        scope: Scope,
        thread_id: str,
        key: str | None = None,
        reply_to: str | None = None,
        redirect: bool = True,
    ) -> ThreadRow | None:
        """Find the thread that a batch for ``thread_id`` goes to; an expired one only if no other is there.

        :param redirect: with one thread a scope, the current one stands in for one that is absent.
        """
        this = thread_key(scope, thread_id)
        self._hold(scope, this)
        found = {
            row[0]: ThreadRow(*row)
            for row in self._rows(
                self._statements.look,
                {
                    "thread_key": this,
                    "scope_key": scope_key(scope),
                    "append_key": key,
                    "reply_to": None if reply_to is None else id_key(clean(reply_to)),
                    **self._times,
                },
            )
        }
        named = found.get(this)
        if named and named.alive:
            return named
        if redirect and self._options.threads == "one":
            current = next((thread for thread in found.values() if thread.current and thread.alive), None)
            if current:
                return current
        return named

    def _hold(self, scope: Scope, key: str) -> None:
        """Keep others from the thread, and from the current one."""
        self._lock(self._statements.lock_threads, {"thread_key": key, "scope_key": scope_key(scope)})

    def _is_at(self, key: str, sequence: int, messages: cabc.Sequence[ChatMessage]) -> bool:
        """Tell whether a batch is the one that is stored there."""
        (stored,) = self._rows(self._statements.id_at, {"thread_key": key, "sequence": sequence}) or [(None,)]
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

    def _opened(self, scope: Scope, thread_id: str, thread: ThreadRow | None) -> ThreadRow:
        """Return the thread to write to, made anew if it is absent or expired."""
        if thread and thread.alive:
            if not thread.current:
                self._make_current(scope, thread.key)
            return thread
        key = thread_key(scope, thread_id)
        if thread:
            self.remove(scope, key)
        self.run(
            self._statements.insert_thread,
            {
                "thread_key": key,
                "owner": scope.owner,
                "chatbot": scope.chatbot,
                "thread_id": thread_id,
                **self._times,
            },
        )
        self._limit_threads(scope, key)
        self._make_current(scope, key)
        return ThreadRow(key, thread_id, 0, 0, True, True, None, None)

    def _insert(self, key: str, messages: cabc.Iterable[ChatMessage]) -> None:
        self._run_many(
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
            {"this": key, "last": last, "added": added, "more": total_tokens(messages), **self._times},
        )

    def _trim(self, key: str, count: int) -> None:
        """Remove whole turns, as :func:`rules.trim` does in memory."""
        excess = count - (self._options.max_messages or count)
        if excess <= 0:
            return
        this = {"thread_key": key, "excess": excess, **self._times}
        statements = self._statements
        question = self._rows(statements.question_at_limit, this) or self._rows(statements.newest_question, this)
        if not question:
            return
        running = self._rows(statements.oldest_running, this)[0][0]
        cut = {"thread_key": key, "cut": question[0][0] if running is None else min(question[0][0], running)}
        turns = self._rows(statements.turns_before, cut)
        removed = self.run(statements.delete_before, cut)
        for (turn,) in turns:
            removed += self.run(statements.delete_turn, {"thread_key": key, "turn_id": turn})
        self.run(statements.count_removed, {"this": key, "removed": removed})
        self.run(statements.forget_keys, {"thread_key": key, "kept": KEYS_KEPT - 1})

    def _limit_threads(self, scope: Scope, newest: str) -> None:
        of_scope = {"owner": scope.owner, "chatbot": scope.chatbot, "thread_key": newest, **self._times}
        excess = self._rows(self._statements.count_threads, of_scope)[0][0] - self._options.max_threads
        if excess > 0:
            self._lock(self._statements.lock_scope, of_scope)
            for (key,) in self._rows(self._statements.idle_longest, {**of_scope, "excess": excess}):
                self.remove(scope, key)
