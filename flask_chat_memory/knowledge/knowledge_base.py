"""What the site has learned: patterns of its tools, bugs, and learnings by context; it belongs to no visitor."""

from __future__ import annotations

import builtins
import collections.abc as cabc
import datetime as dt
import secrets
import time
import typing as t

import msgspec

from ..errors import InvalidKnowledge
from ..message import timestamp
from ..plugins.base import Clock
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

Kind = t.Literal["pattern", "bug", "learning"]
FOLDERS: dict[Kind, str] = {"pattern": "patterns", "bug": "bugs", "learning": "entries"}

MAX_SUBJECT = 100
MAX_TEXT = 20_000
PER_CONTEXT = 200
"""Learnings of one context, and bugs, that are kept; beyond them the oldest go."""


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """One record of the knowledge base.

    :param id: its name in the domain ``learning``: ``patterns/database-query``, ``bugs/bug-2026-04-30-001-9f3ac2``.
    :param subject: the tool of a pattern, the title of a bug, the context of a learning.
    :param created_at: ISO 8601, UTC; ``updated_at``, too.
    """

    id: str
    kind: Kind
    subject: str
    text: str
    tags: tuple[str, ...]
    created_at: str
    updated_at: str


class KnowledgeBase:
    """Patterns, bugs and learnings, each a document of its own.

    :param storage: the domain ``learning``.
    :param per_context: how many learnings of a context, and how many bugs, are kept.
    :param clock: gives the UNIX time in seconds.
    """

    def __init__(self, storage: DomainStorage, *, per_context: int = PER_CONTEXT, clock: Clock = time.time) -> None:
        self._storage = storage
        self._per_context = per_context
        self._clock = clock

    def record_pattern(self, tool: str, text: str, tags: cabc.Iterable[str] = ()) -> Entry:
        """Store how a tool is best used, in place of what was known of it.

        :raises InvalidKnowledge: for a bad value.
        """
        return self._record("pattern", checked_subject(tool, "tool"), text, tags)

    def record_bug(self, title: str, text: str, tags: cabc.Iterable[str] = ()) -> Entry:
        """Store a bug under a new id: its day, its number on that day, and random digits.

        Two processes may give the same number at once; the digits keep their records apart.

        :raises InvalidKnowledge: for a bad value.
        """
        return self._record("bug", checked_text(title, "title", MAX_SUBJECT), text, tags)

    def record_learning(self, context: str, text: str, tags: cabc.Iterable[str] = ()) -> Entry:
        """Store something that was learned in a context, which may have parts: ``deploy/database``.

        :raises InvalidKnowledge: for a bad value.
        """
        return self._record("learning", checked_subject(context, "context"), text, tags)

    def pattern(self, tool: str) -> Entry | None:
        """Return what is known of a tool."""
        return self.get(f"{FOLDERS['pattern']}/{tool}")

    def get(self, id: str) -> Entry | None:
        """Return an entry; None if there is no such one."""
        document = self._storage.load(id) if self._storage.is_name(id) else None
        return _entry(id, document) if document is not None and isinstance(document.get(TEXT), str) else None

    def delete(self, id: str) -> bool:
        """Remove an entry; tell whether there was such a one."""
        return self._storage.is_name(id) and self._storage.delete(id)

    def contexts(self) -> builtins.list[str]:
        """Return the contexts of which something was learned, sorted."""
        names = self._storage.list(f"{FOLDERS['learning']}/*")
        return sorted({subject for name in names if (subject := _context(name))})

    def list(self, kind: Kind | None = None, context: str | None = None, limit: int | None = None) -> list[Entry]:
        """Return entries, the newest first.

        :param kind: only these; ``context``, only what was learned in it.
        :raises ValueError: for an unknown kind, and for a limit that is negative or no int.
        """
        check_limit(limit)
        if kind is not None and kind not in FOLDERS:
            raise InvalidKnowledge("kind", f"must be one of {', '.join(FOLDERS)}")
        if context is not None:
            found = self._of_context(context) if kind in (None, "learning") else []
        else:
            found = self._matching("*" if kind is None else f"{FOLDERS[kind]}/*")
        return found[:limit]

    def search(self, text: str, kind: Kind | None = None) -> builtins.list[Entry]:
        """Return the entries with a text in their text, subject or a tag, whatever the case and the accents."""
        return [entry for entry in self.list(kind) if holds(text, entry.text, entry.subject, *entry.tags)]

    def clean_up(self, before: float) -> int:
        """Remove what was last recorded before a time, by the time in the record; return how many.

        :param before: UNIX time in seconds.
        """
        # Not by the storage's own times: a copied folder has new ones.
        old = [entry for entry in self.list() if seconds_of(entry.updated_at) < before]
        return sum(self.delete(entry.id) for entry in old)

    def _record(self, kind: Kind, subject: str, text: str, tags: cabc.Iterable[str]) -> Entry:
        now = timestamp(self._clock())
        given = {"kind": kind, "subject": subject, "text": checked_text(text, "text", MAX_TEXT), "updated_at": now}
        tags = checked_tags(tags)
        id = f"{FOLDERS[kind]}/{self._new_name(kind, subject)}"
        if not self._storage.is_name(id):
            raise InvalidKnowledge("subject", "is too long a name for a document")
        former = self.get(id)
        entry = Entry(id=id, tags=tags, created_at=former.created_at if former else now, **t.cast(t.Any, given))
        self._storage.save(
            id,
            {
                "type": kind,
                _SUBJECTS[kind]: subject,
                "tags": list(tags),
                "created_at": entry.created_at,
                "updated_at": now,
                TEXT: entry.text,
            },
        )
        if kind != "pattern":
            same = self._of_context(subject) if kind == "learning" else self._matching(f"{FOLDERS['bug']}/*")
            for surplus in same[self._per_context :]:
                self.delete(surplus.id)
        return entry

    def _new_name(self, kind: Kind, subject: str) -> str:
        if kind == "pattern":
            return subject
        if kind == "learning":
            return f"{subject}/{secrets.token_hex(8)}"
        day = dt.datetime.fromtimestamp(self._clock(), dt.UTC).date()
        names = self._storage.list(f"{FOLDERS['bug']}/bug-{day}-*")
        numbers = [int(part) for name in names if (part := name.split("-")[4]).isdecimal()]
        return f"bug-{day}-{max(numbers, default=0) + 1:03}-{secrets.token_hex(3)}"

    def _of_context(self, context: str) -> builtins.list[Entry]:
        start = f"{FOLDERS['learning']}/{context}/"
        return [entry for entry in self._matching(f"{start}*") if _context(entry.id) == context]

    def _matching(self, pattern: str) -> builtins.list[Entry]:
        found = [_entry(name, document) for name, document in readable(self._storage, pattern)]
        entries = [entry for entry in found if entry is not None]
        return sorted(entries, key=lambda entry: (seconds_of(entry.updated_at), entry.id), reverse=True)


