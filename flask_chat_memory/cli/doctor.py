"""``flask chat-memory doctor``."""

from __future__ import annotations

import click
import flask
import msgspec

from ..web.current import chat_memory
from .checks.settings import check_chatbots
from .checks.settings import check_secret_key
from .checks.settings import check_versions
from .checks.stores import check_stores
from .command import operator_command
from .output import print_json
from .output import printable

COLOURS = {"ok": "green", "note": "yellow", "problem": "red"}


@operator_command
def command(as_json: bool) -> None:
    """Look for what is wrong with the site, and say what to do; exit 1 if there is a problem.

    Nothing is made or changed, and no secret is shown.

    \b
    flask chat-memory doctor
    """
    memory = chat_memory()
    findings = [
        *check_versions(),
        *check_secret_key(flask.current_app),
        *check_chatbots(memory),
        *check_stores(memory),
    ]
    problems = sum(finding.level == "problem" for finding in findings)
    if as_json:
        print_json({"problems": problems, "findings": msgspec.to_builtins(findings)})
    else:
        for finding in findings:
            level = click.style(f"{finding.level:7}", fg=COLOURS[finding.level])
            click.echo(f"{level}  {finding.check}: {printable(finding.text)}")
            if finding.cure:
                click.echo(f"         do: {printable(finding.cure)}")
        click.echo(f"{problems} {'problem' if problems == 1 else 'problems'}.")
    if problems:
        raise click.exceptions.Exit(1)
