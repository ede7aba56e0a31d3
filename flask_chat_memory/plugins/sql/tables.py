"""The tables of the plugin, on a MetaData of its own or on the site's."""

from __future__ import annotations

import dataclasses
import hashlib
import typing as t

import sqlalchemy as sa

from ..records import Scope

DEFAULT_PREFIX = "chat_memory_"


class TableSet(t.Protocol):
    """Tables that are made together."""

    def all(self) -> list[sa.Table]: ...


@dataclasses.dataclass(frozen=True)
class Tables:
    """The six tables; ``thread_key`` is :func:`thread_key` everywhere."""

    thread: sa.Table
    message: sa.Table
    append_key: sa.Table
    current: sa.Table
    live: sa.Table
    mark: sa.Table

    def all(self) -> list[sa.Table]:
        return [self.thread, self.message, self.append_key, self.current, self.live, self.mark]


def define_tables(metadata: sa.MetaData, prefix: str = DEFAULT_PREFIX) -> Tables:
    """Define the tables on a MetaData, or return those that are there already.

    A site whose own migrations own the tables calls this with its MetaData (``db.metadata``), so that Alembic
    compares them and proposes nothing.
    """

    def table(name: str, *parts: sa.Column[object] | sa.Index) -> sa.Table:
        known = metadata.tables.get(prefix + name)
        return sa.Table(prefix + name, metadata, *parts) if known is None else known

    def key(name: str, primary: bool = True) -> sa.Column[object]:
        return sa.Column(name, sa.String(32), primary_key=primary, nullable=False)

    return Tables(
        thread=table(
            "thread",
            key("thread_key"),
            sa.Column("owner", sa.String(255), nullable=False),
            sa.Column("chatbot", sa.String(64), nullable=False),
            sa.Column("thread_id", sa.String(128), nullable=False),
            # UNIX time in seconds, here and in every other column of time.
            sa.Column("created_at", sa.Double, nullable=False),
            sa.Column("last_activity", sa.Double, nullable=False),
            sa.Column("sequence", sa.BigInteger, nullable=False),
            sa.Column("messages", sa.Integer, nullable=False),
            sa.Column("tokens", sa.BigInteger, nullable=False),
            sa.Column("title", sa.Text),
            sa.Column("pinned", sa.SmallInteger, nullable=False, server_default="0"),
            sa.Column("archived", sa.SmallInteger, nullable=False, server_default="0"),
            sa.Column("configuration", sa.Text),
            sa.Column("hidden_ranges", sa.Text),
            sa.Index(f"{prefix}thread_scope", "owner", "chatbot", "last_activity"),
        ),
        message=table(
            "message",
            key("thread_key"),
            sa.Column("sequence", sa.BigInteger, primary_key=True, autoincrement=False),
            sa.Column("message_id", sa.String(128)),
            sa.Column("turn", sa.String(128)),
            sa.Column("role", sa.String(16), nullable=False),
            # TEXT that holds JSON: JSON types refuse NUL escapes and rewrite numbers.
            sa.Column("body", sa.Text, nullable=False),
            sa.Index(f"{prefix}message_id", "thread_key", "message_id"),
            sa.Index(f"{prefix}message_turn", "thread_key", "turn"),
        ),
        append_key=table(
            "append_key",
            key("thread_key"),
            sa.Column("append_key", sa.String(128), primary_key=True),
            sa.Column("sequence", sa.BigInteger, nullable=False),
        ),
        current=table("current", key("scope_key"), key("thread_key", primary=False)),
        live=table(
            "live",
            key("thread_key"),
            sa.Column("turn", sa.String(128), primary_key=True),
            sa.Column("question_id", sa.String(128), nullable=False),
            sa.Column("answer_id", sa.String(128), nullable=False),
            sa.Column("question_sequence", sa.BigInteger, nullable=False),
            sa.Column("lease", sa.Double, nullable=False),
            sa.Column("stop_wanted", sa.SmallInteger, nullable=False, server_default="0"),
            sa.Column("text", sa.Text),
        ),
        mark=table(
            "mark",
            key("thread_key"),
            sa.Column("message_id", sa.String(128), primary_key=True),
            sa.Column("rating", sa.SmallInteger),
            sa.Column("comment", sa.Text),
        ),
    )


def scope_key(scope: Scope) -> str:
    """Return the digest of a scope: short, evenly spread, the same bytes under every collation."""
    return _digest(scope.owner, scope.chatbot)


def thread_key(scope: Scope, thread_id: str) -> str:
    """Return the digest of a thread within its scope; no other scope has the same, whatever the id."""
    return _digest(scope.owner, scope.chatbot, thread_id)


def _digest(*names: str) -> str:
    # None of the names can hold a NUL, so the joined text tells them apart.
    return hashlib.blake2b("\0".join(names).encode(), digest_size=16).hexdigest()
