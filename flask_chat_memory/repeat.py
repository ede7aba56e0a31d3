"""A question that was asked before: its answer is looked up, no model is called again."""

from __future__ import annotations

import dataclasses

from .errors import RequestRefused
from .following import answer_to
from .live import settle
from .message import ChatMessage
from .place import Place
from .plugins.abilities import KeepsLiveTurns


def earlier_exchange(place: Place, sequence: int, text: str) -> tuple[ChatMessage, ChatMessage | None]:
    """Return the question and the answer of a repeat; no answer while it is being given, which can be followed.

    :param sequence: where the question is.
    :param text: what is asked now.
    :raises RequestRefused: 409 if it was another text, is no longer stored, or is being answered where nobody can
        follow it.
    """
    question = _message_at(place, sequence)
    if question is None:
        raise RequestRefused(409, "This message was already answered, and the answer is no longer stored.")
    if question.text != text:
        raise RequestRefused(409, "Another message was sent under the same key.")
    settle(place, [question])
    answer = answer_to(place, question)
    if answer is None and not isinstance(place.plugin, KeepsLiveTurns):
        raise RequestRefused(409, "This message is still being answered.")
    return question, answer


def asked_under(place: Place, key: str) -> ChatMessage | None:
    """Return the question that was sent with a key; to append nothing only looks it up."""
    known = place.plugin.append_messages(place.scope, place.thread_id, [], key=f"question:{key}")
    if known is None or not known.repeated:
        return None
    return _message_at(dataclasses.replace(place, thread_id=known.thread_id), known.sequence)


def _message_at(place: Place, sequence: int) -> ChatMessage | None:
    """Return the message with this number, if it is still there."""
    stored = place.load(after=sequence - 1, limit=1)
    return stored[0] if stored and stored[0].sequence == sequence else None
