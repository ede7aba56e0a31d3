"""An append to a thread of PostgreSQL in one statement, and so in one round trip."""

from __future__ import annotations

import dataclasses
import typing as t

import msgspec
import sqlalchemy as sa

from ...values import clean
from ..counting import COUNTED
from ..counting import total_tokens
from ..options import PluginOptions
from .rows import Append
from .rows import bounded
from .rows import columns_of
from .rows import times
from .rows import usage_rows
from .tables import id_key
from .tables import scope_key
from .tables import Tables
from .tables import thread_key

# A statement sees the tables as they were when it began, also after it has waited for another to let go of the row of
# the thread; only that row itself it sees anew. So it stores an answer only if the row has not changed meanwhile, for
# whoever removes a question changes it. A key that was stored meanwhile violates the primary key.
# Arrays go in their binary form, which costs the driver a tenth of quoting texts.
_STATEMENT = """
WITH asked AS (
    SELECT xmin FROM {thread} AS thread WHERE thread_key = %(thread)s::text AND lines IS NULL AND EXISTS (
        SELECT FROM {message} AS message
        WHERE message.thread_key = thread.thread_key AND message.message_id = %(reply_to)s::text
    )
), touched AS (
    UPDATE {thread} AS thread SET
        sequence = thread.sequence + %(added)s::bigint,
        messages = thread.messages + %(added)s::bigint,
        tokens = thread.tokens + %(tokens)s::bigint,
        last_activity = %(now)s::float8
    WHERE thread.thread_key = %(thread)s::text
        AND thread.messages + %(added)s::bigint <= %(max_messages)s::bigint
        AND {alive}
        AND EXISTS (
            SELECT FROM {current} AS current JOIN {thread} AS thread USING (thread_key)
            WHERE current.scope_key = %(scope)s::text AND {alive}
        )
        AND NOT EXISTS (
            SELECT FROM {append_key} AS known
            WHERE known.thread_key = thread.thread_key AND known.append_key = %(key)s::text
        )
        AND (%(reply_to)s::text IS NULL OR thread.xmin = (SELECT xmin FROM asked))
    RETURNING thread.sequence - %(added)s::bigint AS last
), stored AS (
    INSERT INTO {message} (thread_key, sequence, message_id, turn, role, body, folded)
    SELECT %(thread)s::text, last + place, message_id, turn, role, body, folded FROM touched, unnest(
        %(message_ids)b::text[], %(turns)b::text[], %(roles)b::text[], %(bodies)b::text[], %(folded)b::text[]
    ) WITH ORDINALITY AS batch (message_id, turn, role, body, folded, place)
), known AS (
    INSERT INTO {append_key} (thread_key, append_key, sequence)
    SELECT %(thread)s::text, %(key)s::text, last + 1 FROM touched
){parts}
SELECT last + 1 FROM touched
"""
# A maximum, for the planner takes EXISTS on an empty table for no work at all, and would ask it of every thread.
ALIVE = """(thread.last_activity >= %(cutoff)s::float8 OR (
    SELECT max(lease) FROM {live} AS live WHERE live.thread_key = thread.thread_key
) > %(now)s::float8)"""
_BEGINS = """, begun AS (
    INSERT INTO {live} (thread_key, turn, question_id, answer_id, lease, question_sequence)
    SELECT %(thread)s::text, %(turn)s::text, %(question_id)s::text, %(answer_id)s::text, %(lease)s::float8, last + 1
    FROM touched
)"""
_ENDS = """, ended AS (
    DELETE FROM {live} AS live USING touched WHERE live.thread_key = %(thread)s::text AND live.turn = %(turn)s::text
)"""
_COUNTS = f""", counted AS (
    INSERT INTO {{usage}} AS usage (usage_key, owner, chatbot, day, model, {", ".join(COUNTED)})
    SELECT added.* FROM touched, json_to_recordset(%(usage)s::json) AS added (
        usage_key text, owner text, chatbot text, day text, model text,
        {", ".join(f"more_{name} bigint" for name in COUNTED)}
    )
    ON CONFLICT (usage_key) DO UPDATE SET {", ".join(f"{name} = usage.{name} + excluded.{name}" for name in COUNTED)}
)"""


def names_for(tables: Tables, dialect: sa.Dialect) -> dict[str, str]:
    """Return the names of the tables as they stand in a statement."""
    quote = dialect.identifier_preparer.format_table
    return {field.name: quote(getattr(tables, field.name)) for field in dataclasses.fields(tables)}


class OneStatementAppend:
    """Appends where nothing is out of the ordinary.

    That is to a thread that is there and has room, in a scope that has a current one, with a new key; an answer, to a
    thread of one line.
    """

    def __init__(self, tables: Tables, options: PluginOptions, dialect: sa.Dialect) -> None:
        names = names_for(tables, dialect)
        alive = ALIVE.format(**names)
        self._plain, self._replies, self._begins, self._ends = (
            " ".join(_STATEMENT.format(**names, parts=parts.format(**names), alive=alive).split())
            for parts in ("", _COUNTS, _BEGINS, _COUNTS + _ENDS)
        )
        self._options = options

    def statement(self, append: Append, now: float) -> tuple[str, dict[str, t.Any]]:
        """Return the statement for a batch that is not empty, and its parameters; the result is its sequence."""
        columns = [columns_of(message) for message in append.messages]
        values: dict[str, t.Any] = {
            "thread": thread_key(append.scope, append.thread_id),
            "scope": scope_key(append.scope),
            "key": append.key,
            "reply_to": None if append.reply_to is None else id_key(clean(append.reply_to)),
            "added": len(columns),
            "tokens": total_tokens(append.messages),
            "max_messages": bounded(self._options.max_messages),
            "message_ids": [column["message_id"] for column in columns],
            "turns": [column["turn"] for column in columns],
            "roles": [column["role"] for column in columns],
            "bodies": [column["body"] for column in columns],
            "folded": [column["folded"] for column in columns],
            **times(self._options, now),
        }
        if append.reply_to is not None:
            rows = usage_rows(append.scope, append.messages, now)
            values["usage"] = msgspec.json.encode(rows).decode()
        if append.begins:
            live = append.begins
            values |= {"turn": live.turn, "question_id": live.question_id, "answer_id": live.answer_id}
            return self._begins, {**values, "lease": live.lease}
        if append.ends is not None:
            return self._ends, {**values, "turn": append.ends}
        return self._plain if append.reply_to is None else self._replies, values
