"""What the commands have in common: an app around them, errors as sentences, the option ``--json``."""

from __future__ import annotations

import collections.abc as cabc
import functools
import typing as t

import click
import flask.cli

from ..errors import ChatMemoryError

R = t.TypeVar("R")
P = t.ParamSpec("P")

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


def operator_command(function: cabc.Callable[P, R]) -> click.Command:
    """Make a command of a function, whose docstring is the help.

    It runs in an app context. A :class:`ChatMemoryError` becomes a sentence on standard error and the exit code 1;
    click's own code for wrong usage is 2.
    """

    @functools.wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except ChatMemoryError as error:
            raise click.ClickException(str(error)) from error

    name = function.__module__.rpartition(".")[2]
    return click.command(name)(flask.cli.with_appcontext(run))
