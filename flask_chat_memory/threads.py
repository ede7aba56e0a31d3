"""The threads of an owner: listed, named, put aside, deleted; no message is read."""

from __future__ import annotations

import base64
import collections.abc as cabc
import hashlib
import typing as t

import msgspec

from .errors import ConfigurationError
from .errors import RequestRefused
from .location import Located
from .location import Location
from .plugins.abilities import DescribesThreads
from .plugins.abilities import ListsThreads
from .plugins.base import ChatMemoryPlugin
from .plugins.records import Position
from .plugins.records import Scope
from .plugins.records import Thread
from .plugins.rules import check_changes
from .plugins.rules import is_thread_id
from .plugins.rules import MAX_TITLE
from .signals import thread_deleted
from .summarising import Summarising

UNKNOWN_CURSOR = "This place in the list of conversations is not known. Please load the list again."
TOO_LONG = f"A title has at most {MAX_TITLE} characters."


class ThreadPage(msgspec.Struct, frozen=True):
    """A page of an owner's threads.

    :param threads: those that are pinned first, then the others; the newest activity first.
    :param cursor: where the next page begins; None if this is the last one.
    """

    threads: cabc.Sequence[Thread] = ()
    cursor: str | None = None


class Changes(t.TypedDict, total=False):
    """What an owner may change of a thread; a title of None or of nothing but spaces removes it."""

    title: str | None
    pinned: bool
    archived: bool


class OwnThreads(Located):
    """The threads that an owner has with a chatbot."""

    _summarising: Summarising | None

    @property
    def threads(self) -> t.Literal["one", "many"]:
        """Whether the owner has one ongoing thread with the chatbot, or many."""
        return self._plugin.options.threads if self._plugin else "one"

    def list_threads(self, limit: int = 50, cursor: str | None = None, *, archived: bool | None = False) -> ThreadPage:
        """Return a page of the owner's threads, without reading a message; with ``threads="one"``, the one thread.

        :param limit: threads; at least 1.
        :param cursor: of the page before.
        :param archived: only those that are archived, or only those that are not; None is both.
        :raises RequestRefused: 400 for a cursor that is not of this list.
        :raises ConfigurationError: if the plugin cannot list threads.
        """
        if limit < 1:
            raise ValueError("limit must be at least 1")
        scope = self._scope()
        place = _Place() if cursor is None else _read_cursor(cursor, scope, archived)
        if scope is None or self._plugin is None:
            return ThreadPage()
        if self.threads == "one":
            return self._only_thread(scope, archived)
        plugin = lister(self._plugin)
        found: list[Thread] = []
        if place.pinned:
            found = plugin.list_threads(scope, limit=limit + 1, before=place.before, pinned=True, archived=archived)
        if len(found) <= limit:
            before = None if place.pinned else place.before
            wanted = limit + 1 - len(found)
            found += plugin.list_threads(scope, limit=wanted, before=before, pinned=False, archived=archived)
        shown = found[:limit]
        return ThreadPage(shown, _cursor(shown[-1], scope, archived) if len(found) > limit else None)

    def require_list(self) -> None:
        """Make sure that threads can be listed, titles and all.

        :raises ConfigurationError: if the plugin cannot.
        """
        if self._plugin is not None:
            lister(self._plugin)
            describer(self._plugin)

    def find_thread(self, thread_id: str) -> Thread | None:
        """Return what is known of a thread of the owner.

        :raises ConfigurationError: if the plugin cannot describe threads.
        """
        scope = self._scope()
        if scope is None or self._plugin is None:
            return None
        return describer(self._plugin).find_thread(scope, thread_id)

    def update_thread(self, thread_id: str, **changes: t.Unpack[Changes]) -> bool:
        """Change what is given of a thread of the owner and nothing else; tell whether there is such a one.

        The thread keeps its place in the list.

        :raises RequestRefused: 400 for a title of more than 200 characters.
        :raises ConfigurationError: if the plugin cannot describe threads.
        """
        checked = checked_changes(changes)
        scope = self._scope()
        if scope is None or self._plugin is None:
            return False
        return describer(self._plugin).update_thread(scope, thread_id, **checked)

    def delete_thread(self, thread_id: str) -> bool:
        """Delete a thread of the owner with all that belongs to it; tell whether there was such a one."""
        scope = self._scope()
        if scope is None or self._plugin is None:
            return False
        deleted = self._plugin.delete_thread(scope, thread_id)
        # Also when the thread is gone: the last attempt may have come no further.
        self._delete_summary(scope, thread_id)
        if deleted:
            self._announce(thread_deleted, owner=scope.owner, chatbot=self.chatbot, thread_id=thread_id)
        return deleted

    def _delete_summary(self, scope: Scope, thread_id: str) -> None:
        if self._summarising is not None:
            self._summarising.summaries.delete(scope, thread_id)

    def _only_thread(self, scope: Scope, archived: bool | None) -> ThreadPage:
        plugin = t.cast(ChatMemoryPlugin, self._plugin)
        thread_id = Location(plugin, scope, self._visitor, self._announce).thread_id
        thread = describer(plugin).find_thread(scope, thread_id) if thread_id else None
        return ThreadPage([thread] if thread and archived in (None, thread.archived) else [])


