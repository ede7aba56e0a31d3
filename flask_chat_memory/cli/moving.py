"""What the commands share that move what is in stores: where from and where to, and what has become of it."""

from __future__ import annotations

import collections.abc as cabc
import json
import os
import typing as t

import click

from ..documents import Documents
from ..opening import current_app
from ..plugins.base import ChatMemoryPlugin
from ..plugins.options import definitions_of
from ..plugins.options import PluginOptions
from ..resolve import resolve
from ..storage.choice import beside
from ..transfer.copying import Counts
from ..transfer.stores import DOMAINS
from ..transfer.stores import Stores
from ..web.current import chat_memory
from .output import print_json
from .output import print_table

FROM_ENVIRONMENT = "env:"
"""Begins a value that is the name of an environment variable: what stands on a command line is seen by others."""


def plain_value(text: str) -> str:
    """Return a value of the command line, or what the environment variable holds that it names.

    :raises click.UsageError: if there is no such variable.
    """
    if not text.startswith(FROM_ENVIRONMENT):
        return text
    name = text.removeprefix(FROM_ENVIRONMENT)
    if name not in os.environ:
        raise click.UsageError(f"There is no environment variable {name}.")
    return os.environ[name]


def chosen_stores(choice: str, options: cabc.Iterable[str], like: ChatMemoryPlugin | None = None) -> Stores:
    """Return the stores of a chatbot of the site, or those that a plugin with these options has.

    :param choice: the name of a chatbot, or the id or the import path of a plugin.
    :param options: ``name=value``, the value as JSON or text.
    :param like: has the values of the options that all plugins have, unless they are given.
    :raises click.UsageError: for options of a chatbot, and for what is no option.
    """
    memory = chat_memory()
    given = dict(map(_option, options))
    if choice in memory.settings.chatbots:
        plugin = memory.plugin_for(choice)
        if given:
            raise click.UsageError(f"{choice!r} is a chatbot of the site, whose plugin has its options already.")
        if plugin is None:
            raise click.ClickException(f"Chatbot {choice!r} keeps no history on the server.")
        return Stores({choice: plugin}, memory.stores().storages)
    kind = memory.plugins.find(choice)
    common = {} if like is None else {name: getattr(like.options, name) for name in definitions_of(PluginOptions)}
    checked = kind.Options.make({**common, **given}, f"options of {choice}")
    app = current_app()
    documents = Documents({}, {})
    settings = beside(kind, checked)
    storage = None if settings is None else documents.chosen(app, settings)
    plugin = kind(resolve(app, checked, documents))
    return Stores({choice: plugin}, {} if storage is None else dict.fromkeys(DOMAINS, storage))


def report(counts: Counts, as_json: bool, more: cabc.Mapping[str, t.Any] | None = None) -> None:
    """Print how many of what had which outcome."""
    if as_json:
        told: dict[str, t.Any] = {}
        for (what, outcome), count in sorted(counts.items()):
            told.setdefault(what, {})[outcome] = count
        print_json({**told, **(more or {})})
        return
    print_table(("what", "outcome", "count"), [(*key, count) for key, count in sorted(counts.items()) if count])


def _option(text: str) -> tuple[str, t.Any]:
    name, separator, value = text.partition("=")
    if not separator:
        # It is not quoted: it may be a URL with a password.
        raise click.UsageError("An option of a plugin is given as name=value.")
    value = plain_value(value)
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value
