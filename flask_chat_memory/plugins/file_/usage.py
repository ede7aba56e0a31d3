"""What the answers of a scope have cost: a file of its own, which no thread takes with it.

Its first line holds the sums, each line after that an answer that came since. A line is written before the answer is,
and tells which answer it has counted: one that a crash has kept from the disk is not counted again when it comes.
"""

from __future__ import annotations

import abc
import collections.abc as cabc
import contextlib
import datetime as dt
import hashlib
import logging
import os
import secrets
import threading

import msgspec

from ...disk import files as disk
from ...disk.files import DiskErrors
from ...disk.locks import Locks
from ...errors import CorruptRecord
from ...events import log_event
from ...message import ChatMessage
from ..abilities import CountsUsage
from ..base import Clock
from ..counting import day_of
from ..counting import numbers_of
from ..ledger import digest_of
from ..ledger import Ledger
from ..ledger import Models
from ..ledger import spent
from ..records import FORGOTTEN
from ..records import Scope
from ..records import UsageDay
from .blocks import Blocks
from .formats import check_format
from .formats import FORMAT
from .formats import UNREADABLE
from .formats import unreadable
from .names import Names
from .names import scope_name

logger = logging.getLogger(__name__)

ANSWERS_KEPT = 50
_LATER = b'{"format":'
LINES_KEPT = 4 * ANSWERS_KEPT
"""Lines of answers that are worth no rewriting."""


