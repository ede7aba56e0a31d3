"""How the context window of a model is used."""

from __future__ import annotations

import msgspec


class Budget(msgspec.Struct, frozen=True, kw_only=True):
    """What a turn sends, in tokens, as far as they can be estimated before the model has counted them.

    :param context_window: what the model takes, answer included.
    :param reserve: is kept free for the answer; ``margin`` for what the estimate may have missed.
    :param factor: by which the estimates were corrected, for the model has counted earlier ones.
    :param turns: of the conversation before the question, as far as they are known.
    :param dropped: those of them that the model does not see, or only the question of; 0 if all fit.
    :param tokenizer_failed: the tokenizer of the site did, and bytes were counted instead.
    """

    context_window: int
    reserve: int
    margin: int
    factor: float = 1.0
    system: int = 0
    knowledge: int = 0
    summary: int = 0
    facts: int = 0
    tools: int = 0
    history: int = 0
    question: int = 0
    turns: int = 0
    dropped: int = 0
    tokenizer_failed: bool = False

    @property
    def parts(self) -> dict[str, int]:
        """What each takes of that which is sent, in the order in which it is."""
        names = ("system", "knowledge", "summary", "facts", "tools", "history", "question")
        return {name: getattr(self, name) for name in names}

    @property
    def sent(self) -> int:
        """All that is sent."""
        return sum(self.parts.values())

    @property
    def left(self) -> int:
        """What there is room for besides; negative if it does not fit."""
        return self.context_window - self.reserve - self.margin - self.sent
