"""A question that was asked before: its answer is looked up, no model is called again."""

from __future__ import annotations

from .errors import RequestRefused
from .live import settle
from .message import ChatMessage
from .plugins.base import ChatMemoryPlugin
from .plugins.records import Appended
from .plugins.records import Scope
from .plugins.rules import sequence_of

_PAGE = 100


def earlier_exchange(
    plugin: ChatMemoryPlugin, scope: Scope, appended: Appended, text: str
) -> tuple[ChatMessage, ChatMessage]:
    """Return the question and the answer of a repeat.

    :param text: what is asked now.
    :raises RequestRefused: 409 if it was another text, is no longer stored, or is still being answered.
    """
    question = _first_asked(plugin, scope, appended, text)
    settle(plugin, scope, appended.thread_id, [question])
    answer = _answer_to(plugin, scope, appended.thread_id, question)
    if answer is None:
        raise RequestRefused(409, "This message is still being answered.")
    return question, answer


def _first_asked(plugin: ChatMemoryPlugin, scope: Scope, appended: Appended, text: str) -> ChatMessage:
    stored = plugin.load_messages(scope, appended.thread_id, after=appended.sequence - 1, limit=1)
    if not stored or stored[0].sequence != appended.sequence:
        raise RequestRefused(409, "This message was already answered, and the answer is no longer stored.")
    if stored[0].text != text:
        raise RequestRefused(409, "Another message was sent under the same key.")
    return stored[0]


def _answer_to(plugin: ChatMemoryPlugin, scope: Scope, thread_id: str, question: ChatMessage) -> ChatMessage | None:
    after = sequence_of(question)
    while True:
        page = plugin.load_messages(scope, thread_id, after=after, limit=_PAGE)
        for message in page:
            if message.turn == question.turn and message.role == "assistant" and message.status is not None:
                return message
        if len(page) < _PAGE:
            return None
        after = sequence_of(page[-1])
