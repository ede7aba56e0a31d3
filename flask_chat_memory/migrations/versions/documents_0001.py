"""The table of documents, as it was first released.

Every step may be done again: where DDL is no transaction, a process may be killed between two of them.
"""

from __future__ import annotations

import typing as t

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

revision = "documents_0001"
down_revision = None
branch_labels = ("documents",)
depends_on = None


def upgrade() -> None:
    prefix = op.get_context().opts["table_prefix"]
    dialect = op.get_context().dialect.name
    name: sa.types.TypeEngine[str] = sa.String(512, collation="C" if dialect == "postgresql" else None)
    body: sa.types.TypeEngine[str] = sa.Text()
    options: dict[str, t.Any] = {}
    if dialect in ("mysql", "mariadb"):
        name = mysql.VARCHAR(512, charset="utf8mb4", collation="utf8mb4_bin")
        body = mysql.LONGTEXT(charset="utf8mb4")
        given = {"engine": "InnoDB", "charset": "utf8mb4", "collate": "utf8mb4_bin", "row_format": "DYNAMIC"}
        options = {f"{dialect}_{option}": value for option, value in given.items()}
    op.create_table(
        f"{prefix}document",
        sa.Column("document_key", sa.String(32), primary_key=True, nullable=False),
        sa.Column("name", name, nullable=False),
        sa.Column("body", body, nullable=False),
        sa.Column("updated_at", sa.Double, nullable=False),
        if_not_exists=True,
        **options,
    )
    op.create_index(f"{prefix}document_name", f"{prefix}document", ["name"], if_not_exists=True)
