"""``flask chat-memory rewrap``."""

from __future__ import annotations

import click

from ..transfer.exporting import distinct
from ..web.current import chat_memory
from .command import operator_command
from .moving import report
from .progress import progress


@operator_command
@click.option("--dry-run", is_flag=True, help="Only count what older keys have encrypted.")
def command(dry_run: bool, as_json: bool) -> None:
    """Encrypt with the first of the keys what older ones have encrypted, so that they can be removed.

    \b
    flask chat-memory rewrap
    """
    # cryptography is an extra.
    from ..plugins.encrypted import EncryptedPlugin
    from ..storage.encrypted import EncryptedStorage
    from ..transfer.rewrapping import Rewrap

    stores = chat_memory().stores()
    plugins = [plugin for plugin in distinct(stores.plugins.values()) if isinstance(plugin, EncryptedPlugin)]
    storages = [storage for storage in distinct(stores.storages.values()) if isinstance(storage, EncryptedStorage)]
    if not (plugins or storages):
        raise click.ClickException("Nothing of this site is encrypted.")
    rewrap = Rewrap(write=not dry_run)
    with progress("Conversations") as done:
        for plugin in plugins:
            for _ in rewrap.plugin(plugin):
                done(1)
    with progress("Documents") as done:
        for storage in storages:
            for _ in rewrap.storage(storage):
                done(1)
    report(rewrap.counts, as_json, {"left": rewrap.left})
    if rewrap.left and not dry_run:
        raise click.ClickException("Something is left that needs the older keys; run the command again.")
