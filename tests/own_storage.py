"""A storage as a site would write it first: the five required methods and a dict."""

from __future__ import annotations

import builtins
import collections.abc as cabc
import typing as t

from flask_chat_memory.storage.base import Storage
from flask_chat_memory.storage.rules import check_key
from flask_chat_memory.storage.rules import decode
from flask_chat_memory.storage.rules import Document
from flask_chat_memory.storage.rules import encode
from flask_chat_memory.storage.rules import matching


class OwnStorage(Storage):
    """Keeps JSON in a dict."""

    def __init__(self, records: dict[str, bytes] | None = None) -> None:
        self.records = {} if records is None else records

    def save(self, key: str, document: cabc.Mapping[str, t.Any]) -> None:
        self.records[check_key(key)] = encode(document)

    def load(self, key: str) -> Document | None:
        data = self.records.get(check_key(key))
        return None if data is None else decode(data, key)

    def delete(self, key: str) -> bool:
        return self.records.pop(check_key(key), None) is not None

    def list(self, pattern: str = "*") -> builtins.list[str]:
        return matching(builtins.list(self.records), pattern)

    def exists(self, key: str) -> bool:
        return check_key(key) in self.records
