"""The settings of an app: what its configuration says, checked and frozen."""

from __future__ import annotations

import collections.abc as cabc
import typing as t

import msgspec

from .errors import ConfigurationError
from .plugins.options import PluginOptions
from .short_term.chain import Chain
from .storage.choice import StorageSettings

if t.TYPE_CHECKING:
    from .plugins.base import ChatMemoryPlugin

DEFAULT_CHATBOT = "default"


class PluginSettings(msgspec.Struct, frozen=True):
    """A chosen plugin and its checked options; equal ones share one instance."""

    plugin: type[ChatMemoryPlugin]
    options: PluginOptions


class ChatbotSettings(msgspec.Struct, frozen=True):
    """The configuration of one chatbot.

    :param plugin: None keeps the history in the browser.
    :param history: False keeps none at all.
    :param knowledge: the model is told the facts of the site and the memories of the owner.
    :param temporary: a visitor may have a conversation of which nothing is stored.
    :param on_disconnect: what becomes of an answer whose reader has left: it stops, or is finished for a later reader.
    """

    name: str
    plugin: PluginSettings | None
    history: bool
    system_prompt: str | None
    knowledge: bool
    short_term: Chain
    greeting: str | None
    enabled: bool
    temporary: bool
    on_disconnect: t.Literal["stop", "finish"]


class Settings(msgspec.Struct, frozen=True):
    """The configuration of an app, read once.

    :param storages: domain of documents -> where they are, None if nowhere.
    :param retention: domain of documents -> seconds that they are kept; others are kept for ever.
    :param purge_every: requests after which what is expired is deleted; None leaves that to the operator.
    :param user_memories: of one owner that are kept.
    :param redaction: regions whose phone numbers are redacted besides; None redacts nothing.
    :param privacy: who may download and delete what is stored of them: users who are logged in, or all visitors; None
        is nobody.
    :param preload: messages on a page load.
    :param max_message_chars: characters of a question.
    """

    chatbots: cabc.Mapping[str, ChatbotSettings]
    storages: cabc.Mapping[str, StorageSettings | None]
    retention: cabc.Mapping[str, int]
    purge_every: int | None
    user_memories: int
    redaction: tuple[str, ...] | None
    on_login: t.Literal["adopt", "leave"]
    privacy: t.Literal["users", "visitors"] | None
    url_prefix: str | None
    preload: int
    max_message_chars: int
    on_unavailable: t.Literal["refuse", "answer"]

    @property
    def default_chatbot(self) -> str | None:
        """The chatbot that is meant when none is named: ``default``, or the only one; None if there is no such one."""
        if DEFAULT_CHATBOT in self.chatbots:
            return DEFAULT_CHATBOT
        return next(iter(self.chatbots)) if len(self.chatbots) == 1 else None

    def chatbot(self, name: str | None) -> ChatbotSettings:
        """Return the settings of a chatbot, of the default one if none is named.

        :raises ConfigurationError: naming the chatbots that there are.
        """
        known = ", ".join(self.chatbots)
        if name is None and self.default_chatbot is None:
            raise ConfigurationError(f"there are several chatbots; name one of: {known}")
        found = self.chatbots.get(name or self.default_chatbot or "")
        if found is None:
            raise ConfigurationError(f"there is no chatbot {name!r}; the chatbots are: {known}")
        return found
