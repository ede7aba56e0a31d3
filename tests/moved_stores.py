"""Stores of every kind to move between, and what fills them."""

from __future__ import annotations

import contextlib
import pathlib
import secrets
import typing as t

import pytest
import redis
import sqlalchemy as sa

from flask_chat_memory.plugins.base import ChatMemoryPlugin
from flask_chat_memory.plugins.documents import DocumentsPlugin
from flask_chat_memory.plugins.file import FilePlugin
from flask_chat_memory.plugins.flask_session import FlaskSessionPoolPlugin
from flask_chat_memory.plugins.in_memory import InMemoryPlugin
from flask_chat_memory.plugins.records import Scope
from flask_chat_memory.plugins.redis import RedisPlugin
from flask_chat_memory.plugins.sqlalchemy import SQLAlchemyPlugin
from flask_chat_memory.testing.clock import ManualClock
from flask_chat_memory.testing.contracts.counting import tell
from flask_chat_memory.testing.contracts.counting import used
from flask_chat_memory.testing.contracts.parts import AblePlugin
from flask_chat_memory.testing.contracts.restoring import rich_thread
from flask_chat_memory.transfer.exporting import Export
from flask_chat_memory.transfer.stores import Stores

from .encryption import encrypted
from .redis_clients import cleaning
from .sql_servers import Places

SCOPES = [Scope("user:1"), Scope("user:10", "support"), Scope("ÄÖ 漢 😀/..")]


class Moving:
    """Opens stores, which are empty and of the test's own, and closes them."""

    def __init__(self, request: pytest.FixtureRequest, opened: contextlib.ExitStack) -> None:
        self._request = request
        self._opened = opened
        self.clock = ManualClock()

    def store(self, kind: str, **options: t.Any) -> AblePlugin:
        plugin = self._opened.enter_context(contextlib.closing(self._make(kind, {"threads": "many", **options})))
        plugin.clock = self.clock
        return t.cast(AblePlugin, plugin)

    def careless_store(self, name: str) -> AblePlugin:
        """Open a store that is quickly filled, for it waits for no disk."""
        engine = sa.create_engine(f"sqlite:///{self._request.getfixturevalue('tmp_path')}/{name}.sqlite3")
        sa.event.listen(engine, "connect", lambda connection, _: connection.execute("PRAGMA synchronous=OFF"))
        self._opened.callback(engine.dispose)
        return self._opened.enter_context(contextlib.closing(t.cast(AblePlugin, SQLAlchemyPlugin({"engine": engine}))))

    def _make(self, kind: str, options: dict[str, t.Any]) -> ChatMemoryPlugin:
        folder: pathlib.Path = self._request.getfixturevalue("tmp_path")
        match kind:
            case "in_memory":
                return InMemoryPlugin(options)
            case "file":
                return FilePlugin({"folder": f"{folder}/files", **options})
            case "documents":
                return DocumentsPlugin({"storage": {"type": "file", "folder": f"{folder}/documents"}, **options})
            case "sqlite":
                return SQLAlchemyPlugin({"url": f"sqlite:///{folder}/chat.sqlite3", **options})
            case "flask_session_pool":
                temporary: t.Any = FlaskSessionPoolPlugin
                return t.cast(ChatMemoryPlugin, temporary({"store": f"{folder}/sessions", **options}))
            case "encrypted":
                return encrypted("sqlalchemy", {"url": f"sqlite:///{folder}/sealed.sqlite3"}, **options)
            case "redis":
                url = self._request.getfixturevalue("redis_url")
                where = {"url": url, "key_prefix": f"moving-{secrets.token_hex(8)}:"}
                self._opened.enter_context(cleaning(redis.Redis.from_url(url), where["key_prefix"]))
                return RedisPlugin({**where, **options})
            case _:
                places: Places = self._request.getfixturevalue("sql_places")
                return self._opened.enter_context(places.lend(kind)).make_plugin(**options)


@pytest.fixture
def moving(request: pytest.FixtureRequest) -> t.Iterator[Moving]:
    with contextlib.ExitStack() as opened:
        yield Moving(request, opened)


def fill(plugin: AblePlugin, clock: ManualClock) -> None:
    """Put something of everything into a store."""
    for scope in SCOPES:
        rich_thread(plugin, clock, scope, "of many things")
        tell(plugin, "9", used("9"), scope=scope, thread_id="short")


def state(plugin: ChatMemoryPlugin) -> list[bytes]:
    """Return all that a store tells of its threads and ledgers, to be compared with another."""
    threads: list[bytes] = []
    for line in list(Export(Stores({"default": plugin}), 0.0).lines())[1:-1]:
        if line.startswith((b'{"kind":"thread"', b'{"kind":"usage"')) and not line.startswith(b'{"kind":"thread_end"'):
            threads.append(b"")
        threads[-1] += line
    return sorted(threads)
