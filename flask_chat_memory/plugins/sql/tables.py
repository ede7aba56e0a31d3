"""The tables of the plugin, on a MetaData of its own or on the site's."""

from __future__ import annotations

import dataclasses
import hashlib
import typing as t

import sqlalchemy as sa
from sqlalchemy.dialects import mysql
from sqlalchemy.ext.compiler import compiles

from ..counting import COUNTED
from ..records import Scope

DEFAULT_PREFIX = "chat_memory_"


MAX_ID = 128


class BytewiseString(sa.String):
    """Text of MariaDB or MySQL that is compared byte by byte, spaces at the end included."""


@compiles(BytewiseString, "mysql", "mariadb")
def _bytewise(kind: BytewiseString, compiler: t.Any, **_options: object) -> str:
    collation = "utf8mb4_nopad_bin" if compiler.dialect.is_mariadb else "utf8mb4_0900_bin"
    return f"VARCHAR({kind.length}) CHARACTER SET utf8mb4 COLLATE {collation}"


def _identifier(length: int) -> sa.types.TypeEngine[str]:
    return (
        sa.String(length)
        .with_variant(sa.String(length, collation="C"), "postgresql")
        .with_variant(BytewiseString(length), "mysql", "mariadb")
    )


def _text() -> sa.types.TypeEngine[str]:
    # TEXT of MariaDB ends at 64 KiB.
    return sa.Text().with_variant(mysql.LONGTEXT(), "mysql", "mariadb")


TABLE_OPTIONS: dict[str, t.Any] = {
    f"{dialect}_{name}": value
    for dialect in ("mysql", "mariadb")
    for name, value in (
        ("engine", "InnoDB"),
        ("charset", "utf8mb4"),
        ("collate", "utf8mb4_bin"),
        ("row_format", "DYNAMIC"),
    )
}


class TableSet(t.Protocol):
    """Tables that are made together, and change together.

    :ivar branch: their line of migrations.
    :ivar version: of what :meth:`all` gives: the branch and a number of four digits.
    """

    branch: t.ClassVar[str]
    version: t.ClassVar[str]

    @property
    def version_table(self) -> sa.Table:
        """Where the versions are noted, one row for each set of tables."""

    def all(self) -> list[sa.Table]: ...


@dataclasses.dataclass(frozen=True)
class Tables:
    """The seven tables; ``thread_key`` is :func:`thread_key` everywhere."""

    branch: t.ClassVar[str] = "threads"
    version: t.ClassVar[str] = "threads_0001"

    version_table: sa.Table
    thread: sa.Table
    message: sa.Table
    append_key: sa.Table
    current: sa.Table
    live: sa.Table
    mark: sa.Table
    usage: sa.Table

    def all(self) -> list[sa.Table]:
        return [self.thread, self.message, self.append_key, self.current, self.live, self.mark, self.usage]


def define_version_table(metadata: sa.MetaData, prefix: str) -> sa.Table:
    """Define the table of the versions, as Alembic keeps them, or return the one that is there already."""
    name = f"{prefix}version"
    known = metadata.tables.get(name)
    if known is not None:
        return known
    column = sa.Column("version_num", _identifier(32), nullable=False)
    return sa.Table(name, metadata, column, sa.PrimaryKeyConstraint(column, name=f"{name}_pkc"), **TABLE_OPTIONS)


