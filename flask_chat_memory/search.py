"""Searching what was said in the threads of an owner, and their titles."""

from __future__ import annotations

import collections.abc as cabc
import dataclasses
import itertools
import unicodedata

from .errors import RequestRefused
from .location import Located
from .plugins.abilities import SearchesMessages
from .plugins.folding import fold
from .threads import lister
from .threads import unable

MAX_TEXT = 200
"""Characters that can be searched for."""
EXCERPT = 120
"""Characters of a message that are shown where it was found."""


@dataclasses.dataclass(frozen=True)
class Hit:
    """A place where a text was found: a message, or the title of a thread.

    :param message_id: None for a title; ``text`` and ``role``, too.
    :param text: of the message around what was found, in one line.
    """

    thread_id: str
    title: str | None = None
    message_id: str | None = None
    text: str | None = None
    role: str | None = None


@dataclasses.dataclass(frozen=True)
class Hits:
    """What a search has found.

    :param found: the thread with the newest activity comes first, in a thread its newest message.
    :param complete: whether that is all that there is.
    """

    found: cabc.Sequence[Hit] = ()
    complete: bool = True


class OwnSearch(Located):
    """The search in the threads that an owner has with a chatbot."""

    def search(self, text: str, limit: int = 50) -> Hits:
        """Find a text in the messages of the owner's threads, and in the titles of those whose messages lack it.

        Case and accents do not count. The text is taken as it is, and found within words, too.

        :param limit: hits; at least 1.
        :raises RequestRefused: 400 for no text, or one of more than 200 characters.
        :raises ConfigurationError: if the plugin cannot search or list threads.
        """
        if limit < 1:
            raise ValueError("limit must be at least 1")
        if not text.strip() or len(text) > MAX_TEXT:
            raise RequestRefused(400, f"Search for 1 to {MAX_TEXT} characters.")
        plugin, scope = self._plugin, self._scope()
        if plugin is None or scope is None:
            return Hits()
        if not isinstance(plugin, SearchesMessages):
            raise unable(plugin, "search messages", SearchesMessages)
        threads = lister(plugin).list_threads(scope)
        search = plugin.search_messages(scope, text, limit=limit + 1)
        folded = fold(text)
        in_thread = {
            thread_id: [found.message for found in hits]
            for thread_id, hits in itertools.groupby(search.found, key=lambda found: found.thread_id)
        }
        found: list[Hit] = []
        for thread in threads:
            messages = in_thread.get(thread.id, ())
            found += [
                Hit(thread.id, thread.title, message.id, excerpt(message.text, folded), message.role)
                for message in messages
            ]
            if not messages and folded and thread.title is not None and folded in fold(thread.title):
                found.append(Hit(thread.id, thread.title))
        return Hits(found[:limit], search.complete and len(found) <= limit)


def excerpt(text: str, folded: str, length: int = EXCERPT) -> str:
    """Return text around the first place where it holds what was searched for, as one line.

    :param folded: what was searched for, folded.
    :param length: characters, besides those that say that something was left out.
    """
    place = max(fold(text).find(folded), 0)
    # Folding makes some characters longer, and others vanish.
    ends = itertools.accumulate(len(fold(character)) for character in text)
    start = next((number for number, end in enumerate(ends) if end > place), 0)
    start = max(0, min(start - length // 3, len(text) - length))
    # An accent stays with its letter.
    start += sum(1 for _ in itertools.takewhile(unicodedata.combining, text[start:])) if start else 0
    cut = " ".join(text[start : start + length].split())
    return f"{'…' if start else ''}{cut}{'…' if start + length < len(text) else ''}"
