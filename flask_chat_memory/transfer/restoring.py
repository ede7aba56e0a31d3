"""Puts what was elsewhere into a store, unless the store has something newer."""

from __future__ import annotations

import collections.abc as cabc
import operator
import typing as t

import msgspec

from ..message import ChatMessage
from ..plugins.abilities import CurrentThread
from ..plugins.abilities import RestoresUsage
from ..plugins.base import ChatMemoryPlugin
from ..plugins.counting import numbers_of
from ..plugins.records import Scope
from ..plugins.records import UsageDay
from ..plugins.records import WholeThread
from ..storage.base import Storage
from ..storage.rules import Document
from ..storage.rules import stored_time
from .stores import movable

Outcome = t.Literal["written", "same", "newer", "running", "changed", "expired"]
"""What became of a thread or a document: the store has it now; had it already; keeps a newer one, or one of which
nothing tells that it is older; is answering a turn of it; changed it in this moment; would hold it for expired."""


class Threadlike(t.Protocol):
    """A thread that is somewhere: what belongs to it, and its messages each time that they are asked for."""

    @property
    def whole(self) -> WholeThread: ...
    def __iter__(self) -> cabc.Iterator[ChatMessage]: ...


class _Messages:
    """The messages of a thread, to be gone through more than once."""

    def __init__(self, thread: Threadlike) -> None:
        self._thread = thread

    def __iter__(self) -> cabc.Iterator[ChatMessage]:
        return iter(self._thread)


def restore_thread(
    plugin: ChatMemoryPlugin, scope: Scope, thread: Threadlike, *, exactly: bool, write: bool = True
) -> Outcome:
    """Let a plugin hold a thread as it is elsewhere.

    :param exactly: it is the scope's current thread if it is so elsewhere, and takes the place of one with the same
        last activity, whose title or marks may be others. Else it is current only if the scope has no other, and that
        one stays.
    :param write: False only tells what would become of it.
    """
    plugin, whole = movable(plugin), thread.whole
    if not exactly and isinstance(plugin, CurrentThread):
        whole = msgspec.structs.replace(whole, current=_stays_current(plugin, scope, whole))
    now, activity = plugin.clock(), whole.thread.last_activity
    if plugin.is_expired(activity) and not whole.running(now):
        return "expired"
    there = plugin.find_whole(scope, whole.thread.id)
    if there == whole:
        return "same"
    if there is not None and there.running(now):
        return "running"
    if there is not None and not _is_older(there.thread.last_activity, activity, exactly):
        return "newer"
    if write and not plugin.restore_thread(scope, whole, _Messages(thread), instead_of=there):
        return "changed"
    return "written"


def restore_usage(
    plugin: ChatMemoryPlugin, scope: Scope, days: cabc.Iterable[UsageDay], *, exactly: bool = False, write: bool = True
) -> list[Outcome]:
    """Let a ledger have these lines, but for those in which it has counted more; tell what became of each.

    :param exactly: those, too.
    """
    if not isinstance(plugin, RestoresUsage):
        return []
    there = {(day.day, day.model): day for day in plugin.list_usage(scope)}
    outcomes: list[Outcome] = []
    wanted = []
    for day in days:
        known = there.get((day.day, day.model))
        if known == day:
            outcomes.append("same")
        elif known is not None and not exactly and any(map(operator.gt, numbers_of(known), numbers_of(day))):
            outcomes.append("newer")
        else:
            outcomes.append("written")
            wanted.append(day)
    if wanted and write:
        plugin.restore_usage(scope, wanted)
    return outcomes


def restore_document(storage: Storage, key: str, document: Document, *, exactly: bool, write: bool = True) -> Outcome:
    """Let a storage have a document, unless what is there says that it was stored later.

    :param exactly: it takes the place of one if nothing tells which was stored later; else it does not.
    """
    there = storage.load(key)
    if there == document:
        return "same"
    if there is not None and not _is_older(stored_time(there), stored_time(document), exactly):
        return "newer"
    if write:
        storage.save(key, document)
    return "written"


def _is_older(there: float | None, given: float | None, otherwise: bool) -> bool:
    return otherwise if there is None or given is None or there == given else there < given


def _stays_current(plugin: CurrentThread, scope: Scope, whole: WholeThread) -> bool:
    current = plugin.current_thread(scope)
    return whole.current if current is None else current == whole.thread.id
