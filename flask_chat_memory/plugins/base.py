"""The contract of a memory plugin: five required operations, two defaults, and abilities that it may have besides."""

from __future__ import annotations

import abc
import collections.abc as cabc
import contextlib
import dataclasses
import threading
import time
import typing as t

from ..errors import MissingOwner
from ..message import ChatMessage
from ..values import clean
from .forks import rest_in_forks
from .options import PluginOptions
from .rules import check_append
from .rules import trim

MAX_OWNER = 255
MAX_CHATBOT = 64

Clock = cabc.Callable[[], float]


@dataclasses.dataclass(frozen=True)
class Scope:
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


@dataclasses.dataclass(frozen=True)
class Appended:
    """Where a batch of messages is stored.

    :param thread_id: the thread it went to.
    :param sequence: of the first message of the batch; 0 for an empty batch.
    :param repeated: the key was known already: nothing was written, the rest tells of the stored batch.
    """

    thread_id: str
    sequence: int
    repeated: bool = False


@dataclasses.dataclass(frozen=True)
class LiveTurn:
    """The record of a turn that is being answered.

    :param lease: UNIX time in seconds until which the turn counts as running, unless it is renewed.
    """

    turn: str
    question_id: str
    answer_id: str
    lease: float


class ChatMemoryPlugin(abc.ABC):
    """Keeps the messages of threads.

    A plugin lives as long as the process, is used by many threads at once, survives a fork, knows no Flask and holds
    nothing of one visitor. Every operation is confined to its scope by the store itself; an id that is unknown,
    expired, malformed or somebody else's is answered alike. A thread whose last activity (a write) is more than
    ``options.expiry`` seconds ago is gone in every operation; one with a running turn is not expired.

    :param options: an instance of ``Options``, or a mapping of its values.
    :param clock: gives the UNIX time in seconds.
    :ivar lock: held by the default operations. A plugin that uses them takes it in its own writes and deletions, too,
        so that none falls between the reading and the writing of an append.
    """

    id: t.ClassVar[str] = ""
    label: t.ClassVar[str] = ""
    description: t.ClassVar[str] = ""
    storage: t.ClassVar[str | None] = None
    """The kind of :class:`Storage` that keeps documents beside the threads, where its options of the same names say."""
    shared_by_processes: t.ClassVar[bool] = False
    """Whether laws about several writers hold across processes, too."""

    class Options(PluginOptions, frozen=True, kw_only=True):
        """The options of the plugin."""

    def __init__(
        self, options: PluginOptions | cabc.Mapping[str, t.Any] | None = None, *, clock: Clock = time.time
    ) -> None:
        if not isinstance(options, PluginOptions):
            options = self.Options.make(options or {}, f"options of {self.id or type(self).__name__}")
        self.options: PluginOptions = options
        self.clock = clock
        self.lock = threading.RLock()
        rest_in_forks(self)

    @property
    def has_persistent_thread(self) -> bool:
        """Whether the scope's one ongoing thread can be resolved without an id."""
        return self.options.threads == "one" and isinstance(self, CurrentThread)

    @abc.abstractmethod
    def create_thread_id(self) -> str:
        """Return a new, unguessable thread id; the thread exists once something is stored under it."""

    @abc.abstractmethod
    def has_thread(self, scope: Scope, thread_id: str) -> bool:
        """Tell whether the scope has the thread."""

    @abc.abstractmethod
    def load_messages(
        self,
        scope: Scope,
        thread_id: str,
        *,
        limit: int | None = None,
        before: int | None = None,
        after: int | None = None,
    ) -> list[ChatMessage]:
        """Return messages of the thread, always oldest first; of an unknown thread, none.

        :param limit: at most so many messages: with ``after`` the oldest, else the newest. 0 gives none.
        :param before: only messages with a smaller sequence number.
        :param after: only messages with a greater sequence number; not together with ``before``.
        :raises ValueError: for a limit that is negative or no int.
        :raises CorruptRecord: if a record cannot be read.
        :raises StorageError: if the store fails.
        """

    @abc.abstractmethod
    def save_messages(self, scope: Scope, thread_id: str, messages: cabc.Sequence[ChatMessage]) -> None:
        """Replace all messages of the thread, or none of them if this fails; makes the thread if it is absent.

        Ascending sequence numbers are kept, messages without one are numbered on; none is used twice.

        :raises ValueError: for an impossible thread id.
        :raises StorageError: if the store fails.
        """

    @abc.abstractmethod
    def delete_thread(self, scope: Scope, thread_id: str) -> bool:
        """Remove the thread with everything that belongs to it; tell whether there was one."""

    def append_messages(
        self,
        scope: Scope,
        thread_id: str,
        messages: cabc.Sequence[ChatMessage],
        *,
        key: str | None = None,
        reply_to: str | None = None,
    ) -> Appended | None:
        """Add a batch to the end of the thread, whole or not at all and in one piece; makes the thread if absent.

        With ``threads="one"`` and the ability :class:`CurrentThread`, a batch for an absent thread goes to the
        scope's current thread if there is one. What an expired thread held is deleted first. An empty batch does
        nothing. ``options.max_messages`` removes whole turns from the start.

        :param key: at most 128 characters. If it is stored in the thread already, nothing is written. Keys are
            remembered for at least the newest 50 turns.
        :param reply_to: id of the question: the batch is stored only while that message is in the thread. Looked at
            after ``key``.
        :return: where the batch is, or None if ``reply_to`` is gone.
        :raises ValueError: for an impossible thread id or key.
        :raises StorageError: if the store fails.
        """
        check_append(thread_id, key)
        with self.lock:
            stored = self.load_messages(scope, thread_id)
            for message in stored:
                if key is not None and message.append_key == key:
                    return Appended(thread_id, t.cast(int, message.sequence), repeated=True)
            if reply_to is not None and not any(message.id == reply_to for message in stored):
                return None
            if not messages:
                return Appended(thread_id, 0)
            sequence = 1 + max((message.sequence or 0 for message in stored), default=0)
            batch = [message.numbered(sequence + place) for place, message in enumerate(messages)]
            batch[0] = batch[0].numbered(sequence, key)
            self.save_messages(scope, thread_id, trim(stored + batch, self.options.max_messages))
            return Appended(thread_id, sequence)

    def clear_messages(self, scope: Scope, thread_id: str) -> None:
        """Remove the messages of the thread and keep its id; nothing happens to an unknown thread."""
        with self.lock:
            if self.has_thread(scope, thread_id):
                self.save_messages(scope, thread_id, [])

    def is_expired(self, last_activity: float) -> bool:
        """Tell whether a thread with this last activity (UNIX time, seconds) and no running turn is expired."""
        expiry = self.options.expiry
        return expiry is not None and last_activity < self.clock() - expiry

    def close(self) -> None:  # noqa: B027 (a plugin without resources has nothing to do)
        """Give back what the plugin opened; what the site handed in stays open."""

    def __del__(self) -> None:
        # A plugin that a changed setting has replaced closes when its last call is over.
        with contextlib.suppress(Exception):
            self.close()

    def after_fork(self) -> None:
        """Start afresh in a child process: the lock, and connections that the parent goes on using."""
        self.lock = threading.RLock()


