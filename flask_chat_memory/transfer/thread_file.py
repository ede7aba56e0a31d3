"""A thread as one JSON document: ``thread_id``, ``created_at``, ``updated_at``, ``messages``, ``metadata``, ..."""

from __future__ import annotations

import collections.abc as cabc
import hashlib
import json
import typing as t

import msgspec

from ..errors import CorruptRecord
from ..errors import ImportRefused
from ..errors import InvalidDocument
from ..errors import InvalidMessage
from ..errors import NewerFormat
from ..errors import UnknownThread
from ..fields import KEYS
from ..message import ChatMessage
from ..plugins.abilities import HidesMessages
from ..plugins.base import ChatMemoryPlugin
from ..plugins.counting import total_tokens
from ..plugins.lines import Lines
from ..plugins.records import Appended
from ..plugins.records import Mark
from ..plugins.records import Scope
from ..plugins.rules import is_thread_id
from ..short_term.summary import Summary
from ..storage.domains import check_format
from ..storage.rules import Document
from ..storage.rules import plain_document
from ..summaries import Summaries
from .lines import checked_lines
from .lines import checked_marks
from .lines import load_lines
from .lines import load_marks
from .lines import restore
from .private_file import Path
from .private_file import private_file

MAX_BYTES = 32 * 1024 * 1024


class _Totals(msgspec.Struct):
    total_tokens: int
    model: str | None


class _Document(msgspec.Struct, omit_defaults=True):
    thread_id: str
    created_at: str | None
    updated_at: str | None
    messages: list[msgspec.Raw]
    metadata: _Totals
    hidden: list[msgspec.Raw] = []
    lines: Lines | None = None
    marks: dict[str, Mark] = {}
    summary: Document | None = None


def export_thread(
    plugin: ChatMemoryPlugin,
    scope: Scope,
    thread_id: str,
    path: Path | None = None,
    *,
    summaries: Summaries | None = None,
) -> bytes:
    """Return a thread as a JSON document.

    The times are those of its first and its last visible message. Hidden messages, the lines, the marks, and the
    summary with its facts are in it where there are any.

    :param path: of a file to be written besides, whole or not at all, for its owner's eyes only.
    :param summaries: where the summary is; None leaves it out.
    :raises UnknownThread: if the scope has no such thread.
    :raises OSError: if the file cannot be written.
    """
    stored, lines = load_lines(plugin, scope, thread_id)
    messages = [message for place, message in enumerate(stored, 1) if lines.sees(place)]
    hidden = [message for place, message in enumerate(stored, 1) if not lines.sees(place)]
    if not stored and not plugin.has_thread(scope, thread_id):
        raise UnknownThread("the owner has no thread of this id")
    models = (message.model for message in reversed(messages))
    document = _Document(
        thread_id,
        messages[0].created_at if messages else None,
        messages[-1].created_at if messages else None,
        [msgspec.Raw(message.to_json()) for message in messages],
        _Totals(total_tokens(messages), next((model for model in models if model), None)),
        [msgspec.Raw(message.to_json()) for message in hidden],
        None if lines == Lines() else lines,
        load_marks(plugin, scope, thread_id),
        summaries.export(plugin, scope, thread_id) if summaries else None,
    )
    text = msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n"
    if path is not None:
        with private_file(path) as file:
            file.write(text)
    return text


def import_thread(
    plugin: ChatMemoryPlugin,
    scope: Scope,
    source: Path | bytes,
    *,
    max_bytes: int = MAX_BYTES,
    summaries: Summaries | None = None,
) -> Appended:
    """Store the messages of a JSON document in the thread that it names, as one batch; then their lines and marks.

    A plugin that hides no messages gets those that are visible. To do it again changes nothing, but for marks that have
    been removed, as long as the thread remembers the key of the batch: for at least its newest 50
    turns. With ``threads="one"`` they are added to the conversation that the scope has.

    :param source: the path of a file, or the document itself.
    :param summaries: where the summary goes, if the thread begins with these messages; None leaves it out.
    :return: where the messages are.
    :raises ImportRefused: if it is no such document; nothing is stored then.
    :raises OSError: if the file cannot be read.
    """
    text = source if isinstance(source, bytes) else _read(source, max_bytes)
    if len(text) > max_bytes:
        raise ImportRefused(f"it is larger than {max_bytes} bytes")
    thread_id, messages, hidden, lines, marks, summary = _thread_of(text)
    if isinstance(plugin, HidesMessages):
        messages = _merged(messages, hidden, lines)
    # A digest, for the longest thread id would be too long for a key.
    key = "import:" + hashlib.blake2b(thread_id.encode(), digest_size=16).hexdigest()
    appended = t.cast(Appended, plugin.append_messages(scope, thread_id, messages, key=key))
    restore(plugin, scope, appended, messages, lines, marks)
    if summaries is not None and summary is not None:
        summaries.restore(scope, appended, summary, messages)
    return appended


