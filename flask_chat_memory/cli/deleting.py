"""The manners of commands that delete: ``--dry-run`` deletes nothing, ``--yes`` does without the question."""

from __future__ import annotations

import collections.abc as cabc
import sys
import typing as t

import click

from .output import printable

F = t.TypeVar("F", bound=cabc.Callable[..., t.Any])


def deletion_options(function: F) -> F:
    """Give a command ``--dry-run`` and ``--yes``, which its function gets as ``dry_run`` and ``yes``."""
    function = click.option("--yes", is_flag=True, help="Do not ask; needed where nobody can answer.")(function)
    return click.option("--dry-run", is_flag=True, help="Tell what would be deleted, and delete nothing.")(function)


def confirm(question: str, yes: bool) -> None:
    """Go on only if somebody wants what the question asks for.

    :raises click.UsageError: if there is nobody to ask.
    :raises click.ClickException: if the answer is no.
    """
    if yes:
        return
    if not sys.stdin.isatty():
        raise click.UsageError("This deletes; say --yes where nobody can be asked, or look first with --dry-run.")
    if not click.confirm(printable(question), err=True):
        raise click.ClickException("Nothing was deleted.")
