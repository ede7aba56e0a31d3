"""``flask chat-memory copy``."""

from __future__ import annotations

import click

from ..transfer.copying import Copy
from ..web.current import chat_memory
from .command import operator_command
from .deleting import confirm
from .deleting import deletion_options
from .moving import chosen_stores
from .moving import report
from .progress import progress


@operator_command
@click.option("--from", "source", metavar="PLUGIN", required=True, help="A chatbot of the site, or a plugin.")
@click.option("--from-option", "source_options", metavar="NAME=VALUE", multiple=True, help="An option of that plugin.")
@click.option("--to", "target", metavar="PLUGIN", required=True, help="A chatbot of the site, or a plugin.")
@click.option("--to-option", "target_options", metavar="NAME=VALUE", multiple=True, help="An option of that plugin.")
@click.option("--only-chatbot", metavar="NAME", help="Only conversations of this chatbot, and no documents.")
@click.option("--no-documents", is_flag=True, help="Only conversations and usage.")
@click.option("--delete", is_flag=True, help="Remove from the target what the source does not have.")
@deletion_options
def command(
    source: str,
    source_options: tuple[str, ...],
    target: str,
    target_options: tuple[str, ...],
    only_chatbot: str | None,
    no_documents: bool,
    delete: bool,
    dry_run: bool,
    yes: bool,
    as_json: bool,
) -> None:
    """Copy all that one plugin holds to another, and compare; again, until nothing is left.

    A value of an option that begins with env: is that of an environment variable.

    \b
    flask chat-memory copy --from default --to sqlalchemy --to-option url=env:NEW_DATABASE
    """
    old = chosen_stores(source, source_options)
    (old_plugin,) = old.plugins.values()
    new = chosen_stores(target, target_options, like=old_plugin)
    (new_plugin,) = new.plugins.values()
    if old_plugin.store_identity() == new_plugin.store_identity():
        raise click.UsageError("That is one and the same store.")
    if only_chatbot is not None and only_chatbot not in chat_memory().settings.chatbots:
        click.echo(f"Note: the site has no chatbot {only_chatbot!r} (any more).", err=True)
    if delete and not dry_run:
        confirm(f"Remove from {target} what {source} does not have?", yes)
    copy = Copy(chatbot=only_chatbot, delete=delete, write=not dry_run)
    with progress("Conversations") as done:
        for _ in copy.plugins(old_plugin, new_plugin):
            done(1)
    if only_chatbot is None and not no_documents:
        with progress("Documents") as done:
            for _ in copy.stores(old, new):
                done(1)
    report(copy.counts, as_json, {"whole": copy.is_whole})
    if not copy.is_sound:
        raise click.ClickException("Not all of it is the same in both stores.")
    if not copy.is_whole and not dry_run:
        click.echo("Some conversations are being answered just now. Run the command again to copy them, too.", err=True)
