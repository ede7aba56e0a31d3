"""``flask chat-memory upgrade``."""

from __future__ import annotations

import click
import msgspec

from ..errors import ConfigurationError
from ..plugins.importing import import_named
from ..web.current import chat_memory
from .command import operator_command
from .output import print_json
from .output import print_table

_UPGRADE = "flask_chat_memory.migrations.upgrading:upgrade"


@operator_command
@click.option("--dry-run", is_flag=True, help="Only tell what would be done.")
def command(dry_run: bool, as_json: bool) -> None:
    """Bring the tables of all chatbots and documents to the version of this release, or create them.

    Safe to run again, and on several hosts at once.

    \b
    flask chat-memory upgrade --dry-run
    """
    upgrade = import_named(_UPGRADE, "flask chat-memory upgrade", "migrations", ConfigurationError)
    done = [upgrade(schema, dry_run=dry_run) for schema in chat_memory().schemas()]
    if as_json:
        print_json(msgspec.to_builtins(done))
    elif not done:
        click.echo("No chatbot and no document of this app has tables.")
    else:
        print_table(
            ("database", "prefix", "tables", "found", "wanted", "would do" if dry_run else "done"),
            [(*msgspec.structs.astuple(one)[:-1], ", ".join(one.steps) or "nothing") for one in done],
        )
