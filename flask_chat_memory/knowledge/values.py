"""What memories, facts and entries have in common: the rules of their values, and how their documents are read."""

from __future__ import annotations

import collections.abc as cabc
import logging

from ..errors import CorruptRecord
from ..errors import InvalidKnowledge
from ..events import log_event
from ..plugins.folding import fold
from ..storage.domains import DomainStorage
from ..storage.rules import Document
from ..storage.rules import stored_time
from ..storage.rules import TEXT
from ..values import clean

MAX_TAGS = 10
MAX_TAG = 50

logger = logging.getLogger(__name__)


def checked_text(value: object, path: str, longest: int) -> str:
    """Return a text as it is stored, without spaces around it.

    :raises InvalidKnowledge: if it is no text, empty, or longer than so many characters.
    """
    if not isinstance(value, str):
        raise InvalidKnowledge(path, f"must be text, not {type(value).__name__}")
    text = clean(value).strip()
    if not text:
        raise InvalidKnowledge(path, "must not be empty")
    if len(text) > longest:
        raise InvalidKnowledge(path, f"has more than {longest:,} characters")
    return text


def checked_tags(value: object) -> tuple[str, ...]:
    """Return tags as they are stored, each once.

    :raises InvalidKnowledge: for more than 10, and for what is no text of 1 to 50 characters.
    """
    if isinstance(value, str) or not isinstance(value, cabc.Iterable):
        raise InvalidKnowledge("tags", "must be a list of texts")
    tags = tuple(dict.fromkeys(checked_text(tag, f"tags[{place}]", MAX_TAG) for place, tag in enumerate(value)))
    if len(tags) > MAX_TAGS:
        raise InvalidKnowledge("tags", f"are more than {MAX_TAGS}")
    return tags


def check_limit(limit: int | None) -> None:
    """Refuse what is no limit.

    :raises ValueError: if it is negative or no int.
    """
    if limit is not None and (type(limit) is not int or limit < 0):
        raise ValueError("limit must be an int from 0 on, or None")


def holds(wanted: str, *texts: str | None) -> bool:
    """Tell whether a text is in one of some, whatever the case and the accents."""
    return any(fold(wanted) in fold(text) for text in texts if text)


def readable(storage: DomainStorage, pattern: str = "*") -> list[tuple[str, Document]]:
    """Return name and document of all that have a text; what cannot be read is logged and left out."""
    try:
        found = storage.load_all(pattern)
    except CorruptRecord:
        found = [(name, document) for name in storage.list(pattern) if (document := _load(storage, name)) is not None]
    return [(name, document) for name, document in found if isinstance(document.get(TEXT), str)]


def _load(storage: DomainStorage, name: str) -> Document | None:
    try:
        return storage.load(name)
    except CorruptRecord as error:
        log_event(logger, logging.ERROR, "a document cannot be read; it is left out and stays as it is", error)
        return None


def tags_of(document: Document) -> tuple[str, ...]:
    """Return the tags of a document, which people may have written."""
    tags = document.get("tags")
    return tuple(tag for tag in tags if isinstance(tag, str)) if isinstance(tags, list) else ()


def time_of(document: Document, name: str) -> str:
    """Return a time that a document tells; the beginning of time if it does not."""
    value = document.get(name)
    return value if isinstance(value, str) and stored_time({"timestamp": value}) is not None else BEGINNING


def seconds_of(time: str) -> float:
    """Return a time as UNIX time in seconds."""
    return stored_time({"timestamp": time}) or 0.0


BEGINNING = "1970-01-01T00:00:00Z"
