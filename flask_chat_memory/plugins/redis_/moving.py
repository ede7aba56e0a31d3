"""Gives the threads of one scope to another, which may be on another server of a cluster.

No script can do that in one step. So a thread is copied, and then deleted only if nothing was written to it since.
Whatever interrupts this, to repeat it has the same result.
"""

from __future__ import annotations

import collections.abc as cabc
import secrets
import typing as t

from ..abilities import Reseals
from ..counting import tokens_each
from ..records import Scope
from . import scripts
from .names import index_name
from .packing import Head
from .packing import pack
from .packing import unpack
from .packing import unpack_head
from .server import Server

ATTEMPTS = 10
_RUNNING = 1


class Move:
    """The move from one scope to another.

    :param given: what all scripts are given.
    """

    def __init__(
        self,
        server: Server,
        prefix: str,
        source: Scope,
        target: Scope,
        given: cabc.Mapping[str, t.Any],
        reseal: Reseals | None,
    ) -> None:
        self._server = server
        self._source = index_name(prefix, source)
        self._target = index_name(prefix, target)
        self._reseal = reseal
        self._given = {**given, "owner": target.owner, "chatbot": target.chatbot}

    def run(self) -> int:
        """Move all threads without a running turn; return how many were left."""
        threads = self._server.run(scripts.THREADS, self._source, self._given, repeatable=True)
        return sum(not self._hand_over(digest.decode(), bool(is_current)) for digest, is_current in threads)

    def _hand_over(self, digest: str, is_current: bool) -> bool:
        this = {**self._given, "digest": digest}
        for _ in range(ATTEMPTS):
            exported = self._server.run(scripts.EXPORT, self._source, this, repeatable=True)
            if exported is None:
                return True
            if exported == _RUNNING:
                return False
            head = unpack_head(exported[0][-1], f"{self._source}:{digest}")
            self._receive(this, is_current, head, *exported)
            unchanged = {**this, "unchanged": head.nonce}
            if self._server.run(scripts.DELETE, self._source, unchanged, repeatable=True):
                return True
        return False

    def _receive(
        self,
        this: cabc.Mapping[str, t.Any],
        is_current: bool,
        head: Head,
        elements: list[bytes],
        about: cabc.Sequence[bytes],
        keys: cabc.Sequence[bytes],
    ) -> None:
        messages = unpack(elements[:-1], f"{self._source}:{this['digest']}")
        received = {
            **this,
            "is_current": is_current,
            "id": head.id,
            "born": head.born,
            "active": head.active,
            "sequence": head.sequence,
            "used": head.tokens,
            "tokens_of": tokens_each(messages),
            "about": self._kept(head.id, about),
            "known": [(key.decode(), int(sequence)) for key, sequence in _pairs(keys)],
            "key": f"adopt:{head.id}",
            "nonce": secrets.token_hex(8),
        }
        into: str | None = head.id if self._reseal else None
        while True:
            sealed = self._reseal.messages(head.id, into, messages) if self._reseal and into else messages
            packed, bodies = pack(sealed)
            received |= {"messages": packed, "only_into": into}
            other = self._server.run(scripts.RECEIVE, self._target, received, [*bodies, elements[-1]], repeatable=True)
            if other is None:
                return
            into = other.decode()

    def _kept(self, thread_id: str, about: cabc.Sequence[bytes]) -> list[str]:
        """Return the fields that go with the thread: not its owner."""
        fields = {name.decode(): value.decode() for name, value in _pairs(about)}
        if self._reseal and "title" in fields:
            fields["title"] = self._reseal.title(thread_id, fields["title"])
        return [text for pair in fields.items() if pair[0] not in ("owner", "chatbot") for text in pair]


def _pairs(flat: cabc.Iterable[bytes]) -> cabc.Iterator[tuple[bytes, bytes]]:
    return zip(*[iter(flat)] * 2, strict=True)
