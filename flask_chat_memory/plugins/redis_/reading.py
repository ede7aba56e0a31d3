"""Messages as they are read: those of a thread, and those of the scope's ongoing one."""

from __future__ import annotations

import abc

from ...message import ChatMessage
from ..abilities import CurrentThread
from ..hiding import Hidden
from ..hiding import read_visible
from ..records import Scope
from ..rules import check_range
from ..rules import is_thread_id
from . import scripts
from .calling import RedisCalls
from .names import thread_digest
from .packing import bounded
from .packing import Head
from .packing import unpack
from .packing import unpack_head
from .packing import unpack_lines


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
        hidden: bool = False,
    ) -> list[ChatMessage]:
        check_range(limit, before, after)
        if not is_thread_id(thread_id) or limit == 0:
            return []
        return self._load(scope, thread_id, limit, before, after, hidden)[1]

    def current_thread(self, scope: Scope) -> str | None:
        return self.load_current(scope, limit=0)[0]

    def load_current(self, scope: Scope, *, limit: int | None = None) -> tuple[str | None, list[ChatMessage]]:
        check_range(limit, None, None)
        return self._load(scope, None, limit)

    def _load(
        self,
        scope: Scope,
        thread_id: str | None,
        limit: int | None,
        before: int | None = None,
        after: int | None = None,
        hidden: bool = False,
    ) -> tuple[str | None, list[ChatMessage]]:
        """Read a thread or, without an id, the ongoing one; return its id, too."""
        found = self._read(scope, thread_id, limit, before, after)
        if found is None:
            return None, []
        name, messages, lines = found
        if hidden or lines is None or not messages:
            return name, messages
        parts = [found]

        def read(*place: int | None) -> tuple[list[ChatMessage], Hidden]:
            part = parts.pop() if parts else self._read(scope, name, *place)
            return (part[1], unpack_lines(part[2], self._name(scope, name)).hidden) if part else ([], ())

        return name, read_visible(read, limit, before, after)

    def _read(
        self, scope: Scope, thread_id: str | None, limit: int | None, before: int | None, after: int | None
    ) -> tuple[str, list[ChatMessage], str | bytes | None] | None:
        """Return id, messages of all lines and lines of a thread."""
        if thread_id is not None and before is None and after is None:
            newest = self._newest(scope, thread_id, bounded(limit))
            return newest and (thread_id, newest[1], newest[0].lines)
        given = {**self._times(), "limit": bounded(limit), "before": bounded(before), "after": bounded(after)}
        if thread_id is not None:
            given["digest"] = thread_digest(thread_id)
        found = self._server.run(scripts.LOAD, self._index(scope), given, repeatable=True)
        if found is None:
            return None
        name, messages, *lines = found
        thread_id = name.decode()
        return thread_id, unpack(messages, self._name(scope, thread_id)), *(lines or [None])

    def _newest(self, scope: Scope, thread_id: str, limit: int | None) -> tuple[Head, list[ChatMessage]] | None:
        """Read with a command of Redis itself: what passes through a script is copied several times."""
        found = self._server.newest(self._index(scope), thread_digest(thread_id), limit)
        if not found:
            return None
        name = self._name(scope, thread_id)
        head = unpack_head(found.pop(), name)
        if self.is_expired(head.active) and head.lease <= self.clock():
            return None
        return head, unpack(found, name)