class Spent(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What an answer has cost.

    :param answer: a digest of its thread and its key, if it has one.
    """

    answer: str = ""
    day: str
    models: Models


class FileLedger(Ledger, frozen=True):
    """What all answers have cost, as the first line of the file.

    :param format: of the file; a later one stands first, so that it can be found without decoding.
    """

    format: int | msgspec.UnsetType = msgspec.UNSET


def read(names: Names, scope: Scope) -> Ledger:
    """Return the ledger of a scope.

    :raises CorruptRecord: if it cannot be read.
    """
    return _read(names.usage(scope)) or Ledger(scope.owner, scope.chatbot)


def _read(path: str) -> Ledger | None:
    data = disk.read_file(path)
    return None if data is None else _sums(data[: data.rfind(b"\n") + 1], path)


def read_all(names: Names) -> cabc.Iterator[Ledger]:
    """Yield the ledgers of all scopes; what cannot be read is logged and passed over."""
    for path in names.all_usage():
        try:
            ledger = _read(path)
        except CorruptRecord as error:
            log_event(logger, logging.ERROR, "a ledger is passed over", error)
            continue
        if ledger is not None:
            yield ledger


def put(names: Names, scope: Scope, days: cabc.Iterable[UsageDay]) -> None:
    """Let the sums of these days and models be these; who calls this holds the lock of the scope.

    :raises CorruptRecord: if the ledger cannot be read.
    """
    ledger = read(names, scope)
    for day in days:
        ledger.put(day.day.isoformat(), day.model or "", numbers_of(day))
    path = names.usage(scope)
    disk.make_folder(os.path.dirname(path))
    _replace(path, _encode(ledger) + b"\n")


def add(
    names: Names, scope: Scope, answer: cabc.Sequence[ChatMessage], thread_id: str, key: str | None, now: float
) -> None:
    """Count an answer; who calls this holds the lock of the scope.

    A ledger that cannot be read is left as it is, for the answer is worth more than its count.
    """
    if not answer:
        return
    digest = digest_of(thread_id, key)
    line = _encode(Spent(answer=digest, day=day_of(now), models=spent(answer))) + b"\n"
    path = names.usage(scope)
    try:
        _add(path, line, digest)
    except FileNotFoundError:
        disk.make_folder(os.path.dirname(path))
        _replace(path, _encode(Ledger(scope.owner, scope.chatbot)) + b"\n" + line)
    except CorruptRecord as error:
        log_event(logger, logging.ERROR, "an answer is not counted", error)


def _add(path: str, line: bytes, digest: str) -> None:
    """Write a line, in the place of a torn one, unless the answer is counted already."""
    with contextlib.closing(Blocks(path, writing=True)) as blocks:
        end = blocks.newline_before(blocks.size)
        data = blocks.read(0, end)
        if not data:
            raise CorruptRecord(f"{_shown(path)} cannot be read")
        if data.startswith(_LATER):
            _sums(data, path)
        if digest and f'"answer":"{digest}"'.encode() in data:
            return
        if data.count(b"\n") <= LINES_KEPT:
            blocks.write(line, end)
            return
    lines = data.splitlines(keepends=True)
    sums = _sums(b"".join(lines[:-ANSWERS_KEPT]), path)
    _replace(path, b"".join([_encode(sums), b"\n", *lines[-ANSWERS_KEPT:], line]))


def forget(names: Names, scope: Scope, nobody: Scope, now: float) -> int:
    """Add a ledger to that of nobody and remove it; who calls this holds the locks of both scopes.

    It is put aside first: what a crash has left there was added if the other ledger tells its digest.

    :return: how many lines it had.
    """
    source, target = names.usage(scope), names.usage(nobody)
    aside = f"{source}.forgotten"
    lines: set[tuple[str, str]] = set()
    # Twice: the first time may only end what was interrupted.
    for _ in range(2):
        if not os.path.exists(aside):
            read(names, scope)
            try:
                # By which it differs from whatever was put aside before.
                _add(source, _note(secrets.token_hex(16), now), "")
                os.rename(source, aside)
            except FileNotFoundError:
                break
        data = disk.read_file(aside) or b""
        ledger = _sums(data[: data.rfind(b"\n") + 1], aside)
        lines |= {(day, model) for day, models in ledger.days.items() for model in models}
        told = disk.read_file(target) or _encode(Ledger(nobody.owner, nobody.chatbot)) + b"\n"
        digest = hashlib.blake2b(data, digest_size=16).hexdigest()
        if f'"answer":"{digest}"'.encode() not in told:
            sums = _sums(told, target)
            for day, models in ledger.days.items():
                sums.add(day, models)
            notes = told.splitlines(keepends=True)[1:][-ANSWERS_KEPT:]
            _replace(target, b"".join([_encode(sums), b"\n", *notes, _note(digest, now)]))
        os.unlink(aside)
        disk.sync_folder(os.path.dirname(aside))
    return len(lines)


def _note(answer: str, now: float) -> bytes:
    """Return a line that counts nothing."""
    return _encode(Spent(answer=answer, day=day_of(now), models={})) + b"\n"


def _sums(data: bytes, path: str) -> FileLedger:
    """Add up the lines of a ledger."""
    sums, _, lines = data.partition(b"\n")
    try:
        ledger = _decode(sums)
        check_format(ledger.format or FORMAT, _shown(path))
        for answer in _decode_spent(lines):
            ledger.add(answer.day, answer.models)
    except UNREADABLE as error:
        raise unreadable(sums, _shown(path)) from error
    return ledger


def _replace(path: str, data: bytes) -> None:
    disk.replace_file(path, data)
    disk.sync_folder(os.path.dirname(path))


def _shown(path: str) -> str:
    return f"usage/{os.path.basename(path)}"


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(FileLedger).decode
_decode_spent = msgspec.json.Decoder(Spent).decode_lines


class FileUsage(CountsUsage, abc.ABC):
    """The ability, for the plugin whose folder this is."""

    _names: Names
    _locks: Locks
    _errors: DiskErrors
    lock: threading.RLock
    clock: Clock

    def list_usage(self, scope: Scope, *, since: dt.date | None = None, until: dt.date | None = None) -> list[UsageDay]:
        with self._errors:
            return read(self._names, scope).select(since, until)

    def forget_usage(self, scope: Scope) -> int:
        nobody = Scope(FORGOTTEN, scope.chatbot)
        with self._errors, self._locks.hold(self.lock, scope_name(scope), scope_name(nobody)):
            return forget(self._names, scope, nobody, self.clock())
