"""The ability of a plugin to count what answers cost."""

from __future__ import annotations

import abc
import datetime as dt

from ..records import Scope
from ..records import UsageDay


class CountsUsage(abc.ABC):
    """The ability to count what answers cost, in a ledger that holds no content and outlives the threads.

    An append with ``reply_to`` is an answer: in the same step, its turn and its usage are added to the day, of UTC. A
    repeat adds nothing. An answer that is not stored because its question is gone has cost as much, and counts.
    Whatever else is stored (replaced, imported, moved) does not count, and moving threads moves no usage.
    """

    @abc.abstractmethod
    def list_usage(self, scope: Scope, *, since: dt.date | None = None, until: dt.date | None = None) -> list[UsageDay]:
        """Return what the answers of the scope have cost, by day and model, in this order.

        :param since: the first day; ``until`` is the last one.
        """

    @abc.abstractmethod
    def forget_usage(self, scope: Scope) -> int:
        """Add the ledger of a scope to that of the owner ``forgotten``, and remove it; return how many lines it had.

        Interrupted anywhere and done again, every line is added once.
        """
