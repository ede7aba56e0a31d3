"""What the models of a chatbot are told of the site and of an owner with every turn."""

from __future__ import annotations

import collections.abc as cabc
import logging
import typing as t

from ..errors import StorageError
from ..events import log_event
from ..storage.domains import DomainStorage
from .block import knowledge_block
from .facts import GlobalFacts
from .user_memory import UserMemories

MOST_TOKENS = 1_000
"""Of the block."""

T = t.TypeVar("T")
logger = logging.getLogger(__name__)


class Known:
    """The facts of the site and the memories of an owner, each read with one query.

    :param facts: of the site.
    :param memories: the domain ``user_memory``.
    """

    def __init__(self, facts: GlobalFacts, memories: DomainStorage) -> None:
        self._facts = facts
        self._memories = memories

    def block(self, owner: str | None) -> str | None:
        """Return the text for the model; None if there is nothing to tell.

        What cannot be read is logged and left out: an answer without it is better than none.

        :param owner: None has no memories.
        """
        facts = _readable(self._facts.list)
        memories = [] if owner is None else _readable(UserMemories(self._memories.of_owner(owner)).list)
        return knowledge_block(memories, facts, MOST_TOKENS)


def _readable(read: cabc.Callable[[], list[T]]) -> list[T]:
    try:
        return read()
    except StorageError as error:
        log_event(logger, logging.ERROR, "a turn goes on without what is known", error)
        return []
