"""Messages as they are read: those of a thread, and those of the scope's ongoing one."""

from __future__ import annotations

import abc

from ...message import ChatMessage
from ..abilities import CurrentThread
from ..records import Scope
from ..rules import check_range
from ..rules import is_thread_id
from . import scripts
from .calling import RedisCalls
from .names import thread_digest
from .packing import bounded
from .packing import unpack
from .packing import unpack_head


class RedisReading(RedisCalls, CurrentThread, abc.ABC):
    """The operations that read messages."""

    def has_thread(self, scope: Scope, thread_id: str) -> bool:
        return is_thread_id(thread_id) and self._newest(scope, thread_id, 0) is not None

    def load_messages(
        self,
        scope: Scope,
        thread_id: str,
        *,
        limit: int | None = None,
        before: int | None = None,
        after: int | None = None,
    ) -> list[ChatMessage]:
        check_range(limit, before, after)
        if not is_thread_id(thread_id) or limit == 0:
            return []
        if before is None and after is None:
            return self._newest(scope, thread_id, bounded(limit)) or []
        range_ = {"limit": bounded(limit), "before": bounded(before), "after": bounded(after)}
        found = self._run(scripts.LOAD, scope, thread_id, repeatable=True, **range_)
        return [] if found is None else unpack(found[1], self._name(scope, thread_id))

    def current_thread(self, scope: Scope) -> str | None:
        return self.load_current(scope, limit=0)[0]

    def load_current(self, scope: Scope, *, limit: int | None = None) -> tuple[str | None, list[ChatMessage]]:
        check_range(limit, None, None)
        given = {**self._times(), "limit": bounded(limit)}
        found = self._server.run(scripts.LOAD, self._index(scope), given, repeatable=True)
        if found is None:
            return None, []
        current = found[0].decode()
        return current, unpack(found[1][:-1], self._name(scope, current))

    def _newest(self, scope: Scope, thread_id: str, limit: int | None) -> list[ChatMessage] | None:
        """Read with a command of Redis itself: what passes through a script is copied several times."""
        found = self._server.newest(self._index(scope), thread_digest(thread_id), limit)
        if not found:
            return None
        name = self._name(scope, thread_id)
        head = unpack_head(found.pop(), name)
        return None if self.is_expired(head.active) and head.lease <= self.clock() else unpack(found, name)
