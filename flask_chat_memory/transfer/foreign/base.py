"""What the histories of other libraries have in common on their way here."""

from __future__ import annotations

import abc
import collections
import collections.abc as cabc
import datetime as dt
import hashlib
import typing as t

import msgspec

from ...errors import InvalidMessage
from ...message import ChatMessage
from ...message import timestamp

MAX_ID = 128


class ForeignThread(msgspec.Struct, frozen=True):
    """A conversation of another library.

    :param id: its id there.
    :param created_at: UNIX time in seconds; None where the source does not say it, as ``last_activity``.
    """

    id: str
    messages: list[ChatMessage]
    created_at: float | None = None
    last_activity: float | None = None


class Source(abc.ABC):
    """The history of another library.

    :ivar name: of the format; the ids that are made here depend on it and on those of the source alone.
    :ivar left_out: how many of what kind had no place in a thread.
    """

    name: t.ClassVar[str]

    def __init__(self) -> None:
        self.left_out: collections.Counter[str] = collections.Counter()

    @abc.abstractmethod
    def threads(self) -> cabc.Iterator[ForeignThread]:
        """Yield the conversations, one at a time.

        :raises ImportRefused: for what is no such source.
        """

    def thread_id(self, thread: ForeignThread) -> str:
        """Return the id of a conversation here: the same each time."""
        return _digest(self.name, thread.id)


class Draft:
    """The messages of a conversation that is being read, each with an id and its turn, the same each time."""

    def __init__(self, source: Source, id: str) -> None:
        self._source = source
        self._id = id
        self._turn: str | None = None
        self._known: set[str] = set()
        self._times: list[float] = []
        self.messages: list[ChatMessage] = []

    def add(
        self,
        raw: object,
        role: str,
        content: t.Any,
        *,
        source_id: object = None,
        at: float | None = None,
        **fields: t.Any,
    ) -> None:
        """Add a message; one that cannot be stored is counted and left out.

        :param raw: all that the source has of it, from which an id is made if it has none.
        :param source_id: its id there.
        :param at: when it was made, UNIX time in seconds.
        """
        id = self._new_id(raw, source_id)
        turn = id if role == "user" else self._turn
        if at is not None:
            fields["created_at"] = timestamp(at)
        told = {name: value for name, value in fields.items() if value not in (None, {}, [])}
        try:
            self.messages.append(ChatMessage(role, content, id=id, turn=turn, **told))
        except InvalidMessage as error:
            self._source.left_out[f"message that cannot be stored ({error.path.partition('.')[0]})"] += 1
            return
        self._turn = turn
        if at is not None:
            self._times.append(at)

    def tell(self, name: str, value: object) -> None:
        """Add to the metadata of the newest message."""
        last = self.messages[-1]
        self.messages[-1] = last.replace(metadata={**(last.metadata or {}), name: value})

    def finished(self, created_at: float | None = None, last_activity: float | None = None) -> ForeignThread:
        first, last = (self._times[0], self._times[-1]) if self._times else (None, None)
        return ForeignThread(self._id, self.messages, created_at or first, last_activity or last)

    def _new_id(self, raw: object, source_id: object) -> str:
        id = source_id if isinstance(source_id, str) and 0 < len(source_id) <= MAX_ID else ""
        number = 0
        while not id or id in self._known:
            id = _digest(self._source.name, self._id, msgspec.json.encode(raw, order="sorted").decode(), str(number))
            number += 1
        self._known.add(id)
        return id


def time_of(value: object) -> float | None:
    """Return the UNIX time that a database tells; without a zone it is UTC."""
    if isinstance(value, str):
        try:
            value = dt.datetime.fromisoformat(value)
        except ValueError:
            return None
    if not isinstance(value, dt.datetime):
        return None
    return (value if value.tzinfo else value.replace(tzinfo=dt.UTC)).timestamp()


def _digest(*names: str) -> str:
    return hashlib.blake2b("\0".join(names).encode(), digest_size=16).hexdigest()