_SUBJECTS: dict[Kind, str] = {"pattern": "tool", "bug": "title", "learning": "context"}


def checked_subject(value: object, path: str) -> str:
    """Return the name of a tool or a context: text of 1 to 100 characters, whose parts are separated by slashes.

    :raises InvalidKnowledge: if it is none.
    """
    subject = checked_text(value, path, MAX_SUBJECT)
    if not {"", ".", ".."}.isdisjoint(subject.split("/")) or {"*", "?"} & set(subject):
        raise InvalidKnowledge(path, "has a part that is empty, '.' or '..', or a '*' or '?'")
    return subject


def _context(id: str) -> str:
    return id.removeprefix(f"{FOLDERS['learning']}/").rpartition("/")[0]


def _entry(id: str, document: Document) -> Entry | None:
    """Return the entry of a document, which people may have written; None for what is none."""
    folder, _, name = id.partition("/")
    kind = next((kind for kind, known in FOLDERS.items() if known == folder), None)
    if kind is None:
        return None
    subject = document.get(_SUBJECTS[kind])
    if not isinstance(subject, str):
        subject = _context(id) if kind == "learning" else name
    return Entry(
        id=id,
        kind=kind,
        subject=subject,
        text=document[TEXT],
        tags=tags_of(document),
        created_at=time_of(document, "created_at"),
        updated_at=time_of(document, "updated_at"),
    )
