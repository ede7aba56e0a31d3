"""What was said in a part of a conversation, in fewer words, and the facts that came up in it."""

from __future__ import annotations

import collections.abc as cabc
import html
import typing as t

import msgspec

from ..errors import CorruptRecord
from ..values import clean

MAX_FACTS = 50
"""Key facts of a thread; beyond that the oldest go."""
MAX_FACT = 500
"""Characters of a key fact; what is longer is cut."""
TYPE = "conversation_summary"
_SUMMARY = "## Summary"
_FACTS = "## Key Facts"


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """Stands for a range of messages in what the model sees.

    :param first: the sequence of the first message that is covered, ``last`` that of the last one; 0 if none is.
    :param last_id: the id of the message ``last``.
    :param read: the sequence of the last message that facts were looked for in by hand; 0 if that was not done.
    :param read_id: the id of the message ``read``.
    :param turns: how many are covered.
    :param facts: each one line, the newest last.
    :param tokens: of text and facts, as estimated.
    :param timestamp: when it was made: ISO 8601, UTC.
    """

    thread_id: str
    first: int = 0
    last: int = 0
    last_id: str | None = None
    read: int = 0
    read_id: str | None = None
    turns: int = 0
    text: str = ""
    facts: tuple[str, ...] = ()
    tokens: int = 0
    timestamp: str

    @property
    def end(self) -> tuple[int, str | None]:
        """Sequence and id of the message without which it does not hold."""
        return (self.last, self.last_id) if self.last else (self.read, self.read_id)

    def to_document(self) -> dict[str, t.Any]:
        """Return what is stored: Markdown where people read it."""
        facts = "".join(f"- {fact}\n" for fact in self.facts)
        return {
            "type": TYPE,
            "thread_id": self.thread_id,
            "timestamp": self.timestamp,
            "tokens": self.tokens,
            "first": self.first,
            "last": self.last,
            "last_id": self.last_id,
            "read": self.read,
            "read_id": self.read_id,
            "turns": self.turns,
            "text": f"{_SUMMARY}\n\n{self.text}\n\n{_FACTS}\n\n{facts}".rstrip("\n"),
        }

    @classmethod
    def from_document(cls, document: cabc.Mapping[str, t.Any]) -> Summary:
        """Return the summary of a document, which people may have edited.

        :raises CorruptRecord: if it is none.
        """
        # A summary may have the heading in it, as a line of its own a fact has not: the last one counts.
        text, heading, facts = f"\n{document.get('text', '')}\n".rpartition(f"\n{_FACTS}\n")
        values = {name: document.get(name) for name in cls.__struct_fields__}
        numbers = [values[name] for name in ("first", "last", "read", "turns", "tokens")]
        texts = [values["thread_id"], values["timestamp"], values["last_id"] or "", values["read_id"] or ""]
        if (
            document.get("type") != TYPE
            or not heading
            or not all(type(number) is int and number >= 0 for number in numbers)
            or not all(isinstance(value, str) for value in texts)
        ):
            raise CorruptRecord("a stored summary cannot be read")
        lines = (line.removeprefix("- ") for line in facts.splitlines())
        values |= {"text": text.strip().removeprefix(_SUMMARY).strip(), "facts": merged((), lines)}
        return cls(**t.cast("dict[str, t.Any]", values))


def inert(text: str) -> str:
    """Return text as a model is shown it, which can neither end its block nor begin another."""
    return html.escape(text, quote=False)


def merged(known: cabc.Iterable[str], new: cabc.Iterable[object]) -> tuple[str, ...]:
    """Return facts with new ones behind them, each once and on one line; the newest are kept.

    :raises TypeError: if one is no text.
    """
    facts: dict[str, str] = {}
    for fact in (*known, *new):
        if not isinstance(fact, str):
            raise TypeError(f"a fact is text, not {type(fact).__name__}")
        line = " ".join(clean(fact).split())[:MAX_FACT]
        if line:
            # Said again, it is new again.
            facts.pop(line.casefold(), None)
            facts[line.casefold()] = line
    return tuple(facts.values())[-MAX_FACTS:]
