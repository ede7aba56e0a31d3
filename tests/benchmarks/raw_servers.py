"""The drivers of PostgreSQL and MariaDB alone: the same tables, the fewest statements that store the same messages."""

from __future__ import annotations

import collections.abc as cabc
import time
import typing as t

import msgspec
import psycopg
import pymysql
import sqlalchemy as sa

from tests.benchmarks.store import Body
from tests.benchmarks.store import SCOPE
from tests.benchmarks.store import THREAD_ID
from tests.benchmarks.store import THREAD_KEY

_COLUMNS = "thread_key, owner, chatbot, thread_id, created_at, last_activity, sequence, messages, tokens"
_VALUES = "%(thread)s, %(owner)s, %(chatbot)s, %(thread_id)s, %(now)s, %(now)s, %(added)s, %(added)s, 0"
_APPEND = f"""
    WITH touched AS (
        INSERT INTO chat_memory_thread AS thread ({_COLUMNS}) VALUES ({_VALUES})
        ON CONFLICT (thread_key) DO UPDATE SET
            sequence = thread.sequence + excluded.sequence,
            messages = thread.messages + excluded.messages,
            last_activity = excluded.last_activity
        RETURNING sequence - %(added)s AS last
    )
    INSERT INTO chat_memory_message (thread_key, sequence, message_id, turn, role, body)
    SELECT %(thread)s, last + place, message_id, turn, role, body FROM touched, unnest(
        %(ids)s::text[], %(turns)s::text[], %(roles)s::text[], %(bodies)s::text[]
    ) WITH ORDINALITY AS batch (message_id, turn, role, body, place)
"""
_TOUCH = f"""
    INSERT INTO chat_memory_thread ({_COLUMNS}) VALUES ({_VALUES})
    ON DUPLICATE KEY UPDATE
        sequence = LAST_INSERT_ID(sequence + VALUES(sequence)),
        messages = messages + VALUES(messages),
        last_activity = VALUES(last_activity)
"""
_INSERT = """
    INSERT INTO chat_memory_message (thread_key, sequence, message_id, turn, role, body) VALUES (%s, %s, %s, %s, %s, %s)
"""
_NEWEST = "SELECT body FROM chat_memory_message WHERE thread_key = %s ORDER BY sequence DESC LIMIT %s"
_ALL = "SELECT body FROM chat_memory_message WHERE thread_key = %s ORDER BY sequence"


class RawServer:
    """One connection for ever."""

    name: str
    _connection: t.Any

    def message(self, body: Body) -> Body:
        return body

    def load(self, limit: int | None) -> list[Body]:
        with self._connection.cursor() as cursor:
            cursor.execute(*(_ALL, (THREAD_KEY,)) if limit is None else (_NEWEST, (THREAD_KEY, limit)))
            rows = list(cursor.fetchall())
        if limit is not None:
            rows.reverse()
        return [msgspec.json.decode(body) for (body,) in rows]

    def append(self, messages: cabc.Sequence[Body], key: str) -> None:
        raise NotImplementedError

    def turn(self, question: Body, answer: Body, limit: int) -> None:
        self.load(limit)
        self.append([question], "")
        self.append([answer], "")

    def cut(self, length: int) -> None:
        cut(self._connection, length)

    def close(self) -> None:
        self._connection.close()


class RawPostgreSQL(RawServer):
    """A data-modifying CTE, which psycopg prepares."""

    name = "raw psycopg"

    def __init__(self, url: sa.URL) -> None:
        self._connection = psycopg.connect(
            url.set(drivername="postgresql").render_as_string(hide_password=False), autocommit=True
        )

    def append(self, messages: cabc.Sequence[Body], key: str) -> None:
        values = {
            "ids": [message["id"] for message in messages],
            "turns": [message["turn"] for message in messages],
            "roles": [message["role"] for message in messages],
            "bodies": [msgspec.json.encode(message).decode() for message in messages],
        }
        with self._connection.cursor() as cursor:
            cursor.execute(_APPEND, {**_thread(messages), **values})


class RawMariaDB(RawServer):
    """A transaction of two statements, for there is none that inserts into two tables."""

    name = "raw PyMySQL"

    def __init__(self, url: sa.URL) -> None:
        self._connection = pymysql.connect(
            host=url.host,
            port=url.port or 3306,
            user=url.username,
            password=url.password or "",
            database=url.database,
            autocommit=True,
        )

    def append(self, messages: cabc.Sequence[Body], key: str) -> None:
        connection = self._connection
        connection.begin()
        try:
            with connection.cursor() as cursor:
                cursor.execute(_TOUCH, _thread(messages))
                first = cursor.lastrowid - len(messages) + 1
                cursor.executemany(
                    _INSERT,
                    [
                        (
                            THREAD_KEY,
                            first + place,
                            message["id"],
                            message["turn"],
                            message["role"],
                            msgspec.json.encode(message).decode(),
                        )
                        for place, message in enumerate(messages)
                    ],
                )
            connection.commit()
        except BaseException:
            connection.rollback()
            raise


def _thread(messages: cabc.Sequence[Body]) -> dict[str, t.Any]:
    return {
        "thread": THREAD_KEY,
        "owner": SCOPE.owner,
        "chatbot": SCOPE.chatbot,
        "thread_id": THREAD_ID,
        "now": time.time(),
        "added": len(messages),
    }


def cut(connection: t.Any, length: int) -> None:
    """Bring the thread back to its length after the appends of a visit."""
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM chat_memory_message WHERE thread_key = %s AND sequence > %s", (THREAD_KEY, length))
        cursor.execute("DELETE FROM chat_memory_append_key WHERE thread_key = %s", (THREAD_KEY,))
        cursor.execute(
            "UPDATE chat_memory_thread SET sequence = %s, messages = %s WHERE thread_key = %s",
            (length, length, THREAD_KEY),
        )
