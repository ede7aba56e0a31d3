"""Summaries and facts without a model: sentences that were said, as they were said.

The summary is lead extraction: of each message its first sentence. The facts are what the user stated. Neither
understands anything; both work offline and in every language.
"""

from __future__ import annotations

import collections.abc as cabc
import re
import typing as t

LONGEST = 200
"""Characters of a sentence; what is longer is cut."""
MOST_LINES = 60
"""Lines of a summary; beyond that the oldest go."""
SHORTEST = 8
"""Characters of a statement: what is shorter says yes, or thanks."""

# As text: it is compiled when it is first looked for.
_ENDS = r"(?<=[.!?\u061f\u0964])\s+|(?<=[\u3002\uff01\uff1f])|\n+"
_ASKS = ("?", "\uff1f", "\u061f")

Message = cabc.Mapping[str, t.Any]


def lead(previous: str | None, messages: cabc.Sequence[Message], fits: cabc.Callable[[str], bool]) -> str:
    """Return the previous summary with a line for each message: who, and the first sentence.

    :param fits: tells whether a text is short enough; while it is not, the oldest line goes.
    """
    lines = (previous or "").splitlines()
    for message in messages:
        sentence = next(_sentences(message), None)
        if sentence:
            lines.append(f"{str(message['role']).capitalize()}: {sentence}")
    lines = lines[-MOST_LINES:]
    while lines and not fits("\n".join(lines)):
        del lines[0]
    return "\n".join(lines)


def statements(_facts: cabc.Sequence[str], messages: cabc.Sequence[Message]) -> list[str]:
    """Return the sentences of the user that ask nothing."""
    said = (sentence for message in messages if message["role"] == "user" for sentence in _sentences(message))
    return [sentence for sentence in said if len(sentence) >= SHORTEST and not sentence.endswith(_ASKS)]


def _sentences(message: Message) -> cabc.Iterator[str]:
    for sentence in re.split(_ENDS, message.get("content") or ""):
        line = " ".join(sentence.split())
        if line:
            yield line if len(line) <= LONGEST else f"{line[: LONGEST - 1]}…"
