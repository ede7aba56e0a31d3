"""``flask chat-memory purge``."""

from __future__ import annotations

import collections
import datetime as dt
import time

import click

from ..plugins.options import DAY
from ..retention import MESSAGES
from ..retention import THREADS
from ..web.current import chat_memory
from .chatbots import chatbot_option
from .chatbots import server_plugins
from .command import operator_command
from .deleting import confirm
from .deleting import deletion_options
from .output import print_json
from .progress import progress


def _time(value: str) -> dt.datetime:
    try:
        time = dt.datetime.fromisoformat(value)
    except ValueError:
        raise click.BadParameter(f"{value!r} is no ISO date or time, as 2026-01-31 or 2026-01-31T12:00Z.") from None
    return time if time.tzinfo else time.replace(tzinfo=dt.UTC)


@operator_command
@click.option("--days", type=click.IntRange(min=1), metavar="N", help="Conversations without activity for N days.")
@click.option("--before", type=_time, metavar="DATE", help="Conversations without activity since an ISO date, UTC.")
@chatbot_option
@deletion_options
def command(
    as_json: bool, days: int | None, before: dt.datetime | None, chatbot: str | None, dry_run: bool, yes: bool
) -> None:
    """Delete what is older than it may be.

    Without --days or --before, conversations go by the expiry of their plugin. Documents go by
    CHAT_MEMORY_RETENTION, unless one chatbot is chosen. A conversation that is being answered stays.

    \b
    flask chat-memory purge --yes
    flask chat-memory purge --days 90 --dry-run
    """
    if days is not None and before is not None:
        raise click.UsageError("Give --days or --before, not both.")
    server_plugins(chatbot)
    cutoff = _cutoff(days, before)
    if not dry_run:
        confirm(f"Delete {_what(days, before)} of {chatbot or 'all chatbots'} for ever?", yes)
    try:
        batches = chat_memory().purge_in_batches(before=cutoff, chatbot=chatbot, dry_run=dry_run)
    except ValueError as error:
        raise click.UsageError("The time is in the future; nothing was deleted.") from error
    counts: collections.Counter[str] = collections.Counter({THREADS: 0, MESSAGES: 0})
    with progress("Looking" if dry_run else "Purging") as done:
        for batch in batches:
            counts.update(batch)
            done(sum(batch.values()) - batch.get(MESSAGES, 0))
    if as_json:
        print_json({"dry_run": dry_run, "deleted": dict(counts)})
        return
    verb = "Would delete" if dry_run else "Deleted"
    click.echo(f"{verb} {counts.pop(THREADS):,} conversations with {counts.pop(MESSAGES):,} messages.")
    for domain, count in counts.items():
        click.echo(f"{verb} {count:,} documents of {domain}.")


def _cutoff(days: int | None, before: dt.datetime | None) -> float | None:
    if before is not None:
        cutoff = before.timestamp()
    elif days is not None:
        cutoff = time.time() - days * DAY
    else:
        return None
    if cutoff <= 0:
        raise click.UsageError("The time is before 1970: nothing is that old.")
    return cutoff


def _what(days: int | None, before: dt.datetime | None) -> str:
    if days is not None:
        return f"conversations without activity for {days:,} days"
    return "expired conversations" if before is None else f"conversations without activity since {before.isoformat()}"
