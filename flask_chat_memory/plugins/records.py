"""What a plugin is asked with and what it answers, besides messages."""

from __future__ import annotations

import collections.abc as cabc
import datetime as dt
import typing as t

import msgspec

from ..errors import MissingOwner
from ..message import ChatMessage
from ..values import clean
from .lines import Lines
from .lines import ONE_LINE

MAX_OWNER = 255
FORGOTTEN = "forgotten"
"""Stands in ledgers for all owners who were forgotten; nobody else can be called so."""
MAX_CHATBOT = 64


class Scope(msgspec.Struct, frozen=True):
    """Whose conversations of which chatbot: the first argument of every storage operation.

    :param owner: ``user:<id>``, ``anon:<token>`` or the site's own; 1 to 255 characters.
    :raises MissingOwner: if there is no owner, or it cannot be stored.
    """

    owner: str
    chatbot: str = "default"

    def __post_init__(self) -> None:
        if not is_owner(self.owner):
            raise MissingOwner(f"an owner is text of 1 to {MAX_OWNER} characters without NUL")
        if not _is_name(self.chatbot, MAX_CHATBOT):
            raise ValueError(f"a chatbot is named by text of 1 to {MAX_CHATBOT} characters without NUL")


def is_owner(value: object) -> bool:
    """Tell whether a value can be an owner: text of 1 to 255 characters that every store can hold."""
    return _is_name(value, MAX_OWNER)


def _is_name(value: object, longest: int) -> bool:
    return isinstance(value, str) and 0 < len(value) <= longest and clean(value) == value


class Appended(msgspec.Struct, frozen=True):
    """Where a batch of messages is stored.

    :param thread_id: the thread it went to.
    :param sequence: of the first message of the batch; 0 for an empty batch.
    :param repeated: the key was known already: nothing was written, the rest tells of the stored batch.
    """

    thread_id: str
    sequence: int
    repeated: bool = False


class LiveTurn(msgspec.Struct, frozen=True):
    """The record of a turn that is being answered.

    :param lease: UNIX time in seconds until which the turn counts as running, unless it is renewed.
    :param text: the answer as far as it was told of.
    :param stop_wanted: somebody wants the turn to end.
    """

    turn: str
    question_id: str
    answer_id: str
    lease: float
    text: str = ""
    stop_wanted: bool = False


class Renewal(t.NamedTuple):
    """The sign of life of a turn.

    :param text: all of the answer so far; None if it is as it was last told.
    """

    scope: Scope
    thread_id: str
    turn: str
    text: str | None = None


class Thread(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a thread without its messages.

    :param created_at: UNIX time in seconds.
    :param last_activity: UNIX time in seconds of the last write of messages.
    :param messages: how many it holds.
    :param tokens: used by all turns that it ever had since it was last emptied.
    :param configuration: the site's own note of what the thread was begun with.
    """

    id: str
    created_at: float
    last_activity: float
    messages: int
    tokens: int = 0
    title: str | None = None
    pinned: bool = False
    archived: bool = False
    configuration: str | None = None

    @property
    def position(self) -> Position:
        """The place of the thread in a list, from which the next page goes on."""
        return Position(self.last_activity, self.id)


class Position(t.NamedTuple):
    """A place in a list of threads; the thread itself may be gone or have moved since."""

    last_activity: float
    thread_id: str


class ThreadChanges(t.TypedDict, total=False):
    """What :meth:`DescribesThreads.update_thread` changes.

    A title has at most 200 characters, a configuration 255; None or nothing but spaces removes it.
    """

    title: str | None
    pinned: bool
    archived: bool
    configuration: str | None


class Mark(msgspec.Struct, frozen=True):
    """What a person thinks of a message.

    :param rating: 1 is good, -1 is bad, None says neither.
    :param comment: at most 2,000 characters.
    """

    rating: t.Literal[-1, 1] | None = None
    comment: str | None = None


class WholeThread(msgspec.Struct, frozen=True, kw_only=True):
    """All that belongs to a thread, but for its messages. Its times are of whole microseconds, which all stores hold.

    :param sequence: the highest that the thread ever gave.
    :param keys: the newest append keys with the sequences of their batches, the oldest first; at most
        ``rules.KEYS_KEPT``.
    :param marks: by the ids of their messages, in the order of the ids.
    :param current: it is the one ongoing thread of its scope.
    :param live: the turns that are being answered, or died.
    """

    thread: Thread
    sequence: int
    keys: dict[str, int] = {}
    lines: Lines = ONE_LINE
    marks: dict[str, Mark] = {}
    current: bool = False
    live: tuple[LiveTurn, ...] = ()

    def __post_init__(self) -> None:
        times = {name: round(float(getattr(self.thread, name)), 6) for name in ("created_at", "last_activity")}
        msgspec.structs.force_setattr(self, "thread", msgspec.structs.replace(self.thread, **times))

    def running(self, now: float) -> bool:
        """Tell whether a turn is being answered."""
        return any(live.lease > now for live in self.live)


class Found(t.NamedTuple):
    """A message that was searched for."""

    thread_id: str
    message: ChatMessage


class Search(msgspec.Struct, frozen=True):
    """What a search has found.

    :param complete: False if it stopped before it had looked at all messages, for another reason than its limit.
    """

    found: cabc.Sequence[Found] = ()
    complete: bool = True


class Purged(msgspec.Struct, frozen=True):
    """What a purge has removed.

    :param threads: scope and id of each.
    """

    threads: tuple[tuple[Scope, str], ...]
    messages: int


class UsageDay(msgspec.Struct, frozen=True, kw_only=True):
    """What the answers of one model have cost an owner on one day, of UTC; the numbers are tokens but for the turns.

    :param model: None where the answers did not tell it.
    :param turns: answers, also those of which no usage is known.
    """

    chatbot: str
    day: dt.date
    model: str | None
    turns: int
    input: int
    output: int
    cached: int
    reasoning: int
    total: int
