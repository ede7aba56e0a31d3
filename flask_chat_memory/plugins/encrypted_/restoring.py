"""Threads that another store has held, in clear on this side of the wrapper."""

from __future__ import annotations

import collections.abc as cabc
import functools
import itertools
import typing as t

from ...message import ChatMessage
from ..abilities import RestoresThreads
from ..abilities import RestoresUsage
from ..records import Scope
from ..records import UsageDay
from ..records import WholeThread
from ..rules import check_append
from .wrapping import Wrapping

CHUNK = 50
"""Messages that are sealed, or opened, at once."""


class WithRestoring(Wrapping, RestoresThreads):
    def find_whole(self, scope: Scope, thread_id: str) -> WholeThread | None:
        whole = self._wrapped.find_whole(scope, thread_id)
        return None if whole is None else self._sealing.open_whole(scope, whole)

    def restore_thread(
        self,
        scope: Scope,
        whole: WholeThread,
        messages: cabc.Iterable[ChatMessage],
        *,
        instead_of: WholeThread | None = None,
    ) -> bool:
        check_append(whole.thread.id, None)
        sealed = ByChunks(functools.partial(self._sealing.seal, scope, whole.thread.id), messages)
        there: WholeThread | None = None
        if instead_of is not None:
            there = self._wrapped.find_whole(scope, whole.thread.id)
            if there is None or self._sealing.open_whole(scope, there) != instead_of:
                return False
        kept = self._sealing.seal_whole(scope, whole)
        return t.cast(bool, self._wrapped.restore_thread(scope, kept, sealed, instead_of=there))


class WithUsageRestoring(Wrapping, RestoresUsage):
    def usage_scopes(self) -> cabc.Iterator[Scope]:
        return t.cast("cabc.Iterator[Scope]", self._wrapped.usage_scopes())

    def restore_usage(self, scope: Scope, days: cabc.Iterable[UsageDay]) -> None:
        self._wrapped.restore_usage(scope, days)


class ByChunks:
    """Messages that are made into others, so many at once, when they are asked for; they may be gone through again.

    :param convert: takes messages and returns as many.
    """

    def __init__(
        self,
        convert: cabc.Callable[[cabc.Sequence[ChatMessage]], cabc.Iterable[ChatMessage]],
        messages: cabc.Iterable[ChatMessage],
    ) -> None:
        self._convert = convert
        self._messages = messages

    def __iter__(self) -> cabc.Iterator[ChatMessage]:
        rest = iter(self._messages)
        while chunk := list(itertools.islice(rest, CHUNK)):
            yield from self._convert(chunk)
