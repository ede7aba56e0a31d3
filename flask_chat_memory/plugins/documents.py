"""Threads as documents in any storage, the site's own among them."""

from __future__ import annotations

import collections.abc as cabc
import logging
import os
import threading
import time
import typing as t

from ..errors import ConfigurationError
from ..errors import CorruptRecord
from ..errors import InvalidMessage
from ..errors import MissingOwner
from ..message import ChatMessage
from ..message import timestamp
from ..storage.base import Storage
from ..storage.choice import choose_storage
from ..storage.domains import FOLDERS
from ..storage.domains import OpaqueNames
from ..storage.domains import OWNER
from ..storage.domains import segment
from ..storage.rules import Document
from ..storage.rules import stored_time
from .abilities import PurgesThreads
from .base import ChatMemoryPlugin
from .base import Clock
from .counting import total_tokens
from .options import Option
from .options import PluginOptions
from .records import Scope
from .records import Thread
from .registry import chat_memory_plugin
from .reports import StoreReport
from .rules import check_append
from .rules import is_thread_id
from .rules import new_id
from .rules import number
from .rules import select
from .rules import sequence_of

logger = logging.getLogger(__name__)

_locks: dict[int, threading.RLock] = {}


@chat_memory_plugin(
    "documents",
    label="Documents",
    description="Each conversation as one document in a storage, which may be the site's own. For one process.",
)
class DocumentsPlugin(ChatMemoryPlugin, PurgesThreads):
    """Keeps each thread as a document, which is read and written as a whole."""

    class Options(PluginOptions, frozen=True, kw_only=True):
        """Where the documents are."""

        storage: t.Annotated[
            t.Any,
            Option(
                label="Storage",
                help="As CHAT_MEMORY_STORAGE. Without it, the storage of the domain 'conversation'.",
                secret=True,
                app_bound="storage",
            ),
        ] = None

        def __post_init__(self) -> None:
            if self.storage is not None:
                choose_storage(self.storage, "storage")

    options: Options

    def __init__(
        self, options: PluginOptions | cabc.Mapping[str, t.Any] | None = None, *, clock: Clock = time.time
    ) -> None:
        super().__init__(options, clock=clock)
        self.lock = _lock_of_process()
        if self.options.storage is None:
            raise ConfigurationError("documents: outside an app, give storage")
        self._storage = choose_storage(self.options.storage, "storage").make()

    def examine_store(self) -> StoreReport | None:
        return self._storage.examine_store()

    def create_thread_id(self) -> str:
        return new_id()

    def has_thread(self, scope: Scope, thread_id: str) -> bool:
        return self._load(scope, thread_id) is not None

    def load_messages(
        self,
        scope: Scope,
        thread_id: str,
        *,
        limit: int | None = None,
        before: int | None = None,
        after: int | None = None,
    ) -> list[ChatMessage]:
        document = self._load(scope, thread_id)
        return select(_messages_of(document or {"messages": []}), limit, before, after)

    def save_messages(self, scope: Scope, thread_id: str, messages: cabc.Sequence[ChatMessage]) -> None:
        check_append(thread_id, None)
        with self.lock:
            now = timestamp(self.clock())
            stored = self._load(scope, thread_id)
            last = max((sequence_of(message) for message in _messages_of(stored)), default=0) if stored else 0
            document = {
                "thread_id": thread_id,
                "owner": scope.owner,
                "chatbot": scope.chatbot,
                "created_at": stored.get("created_at", now) if stored else now,
                "updated_at": now,
                **_body(number(messages, last)),
            }
            self._documents(scope).save(thread_id, document)

    def delete_thread(self, scope: Scope, thread_id: str) -> bool:
        if not is_thread_id(thread_id):
            return False
        with self.lock:
            try:
                alive = self._load(scope, thread_id) is not None
            except CorruptRecord:
                alive = True
            self._documents(scope).delete(thread_id)
            return alive

    def all_threads(self, *, chatbot: str | None = None) -> cabc.Iterator[tuple[Scope, Thread]]:
        for key in self._storage.list(f"{FOLDERS['conversation']}/{OWNER}*"):
            try:
                document = self._storage.load(key)
                found = None if document is None else _thread_of(document)
            except CorruptRecord:
                logger.exception("a stored thread cannot be read; it is passed over")
                continue
            if found is not None and chatbot in (None, found[0].chatbot):
                yield found

    def purge_thread(self, scope: Scope, thread_id: str, before: float) -> int | None:
        if not is_thread_id(thread_id):
            return None
        documents = self._documents(scope)
        with self.lock:
            document = documents.load(thread_id)
            thread = None if document is None else _thread_of(document)[1]
            if thread is None or thread.last_activity >= before:
                return None
            documents.delete(thread_id)
            return thread.messages

    def close(self) -> None:
        if not isinstance(self.options.storage, Storage):
            self._storage.close()

    def after_fork(self) -> None:
        self.lock = _lock_of_process()

    def _documents(self, scope: Scope) -> OpaqueNames:
        folders = (FOLDERS["conversation"], OWNER + segment(scope.owner), segment(scope.chatbot))
        return OpaqueNames(self._storage, "/".join(folders))

    def _load(self, scope: Scope, thread_id: str) -> Document | None:
        if not is_thread_id(thread_id):
            return None
        document = self._documents(scope).load(thread_id)
        if document is None:
            return None
        last_activity = stored_time(document)
        return None if last_activity is not None and self.is_expired(last_activity) else document


def _body(messages: list[ChatMessage]) -> Document:
    """Return what a document says of messages.

    The messages are as the site sees them, so what only we know stands beside them.
    """
    return {
        "messages": [message.to_dict() for message in messages],
        "metadata": {
            "total_tokens": total_tokens(messages),
            "model": next((message.model for message in reversed(messages) if message.model), None),
        },
        "sequences": [message.sequence for message in messages],
        "append_keys": {message.append_key: message.sequence for message in messages if message.append_key},
    }


def _thread_of(document: Document) -> tuple[Scope, Thread]:
    """Return whose thread a document holds, and what is known of it."""
    try:
        thread = Thread(
            id=document["thread_id"],
            created_at=stored_time({"timestamp": document.get("created_at")}) or 0.0,
            last_activity=stored_time(document) or 0.0,
            messages=len(document["messages"]),
            tokens=document.get("metadata", {}).get("total_tokens", 0),
        )
        return Scope(document["owner"], document["chatbot"]), thread
    except (MissingOwner, AttributeError, KeyError, TypeError, ValueError) as error:
        raise CorruptRecord("a stored thread cannot be read") from error


def _messages_of(document: Document) -> list[ChatMessage]:
    """Return the messages of a document; one that people wrote may lack their numbers."""
    try:
        messages = [ChatMessage.from_dict(message) for message in _listed(document["messages"], dict)]
        sequences = _listed(document.get("sequences", [*range(1, len(messages) + 1)]), int)
        keys = {sequence: key for key, sequence in document.get("append_keys", {}).items()}
        numbered = zip(messages, sequences, strict=True)
        return number(message.numbered(sequence, keys.get(sequence)) for message, sequence in numbered)
    except (InvalidMessage, AttributeError, KeyError, TypeError, ValueError) as error:
        raise CorruptRecord("a stored thread cannot be read") from error


def _listed(value: t.Any, kind: type) -> list[t.Any]:
    if type(value) is not list or not all(type(item) is kind for item in value):
        raise TypeError(f"this is no list of {kind.__name__}")
    return value


def _lock_of_process() -> threading.RLock:
    """Return the lock of all instances: two of them may have the same storage."""
    return _locks.setdefault(os.getpid(), threading.RLock())
