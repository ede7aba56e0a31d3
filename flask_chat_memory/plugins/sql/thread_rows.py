"""The rows of threads, within one transaction."""

from __future__ import annotations

from ...values import clean
from ..options import PluginOptions
from ..records import Scope
from .rows import ThreadRow
from .rows import times
from .statements import Statements
from .tables import id_key
from .tables import scope_key
from .tables import thread_key
from .transaction import Transaction


class ThreadRows:
    """Finds, makes and removes threads, within a transaction that the caller opens and commits."""

    def __init__(self, transaction: Transaction, statements: Statements, options: PluginOptions, now: float) -> None:
        self.run = transaction.run
        self.run_many = transaction.run_many
        self.rows = transaction.rows
        self._lock = transaction.lock
        self._repeated = transaction.repeated
        self._statements = statements
        self._options = options
        self.times = times(options, now)

    def look(
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
        self.hold(scope, this)
        found = {
            row[0]: ThreadRow(*row)
            for row in self.rows(
                self._statements.look,
                {
                    "thread_key": this,
                    "scope_key": scope_key(scope),
                    "append_key": key,
                    "reply_to": None if reply_to is None else id_key(clean(reply_to)),
                    **self.times,
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

    def hold(self, scope: Scope, key: str) -> None:
        """Keep others from the thread, and from the current one."""
        self._lock(self._statements.lock_threads, {"thread_key": key, "scope_key": scope_key(scope)})

    def is_alive(self, scope: Scope, thread_id: str) -> bool:
        key = thread_key(scope, thread_id)
        return bool(self.rows(self._statements.has_thread, {"thread_key": key, **self.times}))

    def _opened(self, scope: Scope, thread_id: str, thread: ThreadRow | None, title: str | None = None) -> ThreadRow:
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
                "title": title,
                **self.times,
            },
        )
        self._limit_threads(scope, key)
        self._make_current(scope, key)
        return ThreadRow(key, thread_id, 0, 0, None, True, True, None, None)

    def _current_of(self, scope: Scope) -> bool:
        return bool(self.rows(self._statements.current_thread, {"scope_key": scope_key(scope), **self.times}))

    def _make_current(self, scope: Scope, key: str) -> None:
        if not self._current_of(scope):
            self.run(self._statements.make_none_current, {"scope_key": scope_key(scope)})
            self.run(self._statements.make_current, {"scope_key": scope_key(scope), "thread_key": key})

    def _limit_threads(self, scope: Scope, newest: str) -> None:
        of_scope = {"owner": scope.owner, "chatbot": scope.chatbot, "thread_key": newest, **self.times}
        excess = self.rows(self._statements.count_threads, of_scope)[0][0] - self._options.max_threads
        if excess > 0:
            self._lock(self._statements.lock_scope, of_scope)
            for (key,) in self.rows(self._statements.idle_longest, {**of_scope, "excess": excess}):
                self.remove(scope, key)

    def remove(self, scope: Scope, key: str) -> None:
        """Delete a thread of the scope with all that belongs to it."""
        for statement in self._statements.remove_all:
            self.run(statement, {"thread_key": key, "scope_key": scope_key(scope)})

    def purge(self, scope: Scope, key: str, before: float) -> int | None:
        """Do what :meth:`PurgesThreads.purge_thread` promises."""
        this = {"thread_key": key, "before": before, **self.times}
        self.hold(scope, key)
        if not self.run(self._statements.remove_idle_thread, this):
            return None
        removed = self.run(self._statements.remove_messages, this)
        self.remove(scope, key)
        return removed