def define_tables(metadata: sa.MetaData, prefix: str = DEFAULT_PREFIX) -> Tables:
    """Define the tables on a MetaData, or return those that are there already.

    A site whose own migrations own the tables calls this with its MetaData (``db.metadata``), so that Alembic
    compares them and proposes nothing.
    """

    def table(name: str, *parts: sa.Column[object] | sa.Index) -> sa.Table:
        known = metadata.tables.get(prefix + name)
        return sa.Table(prefix + name, metadata, *parts, **TABLE_OPTIONS) if known is None else known

    def key(name: str, primary: bool = True) -> sa.Column[object]:
        return sa.Column(name, _identifier(32), primary_key=primary, nullable=False)

    def number(name: str) -> sa.Column[object]:
        return sa.Column(name, sa.BigInteger, nullable=False)

    return Tables(
        version_table=define_version_table(metadata, prefix),
        thread=table(
            "thread",
            key("thread_key"),
            sa.Column("owner", _identifier(255), nullable=False),
            sa.Column("chatbot", _identifier(64), nullable=False),
            sa.Column("thread_id", _identifier(MAX_ID), nullable=False),
            # UNIX time in seconds, here and in every other column of time.
            sa.Column("created_at", sa.Double, nullable=False),
            sa.Column("last_activity", sa.Double, nullable=False),
            sa.Column("sequence", sa.BigInteger, nullable=False),
            sa.Column("messages", sa.Integer, nullable=False),
            sa.Column("tokens", sa.BigInteger, nullable=False),
            sa.Column("title", _text()),
            sa.Column("pinned", sa.SmallInteger, nullable=False, server_default="0"),
            sa.Column("archived", sa.SmallInteger, nullable=False, server_default="0"),
            sa.Column("configuration", _text()),
            # Both told by the lines of the thread; NULL is the one line that every thread begins with.
            sa.Column("lines", _text()),
            sa.Column("hidden_ranges", _text()),
            # With the key, which makes the order of a list whole.
            sa.Index(f"{prefix}thread_scope", "owner", "chatbot", "last_activity", "thread_key"),
        ),
        message=table(
            "message",
            key("thread_key"),
            sa.Column("sequence", sa.BigInteger, primary_key=True, autoincrement=False),
            sa.Column("message_id", _identifier(MAX_ID)),
            sa.Column("turn", _identifier(MAX_ID)),
            sa.Column("role", sa.String(16), nullable=False),
            # TEXT that holds JSON: JSON types refuse NUL escapes and rewrite numbers.
            sa.Column("body", _text(), nullable=False),
            # What a search looks at; NULL is nothing.
            sa.Column("folded", _text()),
            sa.Index(f"{prefix}message_id", "thread_key", "message_id"),
            sa.Index(f"{prefix}message_turn", "thread_key", "turn"),
        ),
        append_key=table(
            "append_key",
            key("thread_key"),
            sa.Column("append_key", _identifier(MAX_ID), primary_key=True),
            sa.Column("sequence", sa.BigInteger, nullable=False),
        ),
        current=table("current", key("scope_key"), key("thread_key", primary=False)),
        live=table(
            "live",
            key("thread_key"),
            sa.Column("turn", _identifier(MAX_ID), primary_key=True),
            sa.Column("question_id", _identifier(MAX_ID), nullable=False),
            sa.Column("answer_id", _identifier(MAX_ID), nullable=False),
            sa.Column("question_sequence", sa.BigInteger, nullable=False),
            sa.Column("lease", sa.Double, nullable=False),
            sa.Column("stop_wanted", sa.SmallInteger, nullable=False, server_default="0"),
            sa.Column("text", _text()),
        ),
        mark=table(
            "mark",
            key("thread_key"),
            sa.Column("message_id", _identifier(MAX_ID), primary_key=True),
            sa.Column("rating", sa.SmallInteger),
            sa.Column("comment", _text()),
        ),
        usage=table(
            "usage",
            key("usage_key"),
            sa.Column("owner", _identifier(255), nullable=False),
            sa.Column("chatbot", _identifier(64), nullable=False),
            sa.Column("day", _identifier(10), nullable=False),
            sa.Column("model", _text(), nullable=False),
            *(number(name) for name in COUNTED),
            sa.Index(f"{prefix}usage_scope", "owner", "chatbot", "day"),
        ),
    )


def id_key(id: str) -> str:
    """Return an id as it is looked up by: longer ones than there is room for by their digest."""
    return id if len(id) <= MAX_ID else _digest(id)


def scope_key(scope: Scope) -> str:
    """Return the digest of a scope: short, evenly spread, the same bytes under every collation."""
    return _digest(scope.owner, scope.chatbot)


def thread_key(scope: Scope, thread_id: str) -> str:
    """Return the digest of a thread within its scope; no other scope has the same, whatever the id."""
    return _digest(scope.owner, scope.chatbot, thread_id)


def usage_key(scope: Scope, day: str, model: str) -> str:
    """Return the digest of a line of the ledger."""
    return _digest(scope.owner, scope.chatbot, day, model)


def _digest(*names: str) -> str:
    # None of the names can hold a NUL, so the joined text tells them apart.
    return hashlib.blake2b("\0".join(names).encode(), digest_size=16).hexdigest()
