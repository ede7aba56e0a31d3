"""The contract of a memory plugin: five required operations and two defaults."""

from __future__ import annotations

import abc
import collections.abc as cabc
import contextlib
import threading
import time
import typing as t

from ..message import ChatMessage
from .abilities import CurrentThread
from .forks import rest_in_forks
from .options import PluginOptions
from .records import Appended
from .records import Scope
from .reports import StoreReport
from .rules import check_append
from .rules import trim

if t.TYPE_CHECKING:
    from .sql.schema import Schema

Clock = cabc.Callable[[], float]


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
        only_into: str | None = None,
    ) -> Appended | None:
        """Add a batch to the end of the thread, whole or not at all and in one piece; makes the thread if absent.

        With ``threads="one"`` and the ability :class:`CurrentThread`, a batch for an absent thread goes to the
        scope's current thread if there is one. What an expired thread held is deleted first. An empty batch does
        nothing. ``options.max_messages`` removes whole turns from the start.

        :param key: at most 128 characters. If it is stored in the thread already, nothing is written. Keys are
            remembered for at least the newest 50 turns.
        :param reply_to: id of the question: the batch is stored only while that message is in the thread. Looked at
            after ``key``.
        :param only_into: the batch is stored only if it goes to this thread, be it named or the current one. Else
            nothing is written, and the result tells the other thread with the sequence 0. Looked at last.
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
            if not messages or only_into not in (None, thread_id):
                return Appended(thread_id, 0)
            sequence = 1 + max((message.sequence or 0 for message in stored), default=0)
            batch = [message.numbered(sequence + place) for place, message in enumerate(messages)]
            batch[0] = batch[0].numbered(sequence, key)
            self.save_messages(scope, thread_id, trim(stored + batch, self.options.max_messages))
            return Appended(thread_id, sequence)

    def ping(self) -> None:
        """Ask the store for a sign of life; nothing is made that is not there yet, be it a table, a file or a folder.

        :raises StorageError: if the store fails.
        """
        self.has_thread(Scope("nobody"), "none")

    def clear_messages(self, scope: Scope, thread_id: str) -> None:
        """Remove the messages of the thread and keep its id; nothing happens to an unknown thread."""
        with self.lock:
            if self.has_thread(scope, thread_id):
                self.save_messages(scope, thread_id, [])

    def examine_store(self) -> StoreReport | None:
        """Return what the store tells of itself, without making anything in it; None if the plugin does not know.

        :raises StorageError: if it cannot be reached.
        """
        return None

    def is_expired(self, last_activity: float) -> bool:
        """Tell whether a thread with this last activity (UNIX time, seconds) and no running turn is expired."""
        expiry = self.options.expiry
        return expiry is not None and last_activity < self.clock() - expiry

    def store_identity(self) -> object:
        """Return what is equal for two plugins that keep their threads in one and the same place."""
        return self

    def schemas(self) -> tuple[Schema, ...]:
        """Return what there is to know of the tables in which the plugin keeps its threads; none without tables."""
        return ()

    def close(self) -> None:  # noqa: B027 (a plugin without resources has nothing to do)
        """Give back what the plugin opened; what the site handed in stays open."""

    def __del__(self) -> None:
        # A plugin that a changed setting has replaced closes when its last call is over.
        with contextlib.suppress(Exception):
            self.close()

    def after_fork(self) -> None:
        """Start afresh in a child process: the lock, and connections that the parent goes on using."""
        self.lock = threading.RLock()
