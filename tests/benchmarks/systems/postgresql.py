"""PostgreSQL: psycopg alone, and the plugin."""

from __future__ import annotations

import collections.abc as cabc
import functools

import msgspec
import psycopg
import sqlalchemy as sa

from flask_chat_memory.plugins.folding import fold
from tests.benchmarks.store import Body
from tests.benchmarks.systems.servers import both
from tests.benchmarks.systems.servers import COLUMNS
from tests.benchmarks.systems.servers import RawServer
from tests.benchmarks.systems.servers import thread_row
from tests.benchmarks.systems.servers import VALUES
from tests.sql_servers import POSTGRESQL
from tests.sql_servers import schema_in

_APPEND = f"""
    WITH touched AS (
        INSERT INTO chat_memory_thread AS thread ({COLUMNS}) VALUES ({VALUES})
        ON CONFLICT (thread_key) DO UPDATE SET
            sequence = thread.sequence + excluded.sequence,
            messages = thread.messages + excluded.messages,
            last_activity = excluded.last_activity
        RETURNING sequence - %(added)s AS last
    )
    INSERT INTO chat_memory_message (thread_key, sequence, message_id, turn, role, body, folded)
    SELECT %(thread)s, last + place, message_id, turn, role, body, folded FROM touched, unnest(
        %(ids)b::text[], %(turns)b::text[], %(roles)b::text[], %(bodies)b::text[], %(folded)b::text[]
    ) WITH ORDINALITY AS batch (message_id, turn, role, body, folded, place)
"""
_DELETE = """
    WITH removed AS (DELETE FROM chat_memory_message WHERE thread_key = %(thread)s)
    DELETE FROM chat_memory_thread WHERE thread_key = %(thread)s
"""
_TABLES = ", ".join(f"chat_memory_{name}" for name in ("thread", "message", "append_key", "current", "live"))


class RawPostgreSQL(RawServer):
    """Data-modifying CTEs, which psycopg prepares."""

    name = "raw psycopg"

    def __init__(self, url: sa.URL) -> None:
        address = url.set(drivername="postgresql").render_as_string(hide_password=False)
        super().__init__(psycopg.connect(address, autocommit=True))

    def add(self, owner: str, messages: cabc.Sequence[Body]) -> None:
        values = {
            "ids": [message["id"] for message in messages],
            "turns": [message["turn"] for message in messages],
            "roles": [message["role"] for message in messages],
            "bodies": [msgspec.json.encode(message).decode() for message in messages],
            "folded": [fold(message["content"]) for message in messages],
        }
        with self.connection.cursor() as cursor:
            cursor.execute(_APPEND, {**thread_row(owner, len(messages)), **values})

    def delete(self, owner: str) -> None:
        with self.connection.cursor() as cursor:
            cursor.execute(_DELETE, thread_row(owner, 0))

    def cut(self, length: int) -> None:
        super().cut(length)
        # Or what was cut is read again and again, until the server thinks of it.
        self.connection.execute(f"VACUUM {_TABLES}")

    def analyze(self) -> None:
        self.connection.execute(f"ANALYZE {_TABLES}")


systems = functools.partial(both, POSTGRESQL, schema_in, RawPostgreSQL)
