"""MariaDB: PyMySQL alone, and the plugin."""

from __future__ import annotations

import collections.abc as cabc
import contextlib
import functools

import msgspec
import pymysql
import sqlalchemy as sa

from flask_chat_memory.plugins.folding import fold
from tests.benchmarks.store import Body
from tests.benchmarks.systems.servers import both
from tests.benchmarks.systems.servers import COLUMNS
from tests.benchmarks.systems.servers import RawServer
from tests.benchmarks.systems.servers import thread_row
from tests.benchmarks.systems.servers import VALUES
from tests.sql_servers import database_in
from tests.sql_servers import MARIADB

_TOUCH = f"""
    INSERT INTO chat_memory_thread ({COLUMNS}) VALUES ({VALUES})
    ON DUPLICATE KEY UPDATE
        sequence = LAST_INSERT_ID(sequence + VALUES(sequence)),
        messages = messages + VALUES(messages),
        last_activity = VALUES(last_activity)
"""
_INSERT = """
    INSERT INTO chat_memory_message (thread_key, sequence, message_id, turn, role, body, folded)
    VALUES (%s, %s, %s, %s, %s, %s, %s)
"""
_DELETE = [f"DELETE FROM chat_memory_{table} WHERE thread_key = %(thread)s" for table in ("message", "thread")]


class RawMariaDB(RawServer):
    """Transactions of two statements, for there is none that writes to two tables."""

    name = "raw PyMySQL"

    def __init__(self, url: sa.URL) -> None:
        connection = pymysql.connect(
            host=url.host,
            port=url.port or 3306,
            user=url.username,
            password=url.password or "",
            database=url.database,
            autocommit=True,
        )
        super().__init__(connection)

    def add(self, owner: str, messages: cabc.Sequence[Body]) -> None:
        row = thread_row(owner, len(messages))
        with self._transaction() as cursor:
            cursor.execute(_TOUCH, row)
            # Of a thread that is new there is no last id.
            first = (cursor.lastrowid or len(messages)) - len(messages) + 1
            cursor.executemany(
                _INSERT,
                [
                    (
                        row["thread"],
                        sequence,
                        message["id"],
                        message["turn"],
                        message["role"],
                        msgspec.json.encode(message).decode(),
                        fold(message["content"]),
                    )
                    for sequence, message in enumerate(messages, first)
                ],
            )

    def analyze(self) -> None:
        with self.connection.cursor() as cursor:
            cursor.execute("ANALYZE TABLE chat_memory_thread, chat_memory_message")

    def delete(self, owner: str) -> None:
        with self._transaction() as cursor:
            for statement in _DELETE:
                cursor.execute(statement, thread_row(owner, 0))

    @contextlib.contextmanager
    def _transaction(self) -> cabc.Iterator[pymysql.cursors.Cursor]:
        self.connection.begin()
        try:
            with self.connection.cursor() as cursor:
                yield cursor
            self.connection.commit()
        except BaseException:
            self.connection.rollback()
            raise


systems = functools.partial(both, MARIADB, database_in, RawMariaDB)
