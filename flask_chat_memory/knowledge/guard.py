"""Refuses "memories" that are orders to the assistant: a heuristic, which stops plain attempts and no clever ones."""

from __future__ import annotations

import collections.abc as cabc
import re
import unicodedata

from ..plugins.folding import fold

Guard = cabc.Callable[[str], str | None]
"""Takes the text of a memory that a model wants to add; returns why not, as the end of a sentence, or None."""

_ORDERS = "|".join(
    (
        # English, German, French, Spanish, Italian, Portuguese, Dutch; folded: without case and accents.
        r"(?:ignore|disregard|forget|override|bypass)\b.{0,40}\b(?:instructions?|rules?|prompts?|guidelines?|policy|above|previous)",
        r"(?:ignorier|vergiss|missachte|umgehe)\w*\b.{0,40}\b(?:anweisung|regel|vorgabe|prompt)\w*",
        r"(?:ignore[rz]?|oublie[rz]?)\b.{0,40}\b(?:instructions?|consignes?|regles?)",
        r"(?:ignora|ignore|olvida|ignorare|dimentica|esqueca)\w*\b.{0,40}\b(?:instrucciones|reglas|istruzioni|regole|instrucoes|regras)",
        r"negeer\b.{0,40}\b(?:instructies|regels)",
        r"(?:system|developer) (?:prompt|message|instructions?)",
        r"(?:from|starting) (?:now|this point|here) on|you (?:must|have to) (?:answer|call|ignore|obey|recommend|say)",
        r"you are (?:now|no longer)|act as|pretend (?:to be|you)|role ?play as|new instructions?",
        r"(?:always|never|must|only) (?:answer|respond|reply|say|tell|recommend|mention|include|begin|output|write)",
        r"(?:answer|respond|reply) (?:always|only (?:in|with|as))|answer every|tell (?:every|all) (?:user|visitor)s?",
        r"immer\b.{0,30}\bantworten|toujours repondre",
        r"(?:antworte|sage?|empfiehl|erwahne) (?:immer|nie|niemals|nur)|ab jetzt|du bist (?:jetzt|nun)",
        r"(?:reponds|reponde[rz]|dis) (?:toujours|jamais)|desormais|responde? (?:siempre|sempre)|de ahora en adelante",
        r"(?:do not|don'?t) (?:tell|reveal|mention|warn|refuse|follow)|without (?:telling|asking) the user",
        r"(?:reveal|print|show|repeat|send|leak|forward|exfiltrate)\b.{0,40}\b(?:prompt|instructions?|passwords?|secrets?|keys?|tokens?|conversations?|messages?|history)",
        r"jailbreak|developer mode|prompt injection",
    )
)
_REASONS = (
    # As text, for most sites never need them: they are compiled when they are first looked for.
    (
        r"(?i)https?:|ftp:|data:\w+/|javascript:|www\.|\]\(|!\[",
        "it holds an address, which could be fetched",
    ),
    (
        r"(?im)<\|?/?\w|\|>|\[/?(?:inst|system)\]|^[^\w\n]*(?:system|assistant|developer|tool|user|human|ai)\s*[:>]",
        "it imitates the marks of a conversation",
    ),
    (rf"(?s)\b(?:{_ORDERS})\b", "it reads like an order to the assistant"),
)


def refuse_orders(text: str) -> str | None:
    """Return why a text should not become a memory; None if nothing speaks against it."""
    # Characters that nobody sees could stand between the letters of a word.
    visible = "".join(character for character in text if unicodedata.category(character) != "Cf")
    folded = fold(unicodedata.normalize("NFKC", visible))
    return next((reason for pattern, reason in _REASONS if re.search(pattern, folded)), None)
