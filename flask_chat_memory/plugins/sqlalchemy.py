"""Threads in a SQL database through SQLAlchemy."""

from __future__ import annotations

import collections.abc as cabc
import contextlib
import time
import typing as t

import sqlalchemy as sa

from ..errors import ConfigurationError
from ..message import ChatMessage
from .abilities import CurrentThread
from .abilities import MovesThreads
from .abilities import Reseals
from .base import ChatMemoryPlugin
from .base import Clock
from .options import Option
from .options import PluginOptions
from .records import Appended
from .records import Scope
from .registry import chat_memory_plugin
from .reports import StoreReport
from .rules import check_append
from .rules import check_range
from .rules import is_thread_id
from .rules import new_id
from .sql.database import Database
from .sql.database import R
from .sql.dialect import Busy
from .sql.engines import check_url
from .sql.engines import dialect_of
from .sql.lines import SQLLines
from .sql.moving import Mover
from .sql.purging import PurgeStatements
from .sql.purging import SQLPurge
from .sql.restoring import RestoreStatements
from .sql.restoring import SQLRestoring
from .sql.rows import Append
from .sql.rows import bounded
from .sql.rows import page_of
from .sql.rows import times
from .sql.schema import Schema
from .sql.search import SearchStatements
from .sql.search import SQLSearch
from .sql.sqlite import BUSY_TIMEOUT
from .sql.tables import DEFAULT_PREFIX
from .sql.tables import define_tables
from .sql.tables import scope_key
from .sql.tables import thread_key
from .sql.threads import ThreadStatements
from .sql.transaction import Transaction

__all__ = ["SQLAlchemyPlugin", "define_tables"]


