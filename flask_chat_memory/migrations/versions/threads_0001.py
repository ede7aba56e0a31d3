"""The tables of threads, as they were first released.

Every step may be done again: where DDL is no transaction, a process may be killed between two of them.
"""

from __future__ import annotations

import typing as t

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

revision = "threads_0001"
down_revision = None
branch_labels = ("threads",)
depends_on = None

_COUNTED = ("turns", "input", "output", "cached", "reasoning", "total")


def upgrade() -> None:
    prefix = op.get_context().opts["table_prefix"]
    _create(
        f"{prefix}thread",
        sa.Column("thread_key", _identifier(32), primary_key=True, nullable=False),
        sa.Column("owner", _identifier(255), nullable=False),
        sa.Column("chatbot", _identifier(64), nullable=False),
        sa.Column("thread_id", _identifier(128), nullable=False),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.Column("last_activity", sa.Double, nullable=False),
        sa.Column("sequence", sa.BigInteger, nullable=False),
        sa.Column("messages", sa.Integer, nullable=False),
        sa.Column("tokens", sa.BigInteger, nullable=False),
        sa.Column("title", _text()),
        sa.Column("pinned", sa.SmallInteger, nullable=False, server_default="0"),
        sa.Column("archived", sa.SmallInteger, nullable=False, server_default="0"),
        sa.Column("configuration", _text()),
        sa.Column("lines", _text()),
        sa.Column("hidden_ranges", _text()),
    )
    _index(f"{prefix}thread_scope", f"{prefix}thread", "owner", "chatbot", "last_activity", "thread_key")
    _create(
        f"{prefix}message",
        sa.Column("thread_key", _identifier(32), primary_key=True, nullable=False),
        sa.Column("sequence", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("message_id", _identifier(128)),
        sa.Column("turn", _identifier(128)),
        sa.Column("role", sa.String(16), nullable=False),
        sa.Column("body", _text(), nullable=False),
        sa.Column("folded", _text()),
    )
    _index(f"{prefix}message_id", f"{prefix}message", "thread_key", "message_id")
    _index(f"{prefix}message_turn", f"{prefix}message", "thread_key", "turn")
    _create(
        f"{prefix}append_key",
        sa.Column("thread_key", _identifier(32), primary_key=True, nullable=False),
        sa.Column("append_key", _identifier(128), primary_key=True),
        sa.Column("sequence", sa.BigInteger, nullable=False),
    )
    _create(
        f"{prefix}current",
        sa.Column("scope_key", _identifier(32), primary_key=True, nullable=False),
        sa.Column("thread_key", _identifier(32), nullable=False),
    )
    _create(
        f"{prefix}live",
        sa.Column("thread_key", _identifier(32), primary_key=True, nullable=False),
        sa.Column("turn", _identifier(128), primary_key=True),
        sa.Column("question_id", _identifier(128), nullable=False),
        sa.Column("answer_id", _identifier(128), nullable=False),
        sa.Column("question_sequence", sa.BigInteger, nullable=False),
        sa.Column("lease", sa.Double, nullable=False),
        sa.Column("stop_wanted", sa.SmallInteger, nullable=False, server_default="0"),
        sa.Column("text", _text()),
    )
    _create(
        f"{prefix}mark",
        sa.Column("thread_key", _identifier(32), primary_key=True, nullable=False),
        sa.Column("message_id", _identifier(128), primary_key=True),
        sa.Column("rating", sa.SmallInteger),
        sa.Column("comment", _text()),
    )
    _create(
        f"{prefix}usage",
        sa.Column("usage_key", _identifier(32), primary_key=True, nullable=False),
        sa.Column("owner", _identifier(255), nullable=False),
        sa.Column("chatbot", _identifier(64), nullable=False),
        sa.Column("day", _identifier(10), nullable=False),
        sa.Column("model", _text(), nullable=False),
        *(sa.Column(name, sa.BigInteger, nullable=False) for name in _COUNTED),
    )
    _index(f"{prefix}usage_scope", f"{prefix}usage", "owner", "chatbot", "day")


def _create(name: str, *columns: sa.Column[t.Any]) -> None:
    options: dict[str, t.Any] = {
        f"{dialect}_{option}": value
        for dialect in ("mysql", "mariadb")
        for option, value in (
            ("engine", "InnoDB"),
            ("charset", "utf8mb4"),
            ("collate", "utf8mb4_bin"),
            ("row_format", "DYNAMIC"),
        )
    }
    op.create_table(name, *columns, if_not_exists=True, **options)


def _index(name: str, table: str, *columns: str) -> None:
    op.create_index(name, table, columns, if_not_exists=True)


def _identifier(length: int) -> sa.types.TypeEngine[str]:
    dialect: t.Any = op.get_context().dialect
    if dialect.name in ("mysql", "mariadb"):
        collation = "utf8mb4_nopad_bin" if dialect.is_mariadb else "utf8mb4_0900_bin"
        return mysql.VARCHAR(length, charset="utf8mb4", collation=collation)
    return sa.String(length, collation="C" if dialect.name == "postgresql" else None)


def _text() -> sa.types.TypeEngine[str]:
    return mysql.LONGTEXT() if op.get_context().dialect.name in ("mysql", "mariadb") else sa.Text()
