"""What the bot can tell about the conversation itself."""

from __future__ import annotations

import collections.abc as cabc
import re
import textwrap

_ASKED = r"(?:ask|asked|say|said|write|written|tell)"
_FIRST = re.compile(
    rf"\bwhat (?:did|have) i (?:first {_ASKED}|{_ASKED}(?: you)? (?:at )?first)\b"
    r"|\bmy (?:very )?first (?:question|message)\b",
    re.IGNORECASE,
)
_LAST = re.compile(
    rf"\bwhat (?:did|have) i (?:just |last )?{_ASKED}(?: you)?(?: just now| last| before)?\W*$"
    r"|\bmy (?:last|previous) (?:question|message)\b",
    re.IGNORECASE,
)
_NAME_ASKED = re.compile(
    r"\bwhat(?:['’]s| is| was) my name\b|\b(?:know|remember|say|tell me) my name\b|\bwho am i\b", re.IGNORECASE
)
# A name is followed by the end of the clause: "my name is on the parcel" tells no name.
_NAME_TOLD = re.compile(
    r"(?i:\bmy name(?:['’]s| is))\s+([^\W\d_][\w'’-]{0,40}(?:\s+[^\W\d_a-z][\w'’-]{0,40}){0,3})"
    r"(?=\s*(?:$|[.,;:!?)\n]|and\b|but\b))[\s.,;:!?)]*(?:and\b|but\b)?"
)


def introduction(text: str) -> tuple[str, str] | None:
    """Return the name by which somebody introduces themselves, and the rest of the text."""
    told = _NAME_TOLD.search(text)
    return (told[1], text[: told.start()] + text[told.end() :]) if told else None


def recollect(question: str, earlier: cabc.Sequence[str]) -> str | None:
    """Answer a question about the conversation; None if it is about something else.

    :param earlier: what the visitor said before, oldest first.
    """
    if _NAME_ASKED.search(question):
        names = [told[0] for told in map(introduction, earlier) if told]
        return f"Your name is {names[-1]}." if names else "I don't know your name. You have not told me yet."
    if _FIRST.search(question):
        return _quote("The first thing that I remember from you is:", earlier[:1])
    if _LAST.search(question):
        return _quote("Just before this, you wrote:", earlier[-1:])
    return None


def _quote(lead: str, texts: cabc.Sequence[str]) -> str:
    if not texts:
        return "Nothing yet: this is your first message."
    return f"{lead}\n\n> {textwrap.shorten(texts[0], 200, placeholder=' …')}"
