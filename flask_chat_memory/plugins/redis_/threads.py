"""Threads without their messages: lists, descriptions, and what the operator does with all of them."""

from __future__ import annotations

import abc
import collections.abc as cabc
import logging
import typing as t

from ...errors import CorruptRecord
from ...errors import MissingOwner
from ...events import log_event
from ..abilities import DescribesThreads
from ..abilities import ListsThreads
from ..abilities import PurgesThreads
from ..records import Position
from ..records import Scope
from ..records import Thread
from ..records import ThreadChanges
from ..rules import check_changes
from ..rules import check_range
from . import scripts
from .calling import RedisCalls
from .names import thread_digest
from .names import thread_of
from .names import threads_pattern
from .packing import bounded
from .packing import Head
from .packing import unpack_head

_log = logging.getLogger(__name__)
_GONE = 0


class RedisThreads(RedisCalls, ListsThreads, DescribesThreads, PurgesThreads, abc.ABC):
    """The three abilities."""

    def list_threads(
        self,
        scope: Scope,
        *,
        limit: int | None = None,
        before: Position | None = None,
        pinned: bool | None = None,
        archived: bool | None = None,
    ) -> list[Thread]:
        check_range(limit, None, None)
        given = {**self._times(), "limit": bounded(limit), "pinned": pinned, "archived": archived}
        if before is not None:
            given |= {"activity": repr(float(before.last_activity)), "before": thread_digest(before.thread_id)}
        found = self._server.run(scripts.LIST, self._index(scope), given, repeatable=True)
        return [thread for packed in found for _, thread in _readable(self._index(scope), packed)]

    def find_thread(self, scope: Scope, thread_id: str) -> Thread | None:
        found = self._run(scripts.FIND, scope, thread_id, repeatable=True)
        return thread_of_reply(self._index(scope), *found)[1] if found else None

    def update_thread(self, scope: Scope, thread_id: str, **changes: t.Unpack[ThreadChanges]) -> bool:
        values = check_changes(changes)
        kept = {name: "1" if value is True else value for name, value in values.items() if value}
        given = {"set": [text for pair in kept.items() for text in pair], "removed": list(values.keys() - kept.keys())}
        return bool(self._run(scripts.UPDATE, scope, thread_id, repeatable=True, **given))

    def all_threads(self, *, chatbot: str | None = None) -> cabc.Iterator[tuple[Scope, Thread]]:
        for names in self._server.scan(threads_pattern(self._prefix)):
            # Those of several scopes can be in one script, unless they are on several servers.
            groups: dict[bytes, list[tuple[bytes, str]]] = {}
            for index, digest in map(thread_of, names):
                groups.setdefault(index if self._server.is_cluster else b"", []).append((index, digest))
            for group in groups.values():
                for scope, thread in self._described(group):
                    if chatbot in (None, scope.chatbot):
                        yield scope, thread

    def _described(self, group: cabc.Iterable[tuple[bytes, str]]) -> cabc.Iterator[tuple[Scope, Thread]]:
        indexes, digests = zip(*group, strict=True)
        given = {**self._times(), "digests": digests}
        found = self._server.run(scripts.EVERY, indexes[0], given, repeatable=True, others=indexes[1:])
        for index, digest, packed in zip(indexes, digests, found, strict=True):
            if packed != _GONE:
                yield from _readable(f"{index.decode()}:{digest}", packed)

    def purge_thread(self, scope: Scope, thread_id: str, before: float) -> int | None:
        return t.cast("int | None", self._run(scripts.PURGE, scope, thread_id, before=float(before)))


def _readable(index: str, packed: t.Any) -> cabc.Iterator[tuple[Scope, Thread]]:
    """Yield a thread, unless it cannot be read."""
    try:
        yield thread_of_reply(index, *packed)
    except (CorruptRecord, TypeError) as error:
        log_event(_log, logging.WARNING, "a thread is passed over", error, key=index)


def thread_of_reply(
    index: str, packed: bytes, messages: int, about: cabc.Sequence[bytes | None]
) -> tuple[Scope, Thread]:
    """Return whose thread it is that a script describes, and what is known of it.

    :param index: for errors.
    :raises CorruptRecord: if it cannot be read.
    """
    head = unpack_head(packed, index)
    try:
        return _thread_of(head, messages, about)
    except (MissingOwner, ValueError) as error:
        raise CorruptRecord(f"Redis at {index!r}: the description of a thread cannot be read") from error


def _thread_of(head: Head, messages: int, about: cabc.Sequence[bytes | None]) -> tuple[Scope, Thread]:
    owner, chatbot, created, title, pinned, archived, configuration = (
        None if value is None else value.decode() for value in about
    )
    thread = Thread(
        id=head.id,
        created_at=float(created or head.active),
        last_activity=head.active,
        messages=messages,
        tokens=head.tokens,
        title=title,
        pinned=pinned is not None,
        archived=archived is not None,
        configuration=configuration,
    )
    return Scope(owner or "", chatbot or ""), thread
