"""The summary of a conversation, and making it by hand."""

from __future__ import annotations

from .errors import ConfigurationError
from .location import Located
from .place import Place
from .short_term.summary import Summary
from .summarising import Summarising


class OwnSummary(Located):
    """What an owner and a chatbot have said to each other, in fewer words."""

    _summarising: Summarising | None

    @property
    def summary(self) -> Summary | None:
        """The summary of the thread with its key facts; None if there is none."""
        place = self._place()
        return None if place is None or self._summarising is None else self._summarising.summaries.holding(place)

    def summarize(self) -> Summary | None:
        """Summarise the thread now, all but its newest turns, and return the summary; None if there is none.

        What another worker is doing just now is left to it. What the site's functions raise is raised.

        :raises ConfigurationError: if the chatbot has no summaries.
        :raises ValueError: if what the summarizer made is blank, or no shorter than what it stands for.
        :raises TypeError: if it is no text.
        """
        summarising, place = self._required(), self._place()
        if place is None:
            return None
        summarising.make(place, by_hand=True)
        return summarising.summaries.holding(place)

    def extract_facts(self) -> tuple[str, ...]:
        """Find the key facts in the newest messages that no summary covers, keep them, and return all of the thread.

        :raises ConfigurationError: if the chatbot has no summaries.
        :raises TypeError: if the fact extractor returns no texts.
        """
        summarising, place = self._required(), self._place()
        return () if place is None else summarising.extract_facts(place)

    def _required(self) -> Summarising:
        if self._summarising is None:
            raise ConfigurationError(
                f"chatbot {self.chatbot!r} has no summaries: give it a plugin, a storage for the domain 'summaries', "
                "and {'type': 'hierarchical'} as its short-term memory"
            )
        return self._summarising

    def _place(self) -> Place | None:
        location = self._location()
        return location.place if location else None
