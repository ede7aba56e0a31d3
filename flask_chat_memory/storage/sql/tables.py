"""The table of documents, on a MetaData of its own or on the site's."""

from __future__ import annotations

import dataclasses
import hashlib
import typing as t

import sqlalchemy as sa
from sqlalchemy.dialects import mysql

from ...plugins.sql.tables import DEFAULT_PREFIX
from ...plugins.sql.tables import define_version_table
from ...plugins.sql.tables import TABLE_OPTIONS
from ..rules import check_key
from ..rules import MAX_KEY

_MYSQL = ("mysql", "mariadb")


@dataclasses.dataclass(frozen=True)
class DocumentTables:
    """The one table."""

    branch: t.ClassVar[str] = "documents"
    version: t.ClassVar[str] = "documents_0001"

    version_table: sa.Table
    document: sa.Table

    def all(self) -> list[sa.Table]:
        return [self.document]


def define_document_table(metadata: sa.MetaData, prefix: str = DEFAULT_PREFIX) -> sa.Table:
    """Define the table on a MetaData, or return the one that is there already.

    A site whose own migrations own the tables calls this with its MetaData (``db.metadata``).
    """
    return document_tables(metadata, prefix).document


def document_tables(metadata: sa.MetaData, prefix: str) -> DocumentTables:
    """Do the same and return all that is defined."""
    return DocumentTables(define_version_table(metadata, prefix), _document_table(metadata, prefix))


def _document_table(metadata: sa.MetaData, prefix: str) -> sa.Table:
    known = metadata.tables.get(f"{prefix}document")
    if known is not None:
        return known
    # Compared by code points in every database, so that a range holds exactly what begins with the same text.
    name = sa.String(MAX_KEY).with_variant(sa.String(MAX_KEY, collation="C"), "postgresql")
    name = name.with_variant(mysql.VARCHAR(MAX_KEY, charset="utf8mb4", collation="utf8mb4_bin"), *_MYSQL)
    # TEXT that holds JSON: JSON types refuse NUL escapes and rewrite numbers.
    body = sa.Text().with_variant(mysql.LONGTEXT(charset="utf8mb4"), *_MYSQL)
    return sa.Table(
        f"{prefix}document",
        metadata,
        sa.Column("document_key", sa.String(32), primary_key=True, nullable=False),
        sa.Column("name", name, nullable=False),
        sa.Column("body", body, nullable=False),
        # UNIX time in seconds.
        sa.Column("updated_at", sa.Double, nullable=False),
        sa.Index(f"{prefix}document_name", "name"),
        **TABLE_OPTIONS,
    )


def document_key(key: str) -> str:
    """Return the digest of a key: the same bytes under every collation, however short or long the key is."""
    return hashlib.blake2b(check_key(key).encode(), digest_size=16).hexdigest()