def _merged(
    messages: cabc.Sequence[ChatMessage], hidden: cabc.Sequence[ChatMessage], lines: Lines
) -> list[ChatMessage]:
    """Return the messages of all lines in their order."""
    seen, unseen = iter(messages), iter(hidden)
    return [next(seen if lines.sees(place) else unseen) for place in range(1, len(messages) + len(hidden) + 1)]


def _thread_of(
    text: bytes,
) -> tuple[str, list[ChatMessage], list[ChatMessage], Lines, dict[str, Mark], Document | None]:
    try:
        document = json.loads(text.decode(), object_pairs_hook=_object, parse_constant=_refuse_constant)
    except ImportRefused:
        raise
    except (ValueError, RecursionError) as error:
        raise ImportRefused("it is no JSON in UTF-8") from error
    if not isinstance(document, dict):
        raise ImportRefused("it is no JSON object")
    try:
        check_format(document, "it")
    except NewerFormat as error:
        raise ImportRefused(str(error)) from error
    thread_id = document.get("thread_id")
    messages, hidden = (t.cast("list[object]", document.get(name, [])) for name in ("messages", "hidden"))
    if not is_thread_id(thread_id):
        raise ImportRefused("thread_id is no id of a thread")
    if "messages" not in document or not isinstance(messages, list):
        raise ImportRefused("messages is no list")
    if not isinstance(hidden, list):
        raise ImportRefused("hidden is no list")
    for name in ("created_at", "updated_at"):
        if not isinstance(document.get(name), str | None):
            raise ImportRefused(f"{name} is no text")
    if not isinstance(_mapping(document.get("metadata", {})), dict):
        raise ImportRefused("metadata is no object")
    return (
        t.cast(str, thread_id),
        [_message(given, f"messages[{place}]") for place, given in enumerate(messages)],
        [_message(given, f"hidden[{place}]") for place, given in enumerate(hidden)],
        checked_lines(document.get("lines"), len(messages), len(hidden)),
        checked_marks(_mapping(document.get("marks", {}))),
        _summary(document.get("summary")),
    )


def _summary(given: object) -> Document | None:
    if given is None:
        return None
    try:
        Summary.from_document(plain_document(given))
    except (CorruptRecord, InvalidDocument) as error:
        raise ImportRefused("summary is none") from error
    return t.cast(Document, given)


def _message(given: object, where: str) -> ChatMessage:
    if not isinstance(given, dict):
        raise ImportRefused(f"{where} is no object")
    given.update({name: _mapping(given[name]) for name in ("metadata", "usage") if name in given})
    try:
        return ChatMessage.from_dict(given)
    except InvalidMessage as error:
        key = error.path.partition(".")[0].partition("[")[0]
        raise ImportRefused(f"{where}{f'.{key}' if key in KEYS else ''} cannot be stored") from error


def _mapping(value: object) -> object:
    """Read an empty list as an empty object: PHP writes both alike."""
    return {} if value == [] else value


def _object(pairs: list[tuple[str, t.Any]]) -> dict[str, t.Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ImportRefused("an object in it has a key twice")
    return found


def _refuse_constant(name: str) -> t.NoReturn:
    raise ImportRefused(f"{name} in it is no JSON")


def _read(path: Path, max_bytes: int) -> bytes:
    with open(path, "rb") as file:
        return file.read(max_bytes + 1)
