"""One conversation of one owner with one chatbot."""

from __future__ import annotations

import collections.abc as cabc

from .history import OwnHistory
from .knowledge.known import Known
from .lines import OwnLines
from .location import Location
from .own_summary import OwnSummary
from .plugins.abilities import CurrentThread
from .plugins.base import ChatMemoryPlugin
from .plugins.records import Scope
from .provider import Provider
from .question import NOT_TOLD
from .question import ShownThread
from .search import OwnSearch
from .settings import ChatbotSettings
from .settings import Settings
from .signals import Announce
from .signals import nobody
from .summarising import Summarising
from .threads import OwnThreads
from .titles import MakeTitle
from .titles import Titles
from .turns import BeforeTurn
from .visitor import Visitor


class Conversation(OwnLines, OwnHistory, OwnThreads, OwnSearch, OwnSummary):
    """The exchange of one owner with one chatbot; works in a request, in a stream and in a worker.

    Making it writes nothing. Where nothing is kept on the server (``mode`` is not ``"server"``) the same calls store
    nothing and find nothing.

    :ivar chatbot: the name of the chatbot.
    """

    def __init__(
        self,
        *,
        settings: Settings,
        chatbot: ChatbotSettings,
        plugin: ChatMemoryPlugin | None,
        visitor: Visitor,
        provider: Provider | None,
        make_title: MakeTitle | None,
        summarising: Summarising | None = None,
        known: Known | None = None,
        title: str | None,
        in_request: bool,
        admission: cabc.Sequence[BeforeTurn] = (),
        announce: Announce = nobody,
    ) -> None:
        self.chatbot = chatbot.name
        self._settings = settings
        self._chatbot = chatbot
        self._plugin = plugin
        self._visitor = visitor
        self._provider = provider
        self._titles = Titles(title, make_title)
        self._summarising = summarising
        self._known = known
        self._in_request = in_request
        self._admission = admission
        self._announce = announce
        self._taken = []

    @property
    def thread_id(self) -> str | None:
        """The id of the thread, or the one reserved for it; None if there is neither."""
        location = self._location()
        return location.announced_id if location else None

    def reset(self, thread_id: ShownThread = NOT_TOLD) -> str | None:
        """Delete the thread and return the id for the next one.

        Deletes the named thread, or the ongoing one if none is named; one that is gone already is no error. With
        ``threads="one"`` the id of a conversation that exists by now is returned instead of a new one.
        """
        if self._plugin is None:
            return None
        location = Location(self._plugin, Scope(self._visitor.claim(), self.chatbot), self._visitor, self._announce)
        doomed = location.thread_id if thread_id is NOT_TOLD else thread_id
        if doomed is not None:
            self.delete_thread(doomed)
        if self.threads == "one" and isinstance(self._plugin, CurrentThread):
            current = self._plugin.current_thread(location.scope)
            if current is not None:
                return current
        return self.new_chat()

    def new_chat(self) -> str | None:
        """Return the id for a new thread; the former one is kept."""
        if self._plugin is None:
            return None
        self._visitor.claim()
        thread_id = self._plugin.create_thread_id()
        self._visitor.remember(thread_id, reserved=True)
        return thread_id

    def open(self, thread_id: str) -> bool:
        """Go on with another thread of the owner; tell whether there is such a one."""
        location = self._location()
        if location is None or not location.plugin.has_thread(location.scope, thread_id):
            return False
        self._visitor.remember(thread_id)
        return True

    def clear(self) -> None:
        """Remove the messages of the thread and keep its id."""
        location = self._location()
        if location and location.thread_id:
            # Before, for it must not outlive the messages; and again for one that was made meanwhile.
            self._delete_summary(location.scope, location.thread_id)
            location.plugin.clear_messages(location.scope, location.thread_id)
            self._delete_summary(location.scope, location.thread_id)
