"""The keys of documents: the folders of the domains, and names that no storage takes for anything else."""

from __future__ import annotations

import hashlib
import re
import urllib.parse

FOLDERS = {
    "conversation": "conversations",
    "learning": "learning",
    "user_memory": "memory/users",
    "summaries": "memory/summaries",
    "facts": "memory/facts",
    "settings": "config",
    "site": "site",
}
"""Domain -> the folder in which its keys are; none is in another."""

OWNER = "@"
"""Begins the segment of an owner; in no other segment is it written as it is."""
LONGEST = 150
"""Characters of a segment that is shortened to fit."""


def pattern_of(domain: str, owner: str | None = None) -> str:
    """Return the pattern of the keys of a domain, or of those that are one owner's."""
    return f"{FOLDERS[domain]}/{'' if owner is None else f'{OWNER}{segment(owner)}/'}*"


def rehomed(key: str, domain: str, old: str, new: str) -> str | None:
    """Return the key under which the document of one owner is another's; None if it is not that owner's."""
    start = pattern_of(domain, old)[:-1]
    return pattern_of(domain, new)[:-1] + key.removeprefix(start) if key.startswith(start) else None


def segment(text: str) -> str:
    """Return any text as one segment of a key; of a long one, the beginning and a digest.

    No two texts have the same segment.
    """
    whole = quoted(text, safe="")
    if whole.startswith("."):
        whole = whole.replace(".", "%2e", 1)
    if len(whole) <= LONGEST:
        return whole
    digest = hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
    return f"{whole[: LONGEST - len(digest) - 1]}{OWNER}{digest}"


def text_of(segment_: str) -> str | None:
    """Return the text of which :func:`segment` made a segment; None if it was shortened, or made by others."""
    text = urllib.parse.unquote(segment_)
    return text if segment(text) == segment_ else None


def quoted(text: str, safe: str = "/") -> str:
    """Return text percent-encoded, but for the signs in ``safe``."""
    found = urllib.parse.quote(text, safe=safe, errors="replace")
    # Small letters, which readable names on every disk are made of.
    return re.sub(r"%[0-9A-F]{2}", lambda code: code[0].lower(), found)
