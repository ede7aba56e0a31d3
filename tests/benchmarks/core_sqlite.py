"""SQLAlchemy Core by hand: the same tables, a transaction with as few statements as the driver alone needs."""

from __future__ import annotations

import collections.abc as cabc
import pathlib
import time

import msgspec
import sqlalchemy as sa
from sqlalchemy.dialects.sqlite import insert

from flask_chat_memory.plugins.sql.engines import engine_for
from flask_chat_memory.plugins.sql.tables import define_tables
from tests.benchmarks.store import Body
from tests.benchmarks.store import cut
from tests.benchmarks.store import SCOPE
from tests.benchmarks.store import THREAD_ID
from tests.benchmarks.store import THREAD_KEY

_tables = define_tables(sa.MetaData())
_thread, _message = _tables.thread, _tables.message
_new_thread = insert(_thread)
_touch = _new_thread.on_conflict_do_update(
    index_elements=[_thread.c.thread_key],
    set_={
        "sequence": _thread.c.sequence + _new_thread.excluded.sequence,
        "messages": _thread.c.messages + _new_thread.excluded.messages,
        "last_activity": _new_thread.excluded.last_activity,
    },
).returning(_thread.c.sequence)
_insert = sa.insert(_message)
_of_thread = sa.select(_message.c.body).where(_message.c.thread_key == sa.bindparam("key"))
_all = _of_thread.order_by(_message.c.sequence)
_newest = _of_thread.order_by(_message.c.sequence.desc()).limit(sa.bindparam("count"))


class CoreSqlite:
    name = "SQLAlchemy Core"

    def __init__(self, path: pathlib.Path) -> None:
        self._path = path
        self._engine = engine_for(f"sqlite:///{path}")

    def message(self, body: Body) -> Body:
        return body

    def append(self, messages: cabc.Sequence[Body], key: str) -> None:
        now, added = time.time(), len(messages)
        with self._engine.begin() as connection:
            last = connection.execute(
                _touch,
                {
                    "thread_key": THREAD_KEY,
                    "owner": SCOPE.owner,
                    "chatbot": SCOPE.chatbot,
                    "thread_id": THREAD_ID,
                    "created_at": now,
                    "last_activity": now,
                    "sequence": added,
                    "messages": added,
                    "tokens": 0,
                },
            ).scalar_one()
            connection.execute(
                _insert,
                [
                    {
                        "thread_key": THREAD_KEY,
                        "sequence": last - added + 1 + place,
                        "message_id": message["id"],
                        "turn": message["turn"],
                        "role": message["role"],
                        "body": msgspec.json.encode(message).decode(),
                    }
                    for place, message in enumerate(messages)
                ],
            )

    def load(self, limit: int | None) -> list[Body]:
        with self._engine.connect() as connection:
            if limit is None:
                stored = connection.execute(_all, {"key": THREAD_KEY}).scalars().all()
            else:
                stored = connection.execute(_newest, {"key": THREAD_KEY, "count": limit}).scalars().all()[::-1]
        return [msgspec.json.decode(body) for body in stored]

    def turn(self, question: Body, answer: Body, limit: int) -> None:
        self.load(limit)
        self.append([question], "")
        self.append([answer], "")

    def cut(self, length: int) -> None:
        cut(self._path, length)

    def close(self) -> None:
        self._engine.dispose()
