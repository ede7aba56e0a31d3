"""What the extension remembers beside conversations: of an owner, of the site, and what it learned."""

from __future__ import annotations

import abc
import collections
import functools
import inspect
import typing as t

from .errors import ConfigurationError
from .knowledge.facts import GlobalFacts
from .knowledge.guard import Guard
from .knowledge.guard import refuse_orders
from .knowledge.knowledge_base import KnowledgeBase
from .knowledge.known import Known
from .knowledge.remember import RememberTool
from .knowledge.user_memory import UserMemories
from .redaction import check_installed
from .redaction import Redacted
from .redaction import Redaction
from .redaction import RedactionFunction
from .settings import Settings
from .storage.domains import DomainStorage
from .summaries import Summaries

G = t.TypeVar("G", bound=Guard)
R = t.TypeVar("R", bound=RedactionFunction)


class Remembering(abc.ABC):
    """The part of the extension that gives memories, facts and the knowledge base."""

    def __init__(self) -> None:
        super().__init__()
        self._guard: Guard | None = None
        self._redaction: RedactionFunction | None = None

    @property
    @abc.abstractmethod
    def settings(self) -> Settings:
        """The settings of the current app."""

    @abc.abstractmethod
    def storage(self, domain: str) -> DomainStorage:
        """Return where the documents of a domain are."""

    @abc.abstractmethod
    def _current_owner(self) -> str:
        """Return the owner of the current request."""

    def user_memories(self, owner: str | None = None) -> UserMemories:
        """Return what is remembered of an owner.

        :param owner: None is the current visitor; name one outside of a request.
        :raises MissingOwner: for a visitor who has no key yet, as long as nothing was stored for them.
        :raises ConfigurationError: without a storage, and without an owner outside of a request.
        """
        owner = self._current_owner() if owner is None else owner
        return UserMemories(self.storage("user_memory").of_owner(owner), most=self.settings.user_memories)

    def remember_tool(self, owner: str) -> RememberTool:
        """Return the tool ``remember`` with which a model adds memories to those of an owner, for one turn.

        :raises ConfigurationError: without a storage, and if redaction is on and its package is not installed.
        """
        redact = self._redacting()
        return RememberTool(self.user_memories(owner), self._guard or refuse_orders, lambda text: redact(text)[0])

    @property
    def global_facts(self) -> GlobalFacts:
        """The facts that the site tells the models of all owners."""
        return GlobalFacts(self.storage("facts"))

    @property
    def summaries(self) -> Summaries:
        """The summaries of all threads, with their key facts."""
        return Summaries(self.storage("summaries"))

    @property
    def knowledge(self) -> KnowledgeBase:
        """What the site has learned: patterns, bugs, learnings."""
        return KnowledgeBase(self.storage("learning"))

    def redact(self, text: str) -> Redacted:
        """Return a text without secrets, addresses and numbers, and what was taken out, as the configuration says.

        :raises ConfigurationError: if redaction is on and its package is not installed.
        """
        redacted, counts = self._redacting()(text)
        return Redacted(redacted, collections.Counter(counts))

    def redaction(self, function: R) -> R:
        """Register the site's own redaction, in place of the built-in one.

        It is given a text and returns the text without what must not be kept, and a dict kind -> how often.

        :raises ConfigurationError: for a second one, and for what is no plain function.
        """
        self._redaction = _only("redaction", self._redaction, function)
        return function

    def memory_guard(self, function: G) -> G:
        """Register the site's own guard of the tool ``remember``, in place of the built-in one.

        It is given a text and returns None, or why it must not be remembered.

        :raises ConfigurationError: for a second one, and for what is no plain function.
        """
        self._guard = _only("memory_guard", self._guard, function)
        return function

    def _known(self) -> Known:
        return Known(self.global_facts, self.storage("user_memory"))

    def _known_memories(self, owner: str) -> UserMemories | None:
        return None if self.settings.storages["user_memory"] is None else self.user_memories(owner)

    def _check_redaction(self, settings: Settings) -> None:
        """Refuse a redaction that is on and not there.

        :raises ConfigurationError: naming the extra to install.
        """
        if settings.redaction is not None and self._redaction is None:
            check_installed()

    def _redacting(self) -> RedactionFunction:
        regions = self.settings.redaction
        if regions is None:
            return lambda text: (text, {})
        return self._redaction or _built_in(regions)


@functools.cache
def _built_in(regions: tuple[str, ...]) -> Redaction:
    return Redaction(regions)


def _only(name: str, former: object, function: t.Any) -> t.Any:
    if former is not None:
        raise ConfigurationError(f"there is a function for {name} already")
    if not callable(function) or inspect.iscoroutinefunction(function):
        raise ConfigurationError(f"{name} takes a plain function that is given a text")
    return function
