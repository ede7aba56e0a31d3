"""The names of the keys: a prefix and digests, so that nothing of a visitor is in them."""

from __future__ import annotations

import hashlib

from ..records import Scope

_HEX = "[0-9a-f]" * 32
PARTS = {":messages": "list", ":found": "hash", ":about": "hash", ":marks": "hash"}
"""What follows the name of a thread in those of its keys, and the type that each has."""


def index_name(prefix: str, scope: Scope) -> str:
    """Return the name of a scope's index, with which the names of all keys of the scope begin.

    Its braces are the hash tag that keeps them in one slot of a cluster.
    """
    return f"{prefix}{{{_digest(scope.owner, scope.chatbot)}}}"


def thread_digest(thread_id: str) -> str:
    """Return what stands for a thread in the names of its keys."""
    return _digest(thread_id)


def threads_pattern(prefix: str) -> str:
    """Return the pattern of the names of keys of which every thread has one."""
    return f"{escaped(prefix)}{{{_HEX}}}:{_HEX}:about"


def ledgers_pattern(prefix: str) -> str:
    """Return the pattern of the names of the ledgers of usage."""
    return f"{escaped(prefix)}{{{_HEX}}}:usage"


def escaped(text: str) -> str:
    """Return the pattern that only the text itself matches."""
    return "".join("\\" + character if character in "*?[]\\^-" else character for character in text)


def thread_of(name: bytes) -> tuple[bytes, str]:
    """Return the name of the index, and the digest of the thread, that a name holds."""
    index, digest, _ = name.rsplit(b":", 2)
    return index, digest.decode()


def types_of(index: str, *threads: str) -> dict[str, str]:
    """Return the name of every key of a scope, with these threads (digests) -> its type."""
    found = {index: "zset", f"{index}:current": "string", f"{index}:usage": "hash"}
    for digest in threads:
        found |= {f"{index}:{digest}{part}": kind for part, kind in PARTS.items()}
    return found


def _digest(*names: str) -> str:
    # None of the names can hold a NUL, so the joined text tells them apart.
    return hashlib.blake2b("\0".join(names).encode(), digest_size=16).hexdigest()
