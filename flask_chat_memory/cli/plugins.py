"""``flask chat-memory plugins``."""

from __future__ import annotations

import click

from ..plugins.options import OptionDefinition
from ..web.current import chat_memory
from .command import operator_command
from .output import print_json
from .output import print_table


@operator_command
def command(as_json: bool) -> None:
    """List the plugins to choose from, with their options.

    \b
    flask chat-memory plugins
    """
    definitions = chat_memory().plugins.definitions()
    if as_json:
        print_json(
            [
                {
                    "id": id,
                    "label": definition.label,
                    "description": definition.description,
                    "options": [_told(option) for option in definition.options.values()],
                }
                for id, definition in definitions.items()
            ]
        )
        return
    for id, definition in definitions.items():
        click.secho(f"{id} ({definition.label})", bold=True)
        click.echo(f"  {definition.description}")
        print_table(
            ("  option", "type", "default", "meaning"),
            [
                (f"  {option.name}", _kind(option), _shown_default(option), option.help or option.label)
                for option in definition.options.values()
            ],
        )
        click.echo()


def _told(option: OptionDefinition) -> dict[str, object]:
    return {
        "name": option.name,
        "type": option.type,
        "required": option.required,
        "default": _default(option),
        "choices": option.choices,
        "label": option.label,
        "help": option.help,
        "secret": option.secret,
    }


def _kind(option: OptionDefinition) -> str:
    kind = " or ".join(map(repr, option.choices)) or option.type
    return f"{kind}, secret" if option.secret else kind


def _shown_default(option: OptionDefinition) -> object:
    return "(required)" if option.required else _default(option)


def _default(option: OptionDefinition) -> object:
    """Return the default as JSON can hold it; those of a site's plugin may be of any class."""
    plain = isinstance(option.default, (str, int, float, bool, type(None)))
    return option.default if plain else repr(option.default)
