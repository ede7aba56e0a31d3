"""What becomes of an anonymous visitor's threads and memories when the visitor logs in."""

from __future__ import annotations

import collections.abc as cabc
import logging
import typing as t

from .errors import StorageError
from .events import log_event
from .knowledge.user_memory import UserMemories
from .plugins.abilities import ListsThreads
from .plugins.abilities import MovesThreads
from .plugins.base import ChatMemoryPlugin
from .plugins.records import Scope
from .signals import Announce
from .signals import thread_adopted

logger = logging.getLogger(__name__)


class LoggedIn(t.Protocol):
    """A visitor who has logged in, and may have been an anonymous one before."""

    @property
    def owner(self) -> str | None: ...

    @property
    def left_anonymous(self) -> str | None: ...

    def anonymous_thread(self, chatbot: str) -> str | None: ...

    def keep_anonymous(self) -> None: ...

    def drop_anonymous(self, keep_threads: bool) -> None: ...


def adopt_after_login(
    visitor: LoggedIn,
    adopt: bool,
    plugins: cabc.Callable[[], cabc.Iterable[tuple[str, ChatMemoryPlugin]]],
    memories: cabc.Callable[[str], UserMemories | None],
    drop_summaries: cabc.Callable[[str], None],
    announce: Announce,
) -> None:
    """Give what the visitor had before the login to the user, or leave it, and drop the anonymous key.

    While a turn is running in one of them, or the store is down, the key stays for a later request.

    :param plugins: gives the name and the plugin of each chatbot that keeps its history on the server.
    :param memories: gives the memories of an owner; None if there is no storage for them.
    :param drop_summaries: removes the summaries of an owner's threads, which are made again where these go.
    """
    anonymous = visitor.left_anonymous
    if anonymous is None:
        return
    user = t.cast(str, visitor.owner)
    left = 0
    if adopt:
        for chatbot, plugin in plugins():
            thread_id = visitor.anonymous_thread(chatbot)
            try:
                source, target = Scope(anonymous, chatbot), Scope(user, chatbot)
                before = _thread_ids(plugin, source, thread_id)
                left += _adopt(plugin, source, target, thread_id)
                for adopted in sorted(before - _thread_ids(plugin, source, thread_id)):
                    announce(thread_adopted, owner=user, chatbot=chatbot, thread_id=adopted, former_owner=anonymous)
            except StorageError as error:
                log_event(
                    logger,
                    logging.ERROR,
                    "anonymous threads could not be adopted; a later request tries again",
                    error,
                    chatbot=chatbot,
                )
                left += 1
        left += _adopt_memories(memories(anonymous), memories(user))
        left += _drop(drop_summaries, anonymous)
    if left:
        visitor.keep_anonymous()
    else:
        visitor.drop_anonymous(keep_threads=adopt)


def _drop(drop_summaries: cabc.Callable[[str], None], anonymous: str) -> int:
    try:
        drop_summaries(anonymous)
    except StorageError as error:
        log_event(
            logger,
            logging.ERROR,
            "summaries of anonymous threads could not be dropped; a later request tries again",
            error,
        )
        return 1
    return 0


def _adopt_memories(source: UserMemories | None, target: UserMemories | None) -> int:
    if source is None or target is None:
        return 0
    try:
        source.move_to(target)
    except StorageError as error:
        log_event(logger, logging.ERROR, "anonymous memories could not be adopted; a later request tries again", error)
        return 1
    return 0


def _adopt(plugin: ChatMemoryPlugin, source: Scope, target: Scope, thread_id: str | None) -> int:
    if isinstance(plugin, MovesThreads):
        return plugin.move_threads(source, target)
    # A plugin of the five operations knows no other thread than the one that the visitor's session names.
    messages = plugin.load_messages(source, thread_id) if thread_id is not None else []
    if messages and thread_id is not None:
        plugin.append_messages(target, thread_id, messages, key=f"adopt:{thread_id}")
        plugin.delete_thread(source, thread_id)
    return 0


def _thread_ids(plugin: ChatMemoryPlugin, scope: Scope, thread_id: str | None) -> set[str]:
    """Return the threads of a visitor, as far as they are known."""
    if isinstance(plugin, ListsThreads):
        return {thread.id for thread in plugin.list_threads(scope)}
    return {thread_id} if thread_id is not None and plugin.has_thread(scope, thread_id) else set()
