"""Threads and ledgers that another store has held."""

from __future__ import annotations

import abc
import collections.abc as cabc
import itertools
import logging
import secrets
import typing as t

from ...errors import MissingOwner
from ...errors import StorageError
from ...events import log_event
from ...message import ChatMessage
from ..abilities import RestoresThreads
from ..abilities import RestoresUsage
from ..counting import COUNTED
from ..counting import numbers_of
from ..records import Scope
from ..records import Thread
from ..records import UsageDay
from ..records import WholeThread
from ..rules import check_append
from ..rules import newest_keys
from ..rules import sequence_of
from . import scripts
from .names import ledgers_pattern
from .names import thread_digest
from .packing import live_turns_of
from .packing import pack
from .packing import pack_mark
from .packing import pairs
from .packing import unpack_head
from .packing import unpack_lines
from .packing import unpack_live
from .packing import unpack_marks
from .threads import RedisThreads
from .threads import thread_of_reply
from .usage import RedisUsage

logger = logging.getLogger(__name__)

CHUNK = 200
"""Messages that are written at once."""
PATIENCE = 3600
"""Seconds after which the server drops what was begun and not ended."""


class RedisRestoring(RedisThreads, RedisUsage, RestoresThreads, RestoresUsage, abc.ABC):
    """The two abilities. Messages are staged a part at a time; one script makes them the thread."""

    def find_whole(self, scope: Scope, thread_id: str) -> WholeThread | None:
        found = self._run(scripts.WHOLE, scope, thread_id, repeatable=True, **self._rules)
        return None if found is None else self._whole(self._name(scope, thread_id), found)

    def _whole(self, name: str, found: list[t.Any]) -> WholeThread:
        packed, count, about, keys, marks, is_current = found
        head = unpack_head(packed, name)
        return WholeThread(
            thread=thread_of_reply(name, packed, count, about)[1],
            sequence=head.sequence,
            keys=newest_keys((key.decode(), int(sequence)) for key, sequence in pairs(keys)),
            lines=unpack_lines(head.lines, name),
            marks=dict(sorted(unpack_marks(marks, name).items())),
            current=bool(is_current),
            live=tuple(live_turns_of(unpack_live(head.live, name))),
        )

    def restore_thread(
        self,
        scope: Scope,
        whole: WholeThread,
        messages: cabc.Iterable[ChatMessage],
        *,
        instead_of: WholeThread | None = None,
    ) -> bool:
        thread_id = whole.thread.id
        check_append(thread_id, None)
        seen: dict[str, t.Any] = {}
        if instead_of is not None:
            found = self._run(scripts.WHOLE, scope, thread_id, repeatable=True, **self._rules)
            name = self._name(scope, thread_id)
            if found is None or self._whole(name, found) != instead_of:
                return False
            packed, _, about, _, marks, _ = found
            seen = {
                "seen": unpack_head(packed, name).nonce,
                "seen_marks": [text.decode() for text in marks],
                "seen_about": [False if text is None else text.decode() for text in about],
            }
        staged = f"{thread_digest(thread_id)}-{secrets.token_hex(8)}"
        try:
            count, question, asked = self._stage(scope, whole, staged, messages)
            stored = self._write(
                scripts.RESTORE,
                scope,
                thread_id,
                staged=staged,
                count=count,
                active=whole.thread.last_activity,
                time_of_activity=repr(whole.thread.last_activity),
                sequence=whole.sequence,
                used=whole.thread.tokens,
                question=question,
                live={
                    live.turn: (
                        float(live.lease),
                        asked.get(live.question_id, 0),
                        (live.question_id, live.answer_id),
                        live.text,
                        live.stop_wanted,
                    )
                    for live in whole.live
                },
                lines=whole.lines.to_json(),
                known=list(whole.keys.items()),
                about=_about(scope, whole.thread),
                marks=[(id, pack_mark(mark)) for id, mark in whole.marks.items()],
                is_current=whole.current,
                **seen,
            )
        except BaseException:
            self._put_by(scope, staged, [])
            raise
        if stored is None:
            self._put_by(scope, staged, [])
        elif stored != count:
            raise StorageError("Redis has lost a part of a thread that was being restored; begin again")
        return stored is not None

    def _stage(
        self, scope: Scope, whole: WholeThread, staged: str, messages: cabc.Iterable[ChatMessage]
    ) -> tuple[int, int, dict[str | None, int]]:
        """Put messages by; return how many, the newest question, and the places of those that are being answered."""
        count = question = 0
        wanted: set[str | None] = {live.question_id for live in whole.live}
        asked: dict[str | None, int] = {}
        rest = iter(messages)
        while chunk := list(itertools.islice(rest, CHUNK)):
            self._put_by(scope, staged, chunk)
            count += len(chunk)
            questions = {message.id: sequence_of(message) for message in chunk if message.role == "user"}
            question = max([question, *questions.values()])
            asked |= {id: questions[id] for id in wanted & questions.keys()}
        return count, question, asked

    def _put_by(self, scope: Scope, staged: str, messages: cabc.Iterable[ChatMessage]) -> None:
        packed, bodies = pack(messages)
        given = {**self._times(), "staged": staged, "messages": packed, "patience": PATIENCE}
        self._server.run(scripts.STAGE, self._index(scope), given, bodies, repeatable=False)

    def usage_scopes(self) -> cabc.Iterator[Scope]:
        for names in self._server.scan(ledgers_pattern(self._prefix)):
            for name in names:
                index = name.rpartition(b":")[0]
                found = dict(pairs(self._server.run(scripts.USAGE, index, {}, repeatable=True)))
                try:
                    yield Scope(found[b"owner"].decode(), found[b"chatbot"].decode())
                except (KeyError, MissingOwner, ValueError):
                    log_event(logger, logging.ERROR, "a ledger does not tell whose it is", key=index.decode())

    def restore_usage(self, scope: Scope, days: cabc.Iterable[UsageDay]) -> None:
        fields: list[str] = []
        for day in days:
            for name, count in zip(COUNTED, numbers_of(day), strict=True):
                fields += [f"{day.day.isoformat()} {name} {day.model or ''}", str(count)]
        for start in range(0, len(fields), CHUNK):
            given = {"owner": scope.owner, "chatbot": scope.chatbot, "fields": fields[start : start + CHUNK]}
            self._server.run(scripts.RECKON, self._index(scope), given, repeatable=True)


def _about(scope: Scope, thread: Thread) -> list[str]:
    """Return the fields that describe a thread."""
    fields: dict[str, str | None] = {
        "owner": scope.owner,
        "chatbot": scope.chatbot,
        "created": repr(thread.created_at),
        "title": thread.title,
        "pinned": "1" if thread.pinned else None,
        "archived": "1" if thread.archived else None,
        "configuration": thread.configuration,
    }
    return [text for name, value in fields.items() if value is not None for text in (name, value)]
