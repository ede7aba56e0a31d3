"""A thread as one document that people can read: ``thread_id``, ``created_at``, ``updated_at``, ``messages``, ..."""

from __future__ import annotations

import collections.abc as cabc
import typing as t

import msgspec

from ...errors import InvalidMessage
from ...message import ChatMessage
from ...message import timestamp
from ...storage.rules import corrupt
from ...storage.rules import Document
from ...storage.rules import stored_time
from ..counting import total_tokens
from ..lines import Lines
from ..records import LiveTurn
from ..records import Mark
from ..records import Scope
from ..records import ThreadChanges
from ..rules import newest_keys
from ..rules import number
from ..rules import sequence_of
from ..whole.thread import StoredThread

Given = list[dict[str, t.Any]]
Unset = msgspec.UnsetType
UNSET = msgspec.UNSET


class _Totals(msgspec.Struct):
    total_tokens: int | None = None
    model: str | None = None


class _ThreadDocument(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What a document says; what only we know may be missing where people wrote it.

    :param messages: those that are seen, as the site sees them; ``hidden`` are the others.
    :param last_sequence: the highest that was ever given, if no message has it any more.
    """

    thread_id: str = ""
    owner: str = ""
    chatbot: str = ""
    created_at: t.Any = None
    updated_at: t.Any = None
    title: str | None = None
    pinned: bool = False
    archived: bool = False
    configuration: str | None = None
    messages: Given
    metadata: _Totals | Unset = UNSET
    sequences: list[int] | Unset = UNSET
    last_sequence: int = 0
    append_keys: dict[str, int] = {}
    hidden: Given = []
    hidden_sequences: list[int] = []
    lines: Lines | None = None
    marks: dict[str, Mark] = {}
    live: list[LiveTurn] = []


def to_document(scope: Scope, thread_id: str, thread: StoredThread) -> Document:
    """Return a thread as a document."""
    seen = [message for message in thread.messages if thread.lines.sees(sequence_of(message))]
    hidden = [message for message in thread.messages if not thread.lines.sees(sequence_of(message))]
    last = max(map(sequence_of, thread.messages), default=0)
    models = (message.model for message in reversed(thread.messages))
    document = _ThreadDocument(
        thread_id=thread_id,
        owner=scope.owner,
        chatbot=scope.chatbot,
        created_at=timestamp(thread.created_at),
        updated_at=timestamp(thread.last_activity),
        **thread.description,
        messages=[message.to_dict() for message in seen],
        metadata=_Totals(thread.tokens, next((model for model in models if model), None)),
        sequences=list(map(sequence_of, seen)),
        last_sequence=thread.sequence if thread.sequence > last else 0,
        append_keys=thread.keys,
        hidden=[message.to_dict() for message in hidden],
        hidden_sequences=list(map(sequence_of, hidden)),
        lines=None if thread.lines == Lines() else thread.lines,
        marks=thread.marks,
        live=list(thread.live.values()),
    )
    return t.cast(Document, msgspec.to_builtins(document))


def from_document(document: Document, key: str, now: float) -> StoredThread:
    """Return the thread of a document; one that does not say how old it is counts as new.

    :raises CorruptRecord: if it is no document of a thread.
    """
    try:
        found = msgspec.convert(document, _ThreadDocument)
        sequences = range(1, len(found.messages) + 1) if found.sequences is UNSET else found.sequences
        numbered = [*_numbered(found.messages, sequences), *_numbered(found.hidden, found.hidden_sequences)]
    except (InvalidMessage, ValueError) as error:
        raise corrupt(key) from error
    messages = number(sorted(numbered, key=sequence_of))
    last_activity = _time(document, "updated_at", "timestamp", "created_at")
    created_at = _time(document, "created_at")
    active = now if last_activity is None else last_activity
    tokens = None if found.metadata is UNSET else found.metadata.total_tokens
    return StoredThread(
        created_at=active if created_at is None else created_at,
        last_activity=active,
        messages=messages,
        sequence=max([found.last_sequence, *map(sequence_of, messages)]),
        # A storage need not keep the order of keys.
        keys=newest_keys(found.append_keys.items()),
        live={record.turn: record for record in found.live},
        lines=found.lines or Lines(),
        marks=found.marks,
        tokens=total_tokens(messages) if tokens is None else tokens,
        description=ThreadChanges(
            title=found.title, pinned=found.pinned, archived=found.archived, configuration=found.configuration
        ),
    )


def _numbered(messages: Given, sequences: cabc.Iterable[int]) -> cabc.Iterator[ChatMessage]:
    for message, sequence in zip(messages, sequences, strict=True):
        yield ChatMessage.from_dict(message).numbered(sequence)


def _time(document: Document, *names: str) -> float | None:
    times = (stored_time({"timestamp": document.get(name)}) for name in names)
    return next((time for time in times if time is not None), None)
