"""Which thread is meant: the scope's current one, the one that the page shows, or the pointer's."""

from __future__ import annotations

import collections.abc as cabc
import hashlib

from .errors import UnknownThread
from .message import ChatMessage
from .place import Place
from .plugins.abilities import CurrentThread
from .plugins.base import ChatMemoryPlugin
from .plugins.records import Scope
from .plugins.rules import sequence_of
from .question import Mode
from .question import NOT_TOLD
from .question import ShownThread
from .settings import ChatbotSettings
from .signals import Announce
from .visitor import Visitor

PAGE = 200
"""Messages that are read at once where one is looked for."""


class Location:
    """A thread of a scope, looked up once and only when it is needed.

    :param shown: the id that the page shows. With many threads it wins over the visitor's hint.
    """

    def __init__(
        self,
        plugin: ChatMemoryPlugin,
        scope: Scope,
        visitor: Visitor,
        announce: Announce,
        shown: ShownThread = NOT_TOLD,
    ) -> None:
        self.plugin = plugin
        self.scope = scope
        self.announce = announce
        self._visitor = visitor
        self._one = plugin.options.threads == "one" and not visitor.opened
        self._candidate = visitor.thread_id if self._one or shown is NOT_TOLD else shown
        self._reserved = visitor.reserved and self._candidate == visitor.thread_id
        self._found: str | None = None
        self._looked = False

    @property
    def thread_id(self) -> str | None:
        """The id of the thread; None if there is none."""
        if not self._looked:
            self._found = self._look()
            self._looked = True
        return self._found

    @property
    def announced_id(self) -> str | None:
        """The id of the thread, or the one that is reserved for it."""
        return self.thread_id or (self._candidate if self._reserved else None)

    def write_id(self, key: str | None) -> str:
        """Return the id to store under: of the thread, or of a new one.

        :param key: the client's name for the question. A new thread is named by it, so that a question that is sent
            twice begins one thread and not two.
        :raises UnknownThread: if the visitor asked for a thread by name, and it is gone.
        """
        if self.announced_id is not None:
            return self.announced_id
        if self._visitor.opened:
            raise UnknownThread("the thread is gone")
        if key is None:
            return self.plugin.create_thread_id()
        names = f"{self.scope.owner}\0{self.scope.chatbot}\0{key}"
        return hashlib.blake2b(names.encode(), digest_size=16).hexdigest()

    @property
    def place(self) -> Place | None:
        """The thread; None if there is none."""
        return None if self.thread_id is None else self.at(self.thread_id)

    def at(self, thread_id: str) -> Place:
        return Place(self.plugin, self.scope, thread_id, self.announce)

    def newest(self, limit: int) -> list[ChatMessage]:
        """Return the newest messages, oldest first; where the store can, thread and messages are found in one go."""
        if self._looked:
            return self.load(limit)
        found: str | None = None
        messages: list[ChatMessage] = []
        if self._one and isinstance(self.plugin, CurrentThread):
            found, messages = self.plugin.load_current(self.scope, limit=limit)
        if found is None and self._candidate is not None:
            messages = self.plugin.load_messages(self.scope, self._candidate, limit=limit)
            # Messages prove that the thread is there, without a second question.
            found = self._candidate if messages else self._existing_candidate()
        self._found, self._looked = found, True
        return messages

    def load(self, limit: int | None = None, before: int | None = None, after: int | None = None) -> list[ChatMessage]:
        if self.thread_id is None:
            return []
        return self.plugin.load_messages(self.scope, self.thread_id, limit=limit, before=before, after=after)

    def backwards(self) -> cabc.Iterator[ChatMessage]:
        """Yield the messages that are seen, the newest first; they are read in pages."""
        page = self.newest(PAGE)
        while page:
            yield from reversed(page)
            page = self.load(PAGE, sequence_of(page[0])) if len(page) == PAGE else []

    def _look(self) -> str | None:
        if self._one and isinstance(self.plugin, CurrentThread):
            current = self.plugin.current_thread(self.scope)
            if current is not None:
                return current
        return self._existing_candidate()

    def _existing_candidate(self) -> str | None:
        # Even a reserved id: an old session that was saved late may still call reserved what is stored by now.
        candidate = self._candidate
        return candidate if candidate is not None and self.plugin.has_thread(self.scope, candidate) else None


class Located:
    """An owner with a chatbot, whose threads are found."""

    chatbot: str
    _chatbot: ChatbotSettings
    _plugin: ChatMemoryPlugin | None
    _visitor: Visitor
    _announce: Announce

    @property
    def mode(self) -> Mode:
        """Where the history is: on the server, in the browser (``client``), or nowhere (``none``)."""
        if not self._chatbot.history:
            return "none"
        return "client" if self._plugin is None else "server"

    @property
    def owner(self) -> str | None:
        """Whose conversation it is; None for a visitor for whom nothing was stored yet."""
        return self._visitor.owner

    def _location(self, shown: ShownThread = NOT_TOLD) -> Location | None:
        """Return the thread that is meant, without an owner none."""
        scope = self._scope()
        if self._plugin is None or scope is None:
            return None
        return Location(self._plugin, scope, self._visitor, self._announce, shown)

    def _scope(self) -> Scope | None:
        """Return whose threads are meant; None where nothing was stored yet."""
        owner = self._visitor.owner
        return None if owner is None or self._plugin is None else Scope(owner, self.chatbot)
