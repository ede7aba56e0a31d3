"""The messages of a scope that hold a text."""

from __future__ import annotations

import collections.abc as cabc
import itertools
import logging
import operator
import sys
import typing as t

import sqlalchemy as sa

from ...errors import CorruptRecord
from ...events import log_event
from ...values import clean
from ..abilities import SearchesMessages
from ..folding import fold
from ..hiding import is_hidden
from ..records import Found
from ..records import Scope
from ..records import Search
from ..rules import check_range
from .conditions import Conditions
from .part import SQLPart
from .rows import bounded
from .rows import EVERYTHING
from .rows import hidden_of
from .rows import messages_of
from .tables import Tables
from .transaction import Row

logger = logging.getLogger(__name__)

_p = sa.bindparam


class SearchStatements:
    def __init__(self, tables: Tables, conditions: Conditions) -> None:
        thread, message = tables.thread, tables.message
        activity = thread.c.last_activity
        # What follows a row, in the order of the query.
        after = sa.or_(
            activity < _p("activity"),
            thread.c.thread_key < _p("after_key"),
            sa.and_(thread.c.thread_key == _p("after_key"), message.c.sequence < _p("before")),
        )
        self.find = (
            sa.select(
                thread.c.thread_key,
                activity,
                message.c.sequence,
                message.c.body,
                thread.c.hidden_ranges,
                thread.c.thread_id,
            )
            .join(message, message.c.thread_key == thread.c.thread_key)
            .where(thread.c.owner == _p("owner"), thread.c.chatbot == _p("chatbot"), conditions.alive())
            .where(activity <= _p("activity"), after)
            .where(conditions.holds(message.c.folded, _p("text")))
            .order_by(activity.desc(), thread.c.thread_key.desc(), message.c.sequence.desc())
            .limit(_p("limit"))
        )


class SQLSearch(SQLPart, SearchesMessages):
    """The ability, for the plugin whose database this is."""

    _search_statements: SearchStatements

    def search_messages(self, scope: Scope, text: str, *, limit: int | None = None) -> Search:
        check_range(limit, None, None)
        wanted = fold(clean(text))
        found: list[Found] = []
        complete = True
        if not wanted or limit == 0:
            return Search()
        parameters = {
            **self._times(),
            "owner": scope.owner,
            "chatbot": scope.chatbot,
            "text": wanted,
            "activity": sys.float_info.max,
            "after_key": "",
            "before": EVERYTHING,
        }
        while True:
            missing = bounded(None if limit is None else limit - len(found))
            rows = self._database.rows(self._search_statements.find, {**parameters, "limit": missing})
            for key, of_thread in itertools.groupby(rows, operator.itemgetter(0)):
                try:
                    found += _visible(key, of_thread)
                except CorruptRecord as error:
                    log_event(logger, logging.ERROR, "a thread is searched only in part", error)
                    complete = False
            if len(rows) < missing or len(found) == limit:
                return Search(found, complete)
            # Some are hidden.
            parameters |= zip(("after_key", "activity", "before"), rows[-1], strict=False)


def _visible(key: str, rows: cabc.Iterable[Row]) -> cabc.Iterator[Found]:
    rows = list(rows)
    hidden = hidden_of(rows[0][4], key)
    seen = [row for row in rows if not is_hidden(row[2], hidden)]
    messages = messages_of([row[2:4] for row in seen], key)
    return (Found(t.cast(str, row[5]), message) for row, message in zip(seen, messages, strict=True))