class CurrentThread(abc.ABC):
    """The ability to find a scope's one ongoing thread.

    A scope's first append makes its thread the current one. It counts as none once it is deleted or expired.
    """

    @abc.abstractmethod
    def current_thread(self, scope: Scope) -> str | None:
        """Return the id of the scope's current thread."""

    @abc.abstractmethod
    def load_current(self, scope: Scope, *, limit: int | None = None) -> tuple[str | None, list[ChatMessage]]:
        """Return the id of the current thread and its newest messages, in one round trip."""


class KeepsLiveTurns(abc.ABC):
    """The ability to tell a turn that is being answered from one whose process died.

    The live record starts with the question and ends with the answer, each in one step with the message. A record
    whose lease has run out is dead: the next reader ends the turn.
    """

    @abc.abstractmethod
    def start_turn(self, scope: Scope, thread_id: str, question: ChatMessage, *, key: str, live: LiveTurn) -> Appended:
        """Append the question and start the live record, unless the key is known already."""

    @abc.abstractmethod
    def renew_turns(self, turns: cabc.Collection[tuple[Scope, str, str]], lease: float) -> None:
        """Extend the leases of turns (scope, thread id, turn id), all of one process, to the UNIX time ``lease``.

        Turns that have ended in the meantime are passed over.
        """

    @abc.abstractmethod
    def end_turn(
        self,
        scope: Scope,
        thread_id: str,
        turn: str,
        messages: cabc.Sequence[ChatMessage],
        *,
        key: str,
        reply_to: str,
    ) -> Appended | None:
        """Append the answer as :meth:`ChatMemoryPlugin.append_messages` does and remove the live record."""

    @abc.abstractmethod
    def live_turns(self, scope: Scope, thread_id: str) -> list[LiveTurn]:
        """Return the live records of the thread, dead ones included."""


class MovesThreads(abc.ABC):
    """The ability to give the threads of one scope to another."""

    @abc.abstractmethod
    def move_threads(self, source: Scope, target: Scope) -> int:
        """Move all threads of ``source`` that have no running turn; return how many were left for that reason.

        With ``threads="one"`` and an existing conversation of ``target``, the messages of the current thread are
        appended to it as one batch with the key ``"adopt:" + thread id``, ids and times kept, and the thread is
        deleted. Interrupted anywhere, it can be repeated with the same result.
        """
