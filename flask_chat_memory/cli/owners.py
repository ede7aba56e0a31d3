"""The choice of an owner on the command line."""

from __future__ import annotations

import click

from ..plugins.records import is_owner
from ..plugins.records import MAX_OWNER


def owner_name(value: str) -> str:
    """Return an owner, as a type of a parameter."""
    if not is_owner(value):
        raise click.BadParameter(f"An owner is text of 1 to {MAX_OWNER} characters, as user:1.")
    return value


owner_argument = click.argument("owner", type=owner_name)
