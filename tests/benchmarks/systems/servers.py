"""What the two database servers have in common: one connection for ever, the tables that the plugin has made."""

from __future__ import annotations

import collections.abc as cabc
import contextlib
import os
import time
import typing as t

import msgspec
import sqlalchemy as sa

from flask_chat_memory.plugins.base import ChatMemoryPlugin
from flask_chat_memory.plugins.records import Scope
from flask_chat_memory.plugins.sql.engines import check_url
from flask_chat_memory.plugins.sql.tables import thread_key
from flask_chat_memory.plugins.sqlalchemy import SQLAlchemyPlugin
from tests.benchmarks.store import Body
from tests.benchmarks.store import OWNER
from tests.benchmarks.store import System
from tests.benchmarks.store import THREAD_ID
from tests.benchmarks.systems.plugin import Make
from tests.benchmarks.systems.plugin import PluginSystem
from tests.benchmarks.systems.plugin import RawSystem

COLUMNS = "thread_key, owner, chatbot, thread_id, created_at, last_activity, sequence, messages, tokens"
VALUES = "%(thread)s, %(owner)s, %(chatbot)s, %(thread_id)s, %(now)s, %(now)s, %(added)s, %(added)s, 0"
_NEWEST = "SELECT body FROM chat_memory_message WHERE thread_key = %s ORDER BY sequence DESC LIMIT %s"
_ALL = "SELECT body FROM chat_memory_message WHERE thread_key = %s ORDER BY sequence"
_KEY = thread_key(Scope(OWNER), THREAD_ID)


class RawServer(RawSystem):
    """A driver alone.

    :param connection: in autocommit mode.
    """

    def __init__(self, connection: t.Any) -> None:
        self.connection = connection

    def load(self, limit: int | None) -> list[Body]:
        with self.connection.cursor() as cursor:
            cursor.execute(*(_ALL, (_KEY,)) if limit is None else (_NEWEST, (_KEY, limit)))
            rows = list(cursor.fetchall())
        if limit is not None:
            rows.reverse()
        return [msgspec.json.decode(body) for (body,) in rows]

    def cut(self, length: int) -> None:
        with self.connection.cursor() as cursor:
            cursor.execute("DELETE FROM chat_memory_message WHERE thread_key = %s AND sequence > %s", (_KEY, length))
            cursor.execute("DELETE FROM chat_memory_append_key WHERE thread_key = %s", (_KEY,))
            cursor.execute(
                "UPDATE chat_memory_thread SET sequence = %s, messages = %s WHERE thread_key = %s",
                (length, length, _KEY),
            )

    def analyze(self) -> None:
        """Have the server know how much there is."""
        raise NotImplementedError


class OurServer(PluginSystem):
    def __init__(self, plugin: ChatMemoryPlugin, raw: RawServer, length: int) -> None:
        super().__init__(plugin, length)
        self._raw = raw

    def cut(self, length: int) -> None:
        self._raw.cut(length)


def thread_row(owner: str, added: int) -> dict[str, t.Any]:
    scope = Scope(owner)
    return {
        "thread": thread_key(scope, THREAD_ID),
        "owner": owner,
        "chatbot": scope.chatbot,
        "thread_id": THREAD_ID,
        "now": time.time(),
        "added": added,
    }


@contextlib.contextmanager
def both(
    variable: str,
    place_in: cabc.Callable[[sa.URL], contextlib.AbstractContextManager[sa.URL]],
    connect: cabc.Callable[[sa.URL], RawServer],
    length: int,
    make: Make = SQLAlchemyPlugin,
) -> cabc.Iterator[list[System]]:
    """Give the driver and the plugin in the same place, made for them on the server that the environment names.

    :param variable: has the URL of the server.
    """
    with place_in(check_url(os.environ[variable])) as url, contextlib.ExitStack() as stack:
        plugin = stack.enter_context(contextlib.closing(make({"url": url.render_as_string(hide_password=False)})))
        raw = connect(url)
        stack.callback(raw.connection.close)
        ours = OurServer(plugin, raw, length)
        raw.analyze()
        yield [raw, ours]
