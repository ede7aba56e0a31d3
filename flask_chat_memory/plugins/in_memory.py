"""Threads in the memory of the process, for tests and for trying things out: gone when it ends."""

from __future__ import annotations

import collections.abc as cabc
import functools
import time
import typing as t

from .base import Clock
from .options import PluginOptions
from .records import Scope
from .registry import chat_memory_plugin
from .whole.ledger import AnswersLedger
from .whole.plugin import WholeThreadsPlugin
from .whole.thread import StoredThread
from .whole.threads import Found
from .whole.threads import Read
from .whole.threads import Threads


@chat_memory_plugin(
    "in_memory",
    label="Memory of the process",
    description="For tests: conversations are gone when the process ends, and each worker has its own.",
)
class InMemoryPlugin(WholeThreadsPlugin):
    """Keeps threads in a dict."""

    storage = "in_memory"

    def __init__(
        self, options: PluginOptions | cabc.Mapping[str, t.Any] | None = None, *, clock: Clock = time.time
    ) -> None:
        super().__init__(options, clock=clock)
        # The clock may be set later.
        self._threads = InMemoryThreads(self.options, lambda: self.clock())


class InMemoryThreads(Threads):
    """Gives the values themselves, so that a change of one is kept already."""

    def __init__(self, options: PluginOptions, clock: Clock) -> None:
        super().__init__(options, clock)
        self._of_scopes: dict[Scope, dict[str, StoredThread]] = {}
        self._named: dict[Scope, str] = {}
        self._ledgers: dict[Scope, AnswersLedger] = {}

    def load(self, scope: Scope, thread_id: str) -> StoredThread | None:
        return self._of_scopes.get(scope, {}).get(thread_id)

    def keep(self, scope: Scope, thread_id: str, thread: StoredThread) -> None:
        self._of_scopes.setdefault(scope, {})[thread_id] = thread

    def drop(self, scope: Scope, thread_id: str) -> None:
        threads = self._of_scopes.get(scope, {})
        threads.pop(thread_id, None)
        if not threads:
            self._of_scopes.pop(scope, None)

    def readers(self, scope: Scope | None = None) -> list[Read]:
        scopes = self._of_scopes if scope is None else [scope]
        return [
            functools.partial(self._read, scope, thread_id)
            for scope in scopes
            for thread_id in self._of_scopes.get(scope, {})
        ]

    def _read(self, scope: Scope, thread_id: str) -> Found | None:
        thread = self.load(scope, thread_id)
        return None if thread is None else Found(scope, thread_id, thread)

    def load_named(self, scope: Scope) -> str | None:
        return self._named.get(scope)

    def keep_named(self, scope: Scope, thread_id: str | None) -> None:
        if thread_id is None:
            self._named.pop(scope, None)
        else:
            self._named[scope] = thread_id

    def ledger_scopes(self) -> list[Scope]:
        return list(self._ledgers)

    def load_ledger(self, scope: Scope) -> AnswersLedger:
        return self._ledgers.get(scope) or AnswersLedger(scope.owner, scope.chatbot)

    def keep_ledger(self, scope: Scope, ledger: AnswersLedger) -> None:
        self._ledgers[scope] = ledger

    def drop_ledger(self, scope: Scope) -> None:
        self._ledgers.pop(scope, None)
