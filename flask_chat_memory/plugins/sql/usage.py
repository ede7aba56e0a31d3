"""What the answers of a scope have cost."""

from __future__ import annotations

import datetime as dt

from ..abilities import CountsUsage
from ..counting import select_days
from ..counting import usage_day
from ..records import Scope
from ..records import UsageDay
from .part import SQLPart

_FIRST = dt.date.min.isoformat()
_LAST = dt.date.max.isoformat()


class SQLUsage(SQLPart, CountsUsage):
    """The ability, for the plugin whose database this is."""

    def list_usage(self, scope: Scope, *, since: dt.date | None = None, until: dt.date | None = None) -> list[UsageDay]:
        parameters = {
            "owner": scope.owner,
            "chatbot": scope.chatbot,
            "since": since.isoformat() if since else _FIRST,
            "until": until.isoformat() if until else _LAST,
        }
        rows = self._database.rows(self._statements.list_usage, parameters)
        return select_days(usage_day(scope.chatbot, day, model, counts) for day, model, *counts in rows)
