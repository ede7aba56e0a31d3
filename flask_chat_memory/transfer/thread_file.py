"""A thread as one JSON document: ``thread_id``, ``created_at``, ``updated_at``, ``messages``, ``metadata``."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
import typing as t

import msgspec

from ..errors import ImportRefused
from ..errors import InvalidMessage
from ..errors import UnknownThread
from ..fields import KEYS
from ..message import ChatMessage
from ..plugins.base import ChatMemoryPlugin
from ..plugins.counting import total_tokens
from ..plugins.records import Appended
from ..plugins.records import Scope
from ..plugins.rules import is_thread_id

MAX_BYTES = 32 * 1024 * 1024

Path = str | os.PathLike[str]


class _Totals(msgspec.Struct):
    total_tokens: int
    model: str | None


class _Document(msgspec.Struct):
    thread_id: str
    created_at: str | None
    updated_at: str | None
    messages: list[msgspec.Raw]
    metadata: _Totals


def export_thread(plugin: ChatMemoryPlugin, scope: Scope, thread_id: str, path: Path | None = None) -> bytes:
    """Return a thread as a JSON document.

    The times are those of its first and its last message.

    :param path: of a file to be written besides, whole or not at all, for its owner's eyes only.
    :raises UnknownThread: if the scope has no such thread.
    :raises OSError: if the file cannot be written.
    """
    messages = plugin.load_messages(scope, thread_id)
    if not messages and not plugin.has_thread(scope, thread_id):
        raise UnknownThread("the owner has no thread of this id")
    models = (message.model for message in reversed(messages))
    document = _Document(
        thread_id,
        messages[0].created_at if messages else None,
        messages[-1].created_at if messages else None,
        [msgspec.Raw(message.to_json()) for message in messages],
        _Totals(total_tokens(messages), next((model for model in models if model), None)),
    )
    text = msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n"
    if path is not None:
        _write(path, text)
    return text


def import_thread(
    plugin: ChatMemoryPlugin, scope: Scope, source: Path | bytes, *, max_bytes: int = MAX_BYTES
) -> Appended:
    """Store the messages of a JSON document in the thread that it names, as one batch.

    To do it again changes nothing, as long as the thread remembers the key of the batch: for at least its newest 50
    turns. With ``threads="one"`` they are added to the conversation that the scope has.

    :param source: the path of a file, or the document itself.
    :return: where the messages are.
    :raises ImportRefused: if it is no such document; nothing is stored then.
    :raises OSError: if the file cannot be read.
    """
    text = source if isinstance(source, bytes) else _read(source, max_bytes)
    if len(text) > max_bytes:
        raise ImportRefused(f"it is larger than {max_bytes} bytes")
    thread_id, messages = _thread_of(text)
    # A digest, for the longest thread id would be too long for a key.
    key = "import:" + hashlib.blake2b(thread_id.encode(), digest_size=16).hexdigest()
    return t.cast(Appended, plugin.append_messages(scope, thread_id, messages, key=key))


def _thread_of(text: bytes) -> tuple[str, list[ChatMessage]]:
    try:
        document = json.loads(text.decode(), object_pairs_hook=_object, parse_constant=_refuse_constant)
    except ImportRefused:
        raise
    except (ValueError, RecursionError) as error:
        raise ImportRefused("it is no JSON in UTF-8") from error
    if not isinstance(document, dict):
        raise ImportRefused("it is no JSON object")
    thread_id, messages = document.get("thread_id"), document.get("messages")
    if not is_thread_id(thread_id):
        raise ImportRefused("thread_id is no id of a thread")
    if not isinstance(messages, list):
        raise ImportRefused("messages is no list")
    for name in ("created_at", "updated_at"):
        if not isinstance(document.get(name), str | None):
            raise ImportRefused(f"{name} is no text")
    if not isinstance(_mapping(document.get("metadata", {})), dict):
        raise ImportRefused("metadata is no object")
    return t.cast(str, thread_id), [_message(given, place) for place, given in enumerate(messages)]


def _message(given: object, place: int) -> ChatMessage:
    if not isinstance(given, dict):
        raise ImportRefused(f"messages[{place}] is no object")
    given.update({name: _mapping(given[name]) for name in ("metadata", "usage") if name in given})
    try:
        return ChatMessage.from_dict(given)
    except InvalidMessage as error:
        key = error.path.partition(".")[0].partition("[")[0]
        raise ImportRefused(f"messages[{place}]{f'.{key}' if key in KEYS else ''} cannot be stored") from error


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


def _write(path: Path, text: bytes) -> None:
    folder = os.path.dirname(os.path.abspath(path))
    descriptor, temporary = tempfile.mkstemp(dir=folder, prefix=".thread-")
    try:
        with open(descriptor, "wb") as file:
            file.write(text)
            file.flush()
            os.fsync(descriptor)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
