"""What is remembered of one owner, over all threads and chatbots."""

from __future__ import annotations

import builtins
import collections.abc as cabc
import secrets
import time
import typing as t

import msgspec

from ..errors import InvalidKnowledge
from ..message import timestamp
from ..plugins.base import Clock
from ..plugins.folding import fold
from ..storage.domains import DomainStorage
from ..storage.rules import Document
from ..storage.rules import TEXT
from .values import check_limit
from .values import checked_tags
from .values import checked_text
from .values import holds
from .values import readable
from .values import seconds_of
from .values import tags_of
from .values import time_of

CATEGORIES = ("preference", "context", "note", "instruction", "decision")
MAX_TEXT = 1000
DEFAULT_MOST = 100

Source = t.Literal["owner", "model"]


class UserMemory(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that is remembered of an owner.

    :param text: at most 1,000 characters.
    :param category: ``preference``, ``context``, ``note``, ``instruction`` or ``decision``.
    :param tags: at most 10, each of at most 50 characters.
    :param source: who wrote it: ``owner``, which is also the site's code, or ``model``.
    :param created_at: ISO 8601, UTC; ``updated_at``, too.
    """

    id: str
    text: str
    category: str
    tags: tuple[str, ...]
    source: Source
    created_at: str
    updated_at: str


class UserMemories:
    """The memories of one owner; each is a document of its own, so that writers never overwrite another's.

    :param storage: the documents of the owner in the domain ``user_memory``.
    :param most: how many are kept.
    :param clock: gives the UNIX time in seconds.
    """

    def __init__(self, storage: DomainStorage, *, most: int = DEFAULT_MOST, clock: Clock = time.time) -> None:
        self._storage = storage
        self._most = most
        self._clock = clock

    def add(
        self, text: str, category: str = "note", tags: cabc.Iterable[str] = (), *, source: Source = "owner"
    ) -> UserMemory:
        """Remember a text; one that is remembered already, in upper or lower case, is renewed.

        Beyond the number that is kept the oldest go. What a model writes takes the place only of what a model wrote.

        :raises InvalidKnowledge: for a bad text, category or tag, and for a model if the owner's memories fill all.
        """
        now = timestamp(self._clock())
        new = UserMemory(
            id=secrets.token_hex(12),
            text=checked_text(text, "text", MAX_TEXT),
            category=checked_category(category),
            tags=checked_tags(tags),
            source=source,
            created_at=now,
            updated_at=now,
        )
        known = next((memory for memory in self.list() if fold(memory.text) == fold(new.text)), None)
        if known is not None:
            kept = (
                known if source == "model" else msgspec.structs.replace(new, id=known.id, created_at=known.created_at)
            )
            return self._save(msgspec.structs.replace(kept, updated_at=now))
        self._save(new)
        self._make_room(new)
        return new

    def list(self, limit: int | None = None, category: str | None = None, tag: str | None = None) -> list[UserMemory]:
        """Return the memories, the newest first: by the time of their last change.

        :raises ValueError: for a limit that is negative or no int.
        """
        check_limit(limit)
        found = [_memory(name, document) for name, document in readable(self._storage)]
        found.sort(key=lambda memory: (seconds_of(memory.updated_at), memory.id), reverse=True)
        return [
            memory for memory in found if category in (None, memory.category) and (tag is None or tag in memory.tags)
        ][:limit]

    def search(self, text: str) -> builtins.list[UserMemory]:
        """Return the memories with a text in their text or a tag, whatever the case and the accents; newest first."""
        return [memory for memory in self.list() if holds(text, memory.text, *memory.tags)]

    def get(self, id: str) -> UserMemory | None:
        """Return a memory; None if the owner has no such one."""
        document = self._storage.load(id) if self._storage.is_name(id) else None
        return _memory(id, document) if document is not None and isinstance(document.get(TEXT), str) else None

    def update(
        self,
        id: str,
        *,
        text: str | None = None,
        category: str | None = None,
        tags: cabc.Iterable[str] | None = None,
    ) -> UserMemory | None:
        """Change what is given; return the memory, which is the owner's from then on, None if there is no such one.

        :raises InvalidKnowledge: for a bad text, category or tag.
        """
        changes: dict[str, t.Any] = {}
        if text is not None:
            changes["text"] = checked_text(text, "text", MAX_TEXT)
        if category is not None:
            changes["category"] = checked_category(category)
        if tags is not None:
            changes["tags"] = checked_tags(tags)
        memory = self.get(id)
        if memory is None:
            return None
        now = timestamp(self._clock())
        return self._save(msgspec.structs.replace(memory, **changes, source="owner", updated_at=now))

    def delete(self, id: str) -> bool:
        """Forget a memory; tell whether there was such a one."""
        return self._storage.is_name(id) and self._storage.delete(id)

    def clear(self) -> int:
        """Forget all memories of the owner; return how many."""
        return sum(self.delete(memory.id) for memory in self.list())

    def move_to(self, target: UserMemories) -> None:
        """Give all memories to another owner; interrupted anywhere, it can be repeated."""
        memories = self.list()
        for memory in memories:
            target._save(memory)
            self.delete(memory.id)
        for surplus in target.list()[target._most :] if memories else ():
            target.delete(surplus.id)

    def _save(self, memory: UserMemory) -> UserMemory:
        document = {name: value for name, value in msgspec.structs.asdict(memory).items() if name not in ("id", TEXT)}
        self._storage.save(memory.id, {"type": "user_memory", **document, TEXT: memory.text})
        return memory

    def _make_room(self, new: UserMemory) -> None:
        memories = self.list()
        surplus = max(len(memories) - self._most, 0)
        movable = [memory for memory in reversed(memories) if new.source == "owner" or memory.source == "model"]
        for memory in movable[:surplus]:
            self.delete(memory.id)
        if any(memory.id == new.id for memory in movable[:surplus]):
            raise InvalidKnowledge("text", f"has no room beside the {self._most} memories of the owner")


def checked_category(value: str) -> str:
    """Return a category.

    :raises InvalidKnowledge: naming those that there are.
    """
    if value not in CATEGORIES:
        raise InvalidKnowledge("category", f"must be one of {', '.join(CATEGORIES)}")
    return value


def _memory(name: str, document: Document) -> UserMemory:
    """Return the memory of a document, which people may have written."""
    category = document.get("category")
    return UserMemory(
        id=name,
        text=document[TEXT],
        category=category if category in CATEGORIES else "note",
        tags=tags_of(document),
        source="model" if document.get("source") == "model" else "owner",
        created_at=time_of(document, "created_at"),
        updated_at=time_of(document, "updated_at"),
    )
