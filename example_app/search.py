"""Finds the sections of Markdown files that answer a question."""

from __future__ import annotations

import collections
import collections.abc as cabc
import dataclasses
import math
import pathlib
import re

_HEADING = re.compile(r"#{1,6}\s+(.+?)\s*#*")
_FENCE = re.compile(r"\s*(```|~~~)")
_WORD = re.compile(r"[^\W_]{2,}")
_ENDINGS = ("ments", "ment", "ings", "ing", "ies", "ed", "es", "s", "y", "e")
_COMMON = frozenset(
    "a about all also am an and any are as at be been but by can could did do does for from get got had has have hello "
    "help her hi him his how if in into is it its just know like ll may me might much must my need not of off ok on "
    "one or our out over please re shall she should so some tell than thank thanks that the their them then there "
    "these they thing this time to too up us ve very want was way we were what when where which who whom whose why "
    "will with would yes yet you your".split()
)
_TITLE_WEIGHT = 3
_COVERED = 0.5
"""How much of a question's weight a section must hold to be called an answer."""


@dataclasses.dataclass(frozen=True)
class Section:
    """A heading and the Markdown below it."""

    page: str
    title: str
    text: str


class Knowledge:
    """Sections that can be searched.

    :ivar pages: the titles of the pages.
    """

    def __init__(self, sections: cabc.Iterable[Section]) -> None:
        self._sections = [(section, _weights(section)) for section in sections]
        self.pages = list(dict.fromkeys(section.page for section, _ in self._sections))
        self._spread = collections.Counter(word for _, weights in self._sections for word in weights)

    @classmethod
    def read(cls, folder: pathlib.Path) -> Knowledge:
        """Read the Markdown files of a folder and of the folders in it.

        :raises FileNotFoundError: if there are none.
        """
        files = sorted(folder.rglob("*.md"))
        if not files:
            raise FileNotFoundError(f"KNOWLEDGE_FOLDER: there are no Markdown files in {folder}")
        return cls(section for file in files for section in read_sections(file.read_text("utf-8"), file.stem))

    def search(self, question: str, limit: int) -> list[Section]:
        """Return the sections that answer a question, the best one first."""
        wanted = {word: self._rarity(word) for word in _words(question)}
        needed = _COVERED * sum(wanted.values())
        found = []
        for section, weights in self._sections:
            known = wanted.keys() & weights.keys()
            if known and sum(wanted[word] for word in known) >= needed:
                score = sum(wanted[word] * weights[word] / (weights[word] + 1) for word in known)
                found.append((score, section))
        # Sections that are as good stay in the order of the pages.
        return [section for _, section in sorted(found, key=lambda pair: -pair[0])[:limit]]

    def _rarity(self, word: str) -> float:
        return math.log(1 + len(self._sections) / (self._spread[word] or 0.5))


def read_sections(text: str, name: str) -> cabc.Iterator[Section]:
    """Split a Markdown text at its headings; the first one is the title of the page.

    :param name: the title of a page without a heading.
    """
    sections: list[tuple[str, list[str]]] = [(name, [])]
    in_code = False
    for line in text.splitlines():
        in_code ^= bool(_FENCE.match(line))
        heading = None if in_code else _HEADING.fullmatch(line)
        if heading:
            sections.append((heading[1], []))
        else:
            sections[-1][1].append(line)
    page = sections[1][0] if len(sections) > 1 else name
    for title, lines in sections:
        body = "\n".join(lines).strip()
        if body:
            yield Section(page, title, body)


def _weights(section: Section) -> collections.Counter[str]:
    weights = collections.Counter(_words(section.text))
    for word in {*_words(section.title), *_words(section.page)}:
        weights[word] += _TITLE_WEIGHT
    return weights


def _words(text: str) -> list[str]:
    return [_stem(word) for word in _WORD.findall(text.casefold()) if word not in _COMMON]


def _stem(word: str) -> str:
    """Cut the ending off an English word, so that "returned" finds "returns"."""
    ending = next((ending for ending in _ENDINGS if word.endswith(ending)), "")
    if len(word) - len(ending) >= 3:
        word = word.removesuffix(ending)
    return word[:-1] if len(word) > 3 and word[-1] == word[-2] else word
