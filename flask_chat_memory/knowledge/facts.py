"""Facts that the site tells the models of all owners."""

from __future__ import annotations

import builtins
import collections.abc as cabc
import contextlib
import secrets
import time

from ..errors import CorruptRecord
from ..errors import InvalidKnowledge
from ..message import timestamp
from ..plugins.base import Clock
from ..storage.domains import DomainStorage
from .values import checked_text

NAME = "global-facts"
MAX_FACT = 1000

CHANGING = "global-facts-changing"
"""Exists while somebody changes the facts."""
PATIENCE = 10.0
"""Seconds after which one who changes them counts as dead."""
PAUSE = 0.01
"""Seconds between two looks whether they are done."""


class GlobalFacts:
    """A list of texts in one document, written by the site's code; all who change it do so one after the other.

    :param storage: the domain ``facts``.
    :param clock: gives the UNIX time in seconds.
    """

    def __init__(self, storage: DomainStorage, *, clock: Clock = time.time) -> None:
        self._storage = storage
        self._clock = clock

    def list(self) -> list[str]:
        """Return the facts in the order in which they were added.

        :raises CorruptRecord: if the document holds none.
        """
        document = self._storage.load(NAME)
        facts = [] if document is None else document.get("facts")
        if not isinstance(facts, list) or not all(isinstance(fact, str) for fact in facts):
            raise CorruptRecord(f"the document {NAME!r} has no list of texts under 'facts'")
        return facts

    def add(self, text: str) -> bool:
        """Add a fact; tell whether it is new.

        :raises InvalidKnowledge: for what is no text of 1 to 1,000 characters.
        """
        fact = checked_text(text, "text", MAX_FACT)
        with self._alone():
            facts = self.list()
            if fact in facts:
                return False
            self._save([*facts, fact])
            return True

    def remove(self, text: str) -> bool:
        """Remove a fact; tell whether it was there."""
        with self._alone():
            facts = self.list()
            if text not in facts:
                return False
            self._save([fact for fact in facts if fact != text])
            return True

    def replace(self, texts: cabc.Iterable[str]) -> None:
        """Replace all facts.

        :raises InvalidKnowledge: for what is no text of 1 to 1,000 characters, and for one text alone; nothing is
            changed.
        """
        if isinstance(texts, str):
            raise InvalidKnowledge("texts", "must be a list of texts")
        facts = [checked_text(text, f"texts[{place}]", MAX_FACT) for place, text in enumerate(texts)]
        with self._alone():
            self._save([*dict.fromkeys(facts)])

    @contextlib.contextmanager
    def _alone(self) -> cabc.Iterator[None]:
        seen, since = None, time.monotonic()
        while not self._storage.create(CHANGING, {"by": secrets.token_hex(8)}):
            by = (self._storage.load(CHANGING) or {}).get("by")
            if by != seen:
                seen, since = by, time.monotonic()
            elif time.monotonic() - since >= PATIENCE:
                self._storage.delete(CHANGING)
            time.sleep(PAUSE)
        try:
            yield
        finally:
            self._storage.delete(CHANGING)

    def _save(self, facts: builtins.list[str]) -> None:
        self._storage.save(NAME, {"facts": facts, "updated_at": timestamp(self._clock())})
