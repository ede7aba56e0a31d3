"""What the widget has beside the chat itself: each part has a script and a style sheet, named as the part is."""

from __future__ import annotations

import flask

from ..conversation import Conversation
from ..plugins.abilities import HidesMessages
from ..plugins.abilities import KeepsLiveTurns
from ..plugins.abilities import MarksMessages
from ..plugins.abilities import SearchesMessages
from ..plugins.base import ChatMemoryPlugin

Urls = dict[str, str]
"""Addresses by what they do."""


def parts_of(
    conversation: Conversation, plugin: ChatMemoryPlugin | None, *, threads: bool, temporary: bool, tools: bool
) -> dict[str, Urls]:
    """Return the parts that are wanted and that the conversation can have, with the addresses that they call.

    :param threads: the list of threads is wanted.
    :param temporary: the chatbot allows temporary conversations.
    :param tools: the tools below messages are wanted.
    :raises ConfigurationError: for a list that the plugin cannot give.
    """
    parts: dict[str, Urls] = {}
    if threads and conversation.threads == "many":
        conversation.require_list()
        parts["threads"] = _urls(conversation, "list_threads", *_searching(plugin))
    if temporary and conversation.mode == "server":
        parts["temporary"] = {}
    if tools and conversation.mode == "server":
        parts["tools"] = _urls(conversation, *_changing(plugin), *_rating(plugin))
    return parts


def _searching(plugin: ChatMemoryPlugin | None) -> list[str]:
    return ["search"] if isinstance(plugin, SearchesMessages) else []


def _changing(plugin: ChatMemoryPlugin | None) -> list[str]:
    can_change = all(isinstance(plugin, ability) for ability in (HidesMessages, KeepsLiveTurns))
    return ["regenerate", "edit", "switch"] if can_change else []


def _rating(plugin: ChatMemoryPlugin | None) -> list[str]:
    return ["feedback"] if isinstance(plugin, MarksMessages) else []


def _urls(conversation: Conversation, *views: str) -> Urls:
    return {view: flask.url_for(f"chat_memory.{view}", chatbot=conversation.chatbot) for view in views}
