"""Documents that several processes change at once: each change is a revision of its own, and overwrites no other."""

from __future__ import annotations

import operator
import re

import msgspec

from ..storage.domains import DomainStorage
from ..storage.rules import Document
from .values import readable

_NAME = re.compile(r"(?s)(?P<id>.+)\.r(?P<number>[1-9]\d{0,8})")


class Revision(msgspec.Struct, frozen=True):
    """The newest revision of a document.

    :param older: names of revisions that somebody who died has left.
    """

    id: str
    number: int
    document: Document
    older: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return f"{self.id}.r{self.number}" if self.number else self.id


class Revisions:
    """The documents of a storage by ids: ``a`` is first stored under its id, and then as ``a.r1``, ``a.r2``, ...

    A revision is created and never overwritten, so of those who change the same one, one succeeds, and the others look
    again. Nothing else is asked of a storage than its ``create``.
    """

    def __init__(self, storage: DomainStorage) -> None:
        self._storage = storage

    def all(self) -> list[Revision]:
        return self._newest("*")

    def find(self, id: str) -> Revision | None:
        return next((revision for revision in self._newest(f"{id}*") if revision.id == id), None)

    def save(self, id: str, document: Document) -> None:
        """Store the first revision."""
        self._storage.save(id, document)

    def change(self, revision: Revision, document: Document) -> bool:
        """Store the next revision; tell whether that was done: nobody has changed or deleted this one meanwhile."""
        changed = msgspec.structs.replace(revision, number=revision.number + 1, document=document)
        if not self._storage.create(changed.name, document):
            return False
        self._delete_older(revision)
        if self._storage.delete(revision.name):
            return True
        self._storage.delete(changed.name)
        return False

    def delete(self, id: str) -> bool:
        """Remove a document, also if it is being changed; tell whether there was one."""
        existed = False
        while (revision := self.find(id)) is not None:
            existed = self.delete_revision(revision) or existed
        return existed

    def delete_revision(self, revision: Revision) -> bool:
        """Remove a document unless it was changed meanwhile; tell whether that was done."""
        self._delete_older(revision)
        return self._storage.delete(revision.name)

    def _delete_older(self, revision: Revision) -> None:
        # First, or one of them would be the newest.
        for name in revision.older:
            self._storage.delete(name)

    def _newest(self, pattern: str) -> list[Revision]:
        found: dict[str, list[tuple[int, str, Document]]] = {}
        for name, document in readable(self._storage, pattern):
            id, number = _read(name)
            found.setdefault(id, []).append((number, name, document))
        return [_revision(id, numbered) for id, numbered in found.items()]


def _revision(id: str, numbered: list[tuple[int, str, Document]]) -> Revision:
    *older, (number, _, document) = sorted(numbered, key=operator.itemgetter(0))
    return Revision(id, number, document, tuple(name for _, name, _ in older))


def _read(name: str) -> tuple[str, int]:
    found = _NAME.fullmatch(name)
    return (found["id"], int(found["number"])) if found else (name, 0)
