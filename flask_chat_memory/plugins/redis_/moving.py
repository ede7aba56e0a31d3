"""Gives the threads of one scope to another, which may be on another server of a cluster.

No script can do that in one step. So a thread is copied, and then deleted only if nothing was written to it since.
Whatever interrupts this, to repeat it has the same result.
"""

from __future__ import annotations

import collections.abc as cabc
import dataclasses
import secrets
import typing as t

from ..abilities import Reseals
from ..counting import tokens_each
from ..hiding import is_hidden
from ..records import Mark
from ..records import Scope
from ..rules import sequence_of
from . import scripts
from .names import index_name
from .packing import Head
from .packing import Live
from .packing import pack
from .packing import pack_mark
from .packing import pairs
from .packing import unpack
from .packing import unpack_head
from .packing import unpack_lines
from .packing import unpack_live
from .packing import unpack_marks
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
        marks: cabc.Sequence[bytes],
    ) -> None:
        name = f"{self._source}:{this['digest']}"
        messages = unpack(elements[:-1], name)
        hidden = unpack_lines(head.lines, name).hidden
        visible = [not is_hidden(sequence_of(message), hidden) for message in messages]
        received = {
            **this,
            "is_current": is_current,
            "id": head.id,
            "born": head.born,
            "written": head.nonce,
            "active": head.active,
            "sequence": head.sequence,
            "used": head.tokens,
            "tokens_of": tokens_each(messages),
            "visible": visible,
            "lines": head.lines,
            "live": self._live(head.id, unpack_live(head.live, name)),
            "about": self._about(head.id, about),
            "known": [(key.decode(), int(sequence)) for key, sequence in pairs(keys)],
            "key": f"adopt:{head.id}",
            "nonce": secrets.token_hex(8),
        }
        into: str | None = head.id if self._reseal else None
        while True:
            sealed = self._reseal.messages(head.id, into, messages) if self._reseal and into else messages
            packed, bodies = pack(sealed)
            packed_marks = [
                (id, pack_mark(self._mark(head.id, into, id, mark))) for id, mark in unpack_marks(marks, name).items()
            ]
            received |= {"messages": packed, "marks": packed_marks, "only_into": into}
            other = self._server.run(scripts.RECEIVE, self._target, received, bodies, repeatable=True)
            if other is None:
                return
            into = other.decode()

    def _mark(self, thread_id: str, into: str | None, message_id: str, mark: Mark) -> Mark:
        if not (self._reseal and into and mark.comment):
            return mark
        return dataclasses.replace(mark, comment=self._reseal.comment(thread_id, into, message_id, mark.comment))

    def _live(self, thread_id: str, live: Live) -> Live:
        if self._reseal is None:
            return live
        return {
            turn: (lease, place, ids, text and self._reseal.live_text(thread_id, turn, text), stop)
            for turn, (lease, place, ids, text, stop) in live.items()
        }

    def _about(self, thread_id: str, about: cabc.Sequence[bytes]) -> list[str]:
        """Return the fields that go with the thread: not its owner."""
        fields = {name.decode(): value.decode() for name, value in pairs(about)}
        if self._reseal and "title" in fields:
            fields["title"] = self._reseal.title(thread_id, fields["title"])
        return [text for pair in fields.items() if pair[0] not in ("owner", "chatbot") for text in pair]
