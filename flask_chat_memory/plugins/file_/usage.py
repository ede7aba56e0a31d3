"""What the answers of a scope have cost: a file of its own, which no thread takes with it.

It is written before the answer is, and remembers which answers it has counted: one that a crash has kept from the disk
is not counted again when it comes.
"""

from __future__ import annotations

import abc
import collections.abc as cabc
import datetime as dt
import hashlib
import logging
import os

import msgspec

from ...disk import files as disk
from ...disk.files import DiskErrors
from ...errors import CorruptRecord
from ...message import ChatMessage
from ..abilities import CountsUsage
from ..counting import COUNTED
from ..counting import Counts
from ..counting import counts_of
from ..counting import day_of
from ..counting import plus
from ..counting import select_days
from ..counting import usage_day
from ..records import Scope
from ..records import UsageDay
from .names import Names

logger = logging.getLogger(__name__)

ANSWERS_KEPT = 50


class Ledger(msgspec.Struct, frozen=True):
    """The file.

    :param days: day -> model -> what is counted -> number.
    :param answers: digests of the newest answers that are counted.
    """

    owner: str
    chatbot: str
    days: dict[str, dict[str, dict[str, int]]] = {}
    answers: list[str] = []

    def counts(self, day: str, model: str) -> Counts:
        numbers = self.days.get(day, {}).get(model, {})
        return tuple(numbers.get(name, 0) for name in COUNTED)


def read(names: Names, scope: Scope) -> Ledger:
    """Return the ledger of a scope.

    :raises CorruptRecord: if it cannot be read.
    """
    path = names.usage(scope)
    data = disk.read_file(path)
    if data is None:
        return Ledger(scope.owner, scope.chatbot)
    try:
        return msgspec.json.decode(data, type=Ledger)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise CorruptRecord(f"usage/{os.path.basename(path)} cannot be read") from error


def add(
    names: Names, scope: Scope, answer: cabc.Sequence[ChatMessage], thread_id: str, key: str | None, now: float
) -> None:
    """Count an answer; who calls this holds the lock of the scope.

    A ledger that cannot be read is left as it is, for the answer is worth more than its count.
    """
    if not answer:
        return
    try:
        ledger = read(names, scope)
    except CorruptRecord as error:
        logger.error("an answer is not counted: %s", error)
        return
    name = hashlib.blake2b(f"{thread_id}\0{key}".encode(), digest_size=16).hexdigest()
    if key is not None and name in ledger.answers:
        return
    day = day_of(now)
    models = dict(ledger.days.get(day, {}))
    for model, more in counts_of(answer).items():
        models[model] = dict(zip(COUNTED, plus(ledger.counts(day, model), more), strict=True))
    answers = [*ledger.answers, name][-ANSWERS_KEPT:]
    path = names.usage(scope)
    disk.make_folder(os.path.dirname(path))
    text = msgspec.json.encode(Ledger(scope.owner, scope.chatbot, {**ledger.days, day: models}, answers))
    disk.replace_file(path, msgspec.json.format(text, indent=2) + b"\n")
    disk.sync_folder(os.path.dirname(path))


class FileUsage(CountsUsage, abc.ABC):
    """The ability, for the plugin whose folder this is."""

    _names: Names
    _errors: DiskErrors

    def list_usage(self, scope: Scope, *, since: dt.date | None = None, until: dt.date | None = None) -> list[UsageDay]:
        with self._errors:
            ledger = read(self._names, scope)
        days = [
            usage_day(scope.chatbot, day, model, ledger.counts(day, model))
            for day, models in ledger.days.items()
            for model in models
        ]
        return select_days(days, since, until)