@chat_memory_plugin(
    "sqlalchemy",
    label="SQL database",
    description="Conversations in tables of their own, in the site's database or a file beside it.",
)
class SQLAlchemyPlugin(
    SQLLines,
    SQLRestoring,
    SQLPurge,
    SQLSearch,
    ChatMemoryPlugin,
    CurrentThread,
    MovesThreads,
):
    """Keeps threads in tables of its own."""

    storage = "sqlalchemy"
    shared_by_processes = True

    class Options(PluginOptions, frozen=True, kw_only=True):
        """Where the tables are: ``url``, or ``engine`` for a database that the site has opened."""

        url: t.Annotated[
            str | None,
            Option(
                label="Database URL",
                help="sqlite:///name.sqlite3 is in the instance folder; outside an app, in the working directory.",
                secret=True,
                app_bound="database url",
            ),
        ] = None
        engine: t.Annotated[
            t.Any,
            Option(
                label="Engine",
                help="A SQLAlchemy Engine, or the db object of Flask-SQLAlchemy or Flask-SQLAlchemy-Lite.",
                secret=True,
                app_bound="engine",
            ),
        ] = None
        create_tables: t.Annotated[bool, Option(label="Create tables", help="Create missing tables on first use.")] = (
            True
        )
        table_prefix: t.Annotated[str, Option(label="Table prefix", help="Begins the name of every table.")] = (
            DEFAULT_PREFIX
        )

        def __post_init__(self) -> None:
            if self.url is not None and self.engine is not None:
                raise ConfigurationError("sqlalchemy: give url or engine, not both")
            if self.url is not None:
                try:
                    check_url(self.url)
                except ConfigurationError as error:
                    raise ConfigurationError(f"sqlalchemy: {error}") from None
            if isinstance(self.engine, sa.Engine):
                dialect_of(self.engine)
            if self.engine is not None and not hasattr(type(self.engine), "engine"):
                raise ConfigurationError("sqlalchemy: engine must be a SQLAlchemy Engine or the site's db object")
            prefix = self.table_prefix
            if not prefix.isidentifier() or len(prefix) > 32 or prefix.lower().startswith("sqlite_"):
                raise ConfigurationError(f"sqlalchemy: table_prefix {self.table_prefix!r} is no SQL name")

    options: Options

    def __init__(
        self, options: PluginOptions | cabc.Mapping[str, t.Any] | None = None, *, clock: Clock = time.time
    ) -> None:
        super().__init__(options, clock=clock)
        database = self.options.engine or self.options.url
        if database is None:
            raise ConfigurationError("sqlalchemy: outside an app, give url or engine")
        tables = define_tables(sa.MetaData(), self.options.table_prefix)
        self._database = Database(database, tables, self.options.create_tables)
        self._statements = self._database.dialect.statements(tables)
        self._thread_statements = ThreadStatements(tables, self._statements)
        self._restore_statements = RestoreStatements(tables, self._statements)
        self._search_statements = SearchStatements(tables, self._statements)
        self._purge_statements = PurgeStatements(tables, self._statements)
        self._append_at_once = self._database.dialect.append_at_once(tables, self.options)
        self._delete_at_once = self._database.dialect.delete_at_once(tables, self.options)

    def create_thread_id(self) -> str:
        return new_id()

    def has_thread(self, scope: Scope, thread_id: str) -> bool:
        if not is_thread_id(thread_id):
            return False
        return bool(self._database.rows(self._statements.has_thread, self._of_thread(scope, thread_id)))

    def save_messages(self, scope: Scope, thread_id: str, messages: cabc.Sequence[ChatMessage]) -> None:
        check_append(thread_id, None)
        self._write(lambda writer: writer.replace(scope, thread_id, messages), scope)

    def delete_thread(self, scope: Scope, thread_id: str) -> bool:
        if not is_thread_id(thread_id):
            return False
        if self._delete_at_once:
            rows, _ = self._database.write_at_once(*self._delete_at_once.statement(scope, thread_id, self.clock()))
            if rows:
                return bool(rows[0][0])
        return self._write(lambda writer: writer.delete(scope, thread_id), scope)

    def append_messages(
        self,
        scope: Scope,
        thread_id: str,
        messages: cabc.Sequence[ChatMessage],
        *,
        key: str | None = None,
        reply_to: str | None = None,
        only_into: str | None = None,
    ) -> Appended | None:
        return self._append(Append(scope, thread_id, messages, key, reply_to, only_into))

    def clear_messages(self, scope: Scope, thread_id: str) -> None:
        if is_thread_id(thread_id):
            self._write(lambda writer: writer.clear(scope, thread_id), scope)

    def current_thread(self, scope: Scope) -> str | None:
        rows = self._database.rows(self._statements.current_thread, self._of_scope(scope))
        return rows[0][0] if rows else None

    def load_current(self, scope: Scope, *, limit: int | None = None) -> tuple[str | None, list[ChatMessage]]:
        check_range(limit, None, None)
        # At least one row, for it carries the id of the thread.
        parameters = {**self._of_scope(scope), "limit": max(bounded(limit), 1)}
        rows = self._database.rows(self._statements.newest_of_current, parameters)
        if not rows:
            return None, []
        thread_id = rows[0][0]
        # Made in the order in which they lie in memory, which is faster, and then turned round.
        stored = [row[1:] for row in rows if row[1] is not None and limit != 0]
        messages, hidden = page_of(stored, thread_key(scope, thread_id))
        return thread_id, self._visible(scope, thread_id, (messages[::-1], hidden), limit)

    def move_threads(self, source: Scope, target: Scope, *, reseal: Reseals | None = None) -> int:
        return self._write(lambda writer: writer.move(source, target, reseal), source, target)

    def examine_store(self) -> StoreReport:
        return self._database.examine()

    def store_identity(self) -> object:
        return self._database.schema.identity

    def schemas(self) -> tuple[Schema, ...]:
        return (self._database.schema,)

    def ping(self) -> None:
        self._database.ping()

    def close(self) -> None:
        self._database.close()

    def _append(self, append: Append) -> Appended | None:
        check_append(append.thread_id, append.key)
        in_doubt = False
        # Without a key, what was lost on the way could not be told from what was stored.
        is_usual = append.key is not None and append.messages and append.only_into in (None, append.thread_id)
        # A title is for a thread that is yet to be made.
        is_usual = is_usual and append.title is None and append.replaces is None
        if self._append_at_once and is_usual:
            statement = self._append_at_once.statement(append, self.clock())
            rows, in_doubt = self._database.write_at_once(*statement)
            if rows:
                return Appended(append.thread_id, rows[0][0])
        return self._write(
            lambda writer: writer.append(append),
            append.scope,
            repeatable=append.key is not None,
            repeated=in_doubt,
        )

    def _write(
        self, work: cabc.Callable[[Mover], R], *scopes: Scope, repeatable: bool = True, repeated: bool = False
    ) -> R:
        def write(transaction: Transaction) -> R:
            return work(Mover(transaction, self._statements, self.options, self.clock()))

        with self._turn_to_write():
            return self._database.write(write, map(scope_key, scopes), repeatable=repeatable, repeated=repeated)

    @contextlib.contextmanager
    def _turn_to_write(self) -> cabc.Iterator[None]:
        """Let one thread write at a time where the database does so; to wait here is fairer than its timeout."""
        if not self._database.dialect.one_writer:
            yield
        elif not self.lock.acquire(timeout=BUSY_TIMEOUT):
            raise Busy
        else:
            try:
                yield
            finally:
                self.lock.release()

    def _times(self) -> dict[str, t.Any]:
        return times(self.options, self.clock())

    def _of_scope(self, scope: Scope) -> dict[str, t.Any]:
        return {**self._times(), "scope_key": scope_key(scope)}

    def _of_thread(self, scope: Scope, thread_id: str) -> dict[str, t.Any]:
        return {**self._times(), "thread_key": thread_key(scope, thread_id)}
