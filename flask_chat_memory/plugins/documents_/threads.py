"""The documents of threads in a storage, and beside them those of each scope.

``conversations/@<owner>/<chatbot>/<thread id>`` is a thread, ``conversations/@<owner>/<chatbot>.current`` names the
ongoing one. The ledger, which outlives them, is ``conversations/usage/@<owner>/<chatbot>``.
"""

from __future__ import annotations

import functools
import typing as t

import msgspec

from ...errors import MissingOwner
from ...storage.base import Storage
from ...storage.domains import WholeKeys
from ...storage.keys import FOLDERS
from ...storage.keys import OWNER
from ...storage.keys import segment
from ...storage.keys import text_of
from ...storage.rules import corrupt
from ...storage.rules import Document
from ..base import Clock
from ..options import PluginOptions
from ..records import Scope
from ..whole.ledger import AnswersLedger
from ..whole.thread import StoredThread
from ..whole.threads import Found
from ..whole.threads import Read
from ..whole.threads import Threads
from .document import from_document
from .document import to_document

FOLDER = FOLDERS["conversation"]
LEDGERS = f"{FOLDER}/usage"
Record = t.TypeVar("Record", bound=msgspec.Struct)


class _Ongoing(msgspec.Struct):
    owner: str
    chatbot: str
    thread_id: str


class DocumentThreads(Threads):
    """Reads and writes each thread as a whole document."""

    def __init__(self, options: PluginOptions, clock: Clock, storage: Storage) -> None:
        super().__init__(options, clock)
        self._documents = WholeKeys(storage, FOLDER)

    def load(self, scope: Scope, thread_id: str) -> StoredThread | None:
        key = _thread_key(scope, thread_id)
        document = self._documents.load(key)
        return None if document is None else from_document(document, key, self.clock())

    def keep(self, scope: Scope, thread_id: str, thread: StoredThread) -> None:
        self._documents.save(_thread_key(scope, thread_id), to_document(scope, thread_id, thread))

    def drop(self, scope: Scope, thread_id: str) -> None:
        self._documents.delete(_thread_key(scope, thread_id))

    def readers(self, scope: Scope | None = None) -> list[Read]:
        keys = self._documents.list(f"{FOLDER}/{OWNER}*" if scope is None else f"{_scope_key(scope)}/*")
        return [functools.partial(self._read, key) for key in keys if len(key.split("/")) == 4]

    def _read(self, key: str) -> Found | None:
        document = self._documents.load(key)
        if document is None:
            return None
        thread = from_document(document, key, self.clock())
        _, owner, chatbot, thread_id = key.split("/")
        try:
            scope = _told_scope(owner, chatbot, document)
            return Found(scope, _told(thread_id, document.get("thread_id")), thread)
        except (MissingOwner, ValueError) as error:
            raise corrupt(key) from error

    def load_named(self, scope: Scope) -> str | None:
        ongoing = self._load_record(_named_key(scope), _Ongoing)
        return None if ongoing is None else ongoing.thread_id

    def keep_named(self, scope: Scope, thread_id: str | None) -> None:
        if thread_id is None:
            self._documents.delete(_named_key(scope))
        else:
            ongoing = _Ongoing(scope.owner, scope.chatbot, thread_id)
            self._documents.save(_named_key(scope), msgspec.to_builtins(ongoing))

    def stays_ongoing(self, scope: Scope, thread_id: str) -> bool:
        if self._options.threads == "many":
            # Nobody asks which one it is, so no other thread is read for it.
            return self._documents.exists(_thread_key(scope, thread_id))
        return super().stays_ongoing(scope, thread_id)

    def load_ledger(self, scope: Scope) -> AnswersLedger:
        return self._load_record(_ledger_key(scope), AnswersLedger) or AnswersLedger(scope.owner, scope.chatbot)

    def keep_ledger(self, scope: Scope, ledger: AnswersLedger) -> None:
        self._documents.save(_ledger_key(scope), msgspec.to_builtins(ledger))

    def drop_ledger(self, scope: Scope) -> None:
        self._documents.delete(_ledger_key(scope))

    def ledger_scopes(self) -> list[Scope]:
        scopes = []
        for key in self._documents.list(f"{LEDGERS}/{OWNER}*"):
            _, _, owner, chatbot = key.split("/")
            try:
                scopes.append(_told_scope(owner, chatbot, self._documents.load(key) or {}))
            except (MissingOwner, ValueError) as error:
                raise corrupt(key) from error
        return scopes

    def _load_record(self, key: str, kind: type[Record]) -> Record | None:
        document = self._documents.load(key)
        try:
            return None if document is None else msgspec.convert(document, kind)
        except msgspec.ValidationError as error:
            raise corrupt(key) from error


def _scope_key(scope: Scope) -> str:
    return f"{FOLDER}/{OWNER}{segment(scope.owner)}/{segment(scope.chatbot)}"


def _thread_key(scope: Scope, thread_id: str) -> str:
    return f"{_scope_key(scope)}/{segment(thread_id)}"


def _named_key(scope: Scope) -> str:
    return f"{_scope_key(scope)}.current"


def _ledger_key(scope: Scope) -> str:
    return f"{LEDGERS}/{OWNER}{segment(scope.owner)}/{segment(scope.chatbot)}"


def _told_scope(owner: str, chatbot: str, document: Document) -> Scope:
    """Return the scope that two segments of a key stand for."""
    told = _told(owner.removeprefix(OWNER), document.get("owner"))
    return Scope(told, _told(chatbot, document.get("chatbot")))


def _told(part: str, told: object) -> str:
    """Return the text that a segment of a key stands for.

    :param told: by the document; of a segment that was shortened, nothing else tells it.
    :raises ValueError: if it does not.
    """
    text = text_of(part)
    if text is None:
        if not isinstance(told, str) or segment(told) != part:
            raise ValueError("the document does not tell where it is")
        return told
    return text
