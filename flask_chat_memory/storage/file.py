"""Documents as files that people can read, in a folder of a local disk."""

from __future__ import annotations

import builtins
import codecs
import collections.abc as cabc
import contextlib
import hashlib
import os
import time
import typing as t

import msgspec

from ..disk.files import DiskErrors
from ..disk.files import make_folder
from ..disk.files import read_file
from ..disk.files import remove_file
from ..disk.files import replace_file
from ..disk.files import sync_folder
from ..disk.files import TEMPORARY
from ..disk.locks import Locks
from ..errors import ConfigurationError
from ..plugins.base import Clock
from ..plugins.file import FilePlugin
from ..plugins.options import CheckedOptions
from ..plugins.reports import report_of_folder
from ..plugins.reports import StoreReport
from .base import BuiltInStorage
from .beside import location_options
from .file_.names import JSON
from .file_.names import MARKDOWN
from .file_.names import Names
from .rules import check_key
from .rules import corrupt
from .rules import decode
from .rules import Document
from .rules import encode
from .rules import literal_start
from .rules import matching
from .rules import plain_document
from .rules import TEXT

ATTEMPTS = 100
"""To write into a folder that others make and remove."""


class FileStorage(BuiltInStorage):
    """Keeps each document in a file of its own: Markdown if it has a text, JSON otherwise. Reading takes no lock."""

    id = "file"
    Options = location_options(FilePlugin)

    def __init__(
        self, options: CheckedOptions | cabc.Mapping[str, t.Any] | None = None, *, clock: Clock = time.time
    ) -> None:
        super().__init__(options, clock=clock)
        if self.options.folder is None:
            raise ConfigurationError("file: outside an app, give folder")
        self._names = Names(os.path.abspath(self.options.folder))
        self._locks = Locks(self._names.locks)
        self._errors = DiskErrors("the folder of the documents")

    def save(self, key: str, document: cabc.Mapping[str, t.Any]) -> None:
        self._save(key, document, replaces=True)

    def create(self, key: str, document: cabc.Mapping[str, t.Any]) -> bool:
        return self._save(key, document, replaces=False)

    def exchange(self, key: str, document: cabc.Mapping[str, t.Any], other: cabc.Mapping[str, t.Any]) -> bool:
        path, document = self._names.path(check_key(key)), plain_document(document)
        suffix, data = _as_file(other)
        with self._writing(key):
            if self.load(key) != document:
                return False
            time = max(filter(None, (_stored_at(path + suffix) for suffix in (MARKDOWN, JSON))))
            self._put(path, suffix, data, time)
            return True

    def load(self, key: str) -> Document | None:
        path = self._names.path(check_key(key))
        with self._errors:
            # Once more, for a document may become Markdown in between.
            for suffix in (MARKDOWN, JSON, MARKDOWN):
                data = read_file(path + suffix)
                if data is not None:
                    # Some editors write the mark of the byte order.
                    data = data.removeprefix(codecs.BOM_UTF8)
                    return decode(data, key) if suffix == JSON else _of_markdown(data, key)
        return None

    def delete(self, key: str) -> bool:
        path = self._names.path(check_key(key))
        with self._writing(key):
            return self._remove(path)

    def list(self, pattern: str = "*") -> builtins.list[str]:
        with self._errors:
            # Both kinds of file may be there after a crash.
            return matching(set(self._names.keys(literal_start(pattern))), pattern)

    def exists(self, key: str) -> bool:
        path = self._names.path(check_key(key))
        with self._errors:
            return any(_stored_at(path + suffix) is not None for suffix in (MARKDOWN, JSON, MARKDOWN))

    def clean_up(self, before: float, pattern: str = "*") -> int:
        count = 0
        for key in self.list(pattern):
            path = self._names.path(key)
            with self._writing(key):
                time = _newest_at(path)
                count += time is not None and time < before and self._remove(path)
        return count

    def stored_times(self, pattern: str = "*") -> dict[str, float | None]:
        keys = self.list(pattern)
        with self._errors:
            times = {key: _newest_at(self._names.path(key)) for key in keys}
        return {key: time for key, time in times.items() if time is not None}

    def _save(self, key: str, document: cabc.Mapping[str, t.Any], replaces: bool) -> bool:
        path = self._names.path(check_key(key))
        suffix, data = _as_file(document)
        with self._writing(key):
            if not replaces and _is_there(path):
                return False
            self._put(path, suffix, data, self.clock())
            return True

    def examine_store(self) -> StoreReport:
        return report_of_folder(self._names.folder)

    def _put(self, path: str, suffix: str, data: bytes, time: float) -> None:
        """Let a document be this, in place of what there is of either kind."""
        self._replace(path + suffix, data, time)
        remove_file(path + (MARKDOWN if suffix == JSON else JSON))
        sync_folder(os.path.dirname(path))

    def after_fork(self) -> None:
        super().after_fork()
        self._locks.after_fork()

    @contextlib.contextmanager
    def _writing(self, key: str) -> cabc.Iterator[None]:
        name = hashlib.blake2b(key.encode(), digest_size=8).hexdigest()
        with self._errors, self._locks.hold(self.lock, name):
            yield

    def _replace(self, path: str, data: bytes, time: float) -> None:
        for attempt in range(ATTEMPTS):
            try:
                if attempt:
                    make_folder(os.path.dirname(path))
                replace_file(path, data)
                break
            except FileNotFoundError:
                # The folder is new, or went with the last document in it.
                if attempt == ATTEMPTS - 1:
                    raise
        os.utime(path, (time, time))

    def _remove(self, path: str) -> bool:
        if not _is_there(path):
            return False
        for suffix in (JSON, MARKDOWN):
            remove_file(path + suffix)
            # What a killed process was about to write.
            remove_file(path + suffix + TEMPORARY)
        folder = os.path.dirname(path)
        with contextlib.suppress(FileNotFoundError):
            sync_folder(folder)
        # An empty folder would go on telling whose it was.
        with contextlib.suppress(OSError):
            while folder != self._names.folder:
                os.rmdir(folder)
                folder = os.path.dirname(folder)
        return True


def _is_there(path: str) -> bool:
    return any(_stored_at(path + suffix) is not None for suffix in (MARKDOWN, JSON))


def _newest_at(path: str) -> float | None:
    """Return when a document was stored, without the suffix of its path; both kinds of file may be there."""
    return max((time for suffix in (MARKDOWN, JSON) if (time := _stored_at(path + suffix)) is not None), default=None)


def _stored_at(path: str) -> float | None:
    try:
        return os.stat(path).st_mtime
    except FileNotFoundError:
        return None


def _as_file(document: cabc.Mapping[str, t.Any]) -> tuple[str, bytes]:
    """Return the end of the name, and the content, of the file of a document."""
    document = plain_document(document)
    if isinstance(document.get(TEXT), str):
        return MARKDOWN, _as_markdown(document)
    return JSON, msgspec.json.format(encode(document), indent=2) + b"\n"


def _as_markdown(document: Document) -> bytes:
    # Imported on first use: PyYAML is an extra.
    from .file_.markdown import to_markdown

    return to_markdown(document).encode()


def _of_markdown(data: bytes, key: str) -> Document:
    from .file_.markdown import from_markdown

    try:
        return plain_document(from_markdown(data.decode()))
    except ValueError as error:
        raise corrupt(key) from error