def checked_changes(changes: Changes) -> Changes:
    """Return changes as they can be stored.

    :raises RequestRefused: 400 for what is no title, or too long a one.
    """
    title = changes.get("title")
    if title is not None and not isinstance(title, str):
        raise RequestRefused(400, "A title must be text.")
    try:
        return t.cast(Changes, check_changes(changes))
    except ValueError as error:
        raise RequestRefused(400, TOO_LONG) from error


class _Place(t.NamedTuple):
    """A place in the list: among those that are pinned, or after them."""

    pinned: bool = True
    before: Position | None = None


class _Cursor(msgspec.Struct, array_like=True):
    """A place as text.

    :param list_mark: of the list that it is a place in.
    """

    pinned: bool
    last_activity: float
    thread_id: str
    list_mark: str


def _cursor(thread: Thread, scope: Scope, archived: bool | None) -> str:
    return _encode(_Cursor(thread.pinned, *thread.position, _list_mark(scope, archived)))


def _encode(cursor: _Cursor) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode(cursor)).decode()


def _read_cursor(text: str, scope: Scope | None, archived: bool | None) -> _Place:
    try:
        cursor = msgspec.json.decode(base64.urlsafe_b64decode(text.encode()), type=_Cursor)
    except (ValueError, msgspec.DecodeError) as error:
        raise RequestRefused(400, UNKNOWN_CURSOR) from error
    known = scope is not None and cursor.list_mark == _list_mark(scope, archived)
    if not known or _encode(cursor) != text or not is_thread_id(cursor.thread_id):
        raise RequestRefused(400, UNKNOWN_CURSOR)
    return _Place(cursor.pinned, Position(cursor.last_activity, cursor.thread_id))


def _list_mark(scope: Scope, archived: bool | None) -> str:
    """Return what tells one list from another; it guards nothing, for a list is always that of its scope."""
    return hashlib.blake2b(f"{scope.owner}\0{scope.chatbot}\0{archived}".encode(), digest_size=6).hexdigest()


def describer(plugin: ChatMemoryPlugin) -> DescribesThreads:
    """Return a plugin as one that keeps a title and the like.

    :raises ConfigurationError: if it does not.
    """
    if not isinstance(plugin, DescribesThreads):
        raise unable(plugin, "describe threads", DescribesThreads)
    return plugin


def lister(plugin: ChatMemoryPlugin) -> ListsThreads:
    """Return a plugin as one that lists threads.

    :raises ConfigurationError: if it does not.
    """
    if not isinstance(plugin, ListsThreads):
        raise unable(plugin, "list threads", ListsThreads)
    return plugin


def unable(plugin: ChatMemoryPlugin, what: str, ability: type) -> ConfigurationError:
    """Return the error that says which ability a plugin lacks."""
    return ConfigurationError(f"plugin {plugin.id!r} cannot {what}; it must inherit {ability.__name__}, too")
