"""Run by Alembic around the migrations; what it needs is handed in by :mod:`.upgrading`, not by an ini file."""

from __future__ import annotations

from alembic import context

context.configure(**context.config.attributes["options"])
context.run_migrations()
