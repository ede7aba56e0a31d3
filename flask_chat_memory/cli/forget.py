"""``flask chat-memory forget``."""

from __future__ import annotations

import collections

import click

from ..plugins.records import FORGOTTEN
from ..web.current import chat_memory
from .command import operator_command
from .deleting import confirm
from .deleting import deletion_options
from .output import print_json
from .output import print_table
from .owners import owner_argument
from .progress import progress


@operator_command
@owner_argument
@deletion_options
def command(owner: str, dry_run: bool, yes: bool, as_json: bool) -> None:
    """Delete all that is stored of OWNER: conversations, documents of every domain, the name in the ledgers of usage.

    \b
    flask chat-memory forget user:42 --dry-run
    flask chat-memory forget user:42

    A user of Flask-Login is user:<id>. What the answers have cost stays in the accounts, in nobody's name. It can be
    interrupted and done again.
    """
    if owner == FORGOTTEN:
        raise click.UsageError(f"{owner!r} is no owner; a user of Flask-Login is user:<id>.")
    memory = chat_memory()
    if not dry_run:
        confirm(f"Delete all that is stored of {owner}, for good?", yes)
    counts: collections.Counter[str] = collections.Counter()
    with progress("Looking" if dry_run else "Forgetting") as done:
        for step in memory.forget_in_steps(owner, dry_run=dry_run):
            counts.update(step)
            done(1)
    if as_json:
        print_json({"owner": owner, "dry_run": dry_run, "deleted": counts})
        return
    print_table(("domain", "would be deleted" if dry_run else "deleted"), list(counts.items()))
