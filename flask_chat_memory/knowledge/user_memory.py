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
from .revisions import Revision
from .revisions import Revisions
from .values import check_limit
from .values import checked_tags
from .values import checked_text
from .values import holds
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

    Of two who change the same memory at once, none is lost: the second changes what the first has made of it.

    :param storage: the documents of the owner in the domain ``user_memory``.
    :param most: how many are kept.
    :param clock: gives the UNIX time in seconds.
    """

    def __init__(self, storage: DomainStorage, *, most: int = DEFAULT_MOST, clock: Clock = time.time) -> None:
        self._storage = storage
        self._revisions = Revisions(storage)
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
        while (known := self._holding(new.text)) is not None:
            memory = _memory(known)
            kept = memory if source == "model" else _replace(new, id=memory.id, created_at=memory.created_at)
            renewed = _replace(kept, updated_at=now)
            if self._revisions.change(known, _document(renewed)):
                return renewed
        self._revisions.save(new.id, _document(new))
        self._make_room(new)
        return new

    def list(self, limit: int | None = None, category: str | None = None, tag: str | None = None) -> list[UserMemory]:
        """Return the memories, the newest first: by the time of their last change.

        :raises ValueError: for a limit that is negative or no int.
        """
        check_limit(limit)
        found = [_memory(revision) for revision in self._newest_first()]
        return [
            memory for memory in found if category in (None, memory.category) and (tag is None or tag in memory.tags)
        ][:limit]

    def search(self, text: str) -> builtins.list[UserMemory]:
        """Return the memories with a text in their text or a tag, whatever the case and the accents; newest first."""
        return [memory for memory in self.list() if holds(text, memory.text, *memory.tags)]

    def get(self, id: str) -> UserMemory | None:
        """Return a memory; None if the owner has no such one."""
        revision = self._find(id)
        return None if revision is None else _memory(revision)

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
        while (revision := self._find(id)) is not None:
            now = timestamp(self._clock())
            memory = _replace(_memory(revision), **changes, source="owner", updated_at=now)
            if self._revisions.change(revision, _document(memory)):
                return memory
        return None

    def delete(self, id: str) -> bool:
        """Forget a memory; tell whether there was such a one."""
        return self._storage.is_name(id) and self._revisions.delete(id)

    def clear(self) -> int:
        """Forget all memories of the owner; return how many."""
        return sum(self.delete(memory.id) for memory in self.list())

    def move_to(self, target: UserMemories) -> None:
        """Give all memories to another owner; interrupted anywhere, it can be repeated."""
        moved = self._revisions.all()
        while revisions := self._revisions.all():
            # Again what was changed meanwhile.
            for revision in revisions:
                target._revisions.save(revision.id, revision.document)
                self._revisions.delete_revision(revision)
        for surplus in target._newest_first()[target._most :] if moved else ():
            target._revisions.delete_revision(surplus)

    def _find(self, id: str) -> Revision | None:
        return self._revisions.find(id) if self._storage.is_name(id) else None

    def _holding(self, text: str) -> Revision | None:
        return next((found for found in self._newest_first() if fold(found.document[TEXT]) == fold(text)), None)

    def _newest_first(self) -> builtins.list[Revision]:
        return sorted(self._revisions.all(), key=_age, reverse=True)

    def _make_room(self, new: UserMemory) -> None:
        revisions = self._newest_first()
        surplus = max(len(revisions) - self._most, 0)
        movable = [found for found in reversed(revisions) if new.source == "owner" or _memory(found).source == "model"]
        for revision in movable[:surplus]:
            # One that was renewed meanwhile is no longer among the oldest.
            self._revisions.delete_revision(revision)
        if any(revision.id == new.id for revision in movable[:surplus]):
            raise InvalidKnowledge("text", f"has no room beside the {self._most} memories of the owner")


def checked_category(value: str) -> str:
    """Return a category.

    :raises InvalidKnowledge: naming those that there are.
    """
    if value not in CATEGORIES:
        raise InvalidKnowledge("category", f"must be one of {', '.join(CATEGORIES)}")
    return value


_replace = msgspec.structs.replace


def _age(revision: Revision) -> tuple[float, str]:
    return seconds_of(time_of(revision.document, "updated_at")), revision.id


def _document(memory: UserMemory) -> Document:
    values = {name: value for name, value in msgspec.structs.asdict(memory).items() if name not in ("id", TEXT)}
    return {"type": "user_memory", **values, TEXT: memory.text}


def _memory(revision: Revision) -> UserMemory:
    """Return the memory of a document, which people may have written."""
    document = revision.document
    category = document.get("category")
    return UserMemory(
        id=revision.id,
        text=document[TEXT],
        category=category if category in CATEGORIES else "note",
        tags=tags_of(document),
        source="model" if document.get("source") == "model" else "owner",
        created_at=time_of(document, "created_at"),
        updated_at=time_of(document, "updated_at"),
    )
