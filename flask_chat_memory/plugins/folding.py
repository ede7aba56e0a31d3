"""Text as it is searched: without case and accents."""

from __future__ import annotations

import unicodedata

from ..message import ChatMessage
from ..outline import OutlinedMessage


def fold(text: str) -> str:
    """Return text in which letters are equal that differ in case or accents only; works in scripts without spaces.

    It is the compatibility decomposition, casefolded, without nonspacing marks and without characters that only format,
    such as soft hyphens (Unicode Standard, section 3.13).
    """
    if text.isascii():
        return text.lower()
    decomposed = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", text).casefold())
    return "".join(character for character in decomposed if unicodedata.category(character) not in ("Mn", "Cf"))


def searched_text(message: ChatMessage) -> str | None:
    """Return what a search looks at: the folded text of a question or an answer; None if there is none."""
    if message.role not in ("user", "assistant") or isinstance(message, OutlinedMessage):
        return None
    return fold(message.text) or None
