"""What the answers of a scope have cost."""

from __future__ import annotations

import datetime as dt

from ..abilities import CountsUsage
from ..counting import select_days
from ..counting import usage_day
from ..records import FORGOTTEN
from ..records import Scope
from ..records import UsageDay
from .moving import Mover
from .part import SQLPart
from .rows import usage_row
from .tables import usage_key

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

    def forget_usage(self, scope: Scope) -> int:
        nobody = Scope(FORGOTTEN, scope.chatbot)
        this = {"owner": scope.owner, "chatbot": scope.chatbot, "since": _FIRST, "until": _LAST}

        def forget(writer: Mover) -> int:
            # Locked, so that an answer that comes now is counted before or after it.
            rows = writer.rows(self._statements.lock_usage, this)
            for day, model, *counts in sorted(rows):
                writer.run(self._statements.add_usage, usage_row(nobody, day, model, counts))
                writer.run(self._statements.remove_usage, {"usage_key": usage_key(scope, day, model)})
            return len(rows)

        return self._write(forget, scope, nobody)
