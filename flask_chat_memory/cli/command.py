"""What the commands have in common: an app around them, ``--json``, errors as sentences, exit codes."""

from __future__ import annotations

import collections.abc as cabc
import errno
import functools
import typing as t

import click
import flask.cli

from ..errors import ChatMemoryError
from .output import printable

R = t.TypeVar("R")
P = t.ParamSpec("P")

INTERRUPTED = 130
"""The exit code after Ctrl-C, as shells give it."""


def operator_command(function: cabc.Callable[P, R]) -> click.Command:
    """Make a command of a function, whose docstring is the help: one sentence, and an example after ``\\b``.

    It is named as its module and runs in an app context. It has the option ``--json``, which the function gets as
    ``as_json``. Results go to standard output, all else to standard error. Exit codes: 0 done; 1 failed, where a
    :class:`ChatMemoryError` or an :class:`OSError` becomes a sentence; 2 wrong usage (:class:`click.UsageError`); 130
    after Ctrl-C, which may come at any moment: a command leaves the store consistent, and goes on when it is run again.
    """

    @functools.wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except ChatMemoryError as error:
            raise click.ClickException(printable(str(error))) from error
        except OSError as error:
            # click ends a command quietly whose reader has gone.
            if error.errno == errno.EPIPE:
                raise
            where = f"{error.filename}: " if error.filename else ""
            raise click.ClickException(printable(f"{where}{error.strerror or error}")) from error
        except (KeyboardInterrupt, click.Abort) as error:
            click.echo("\nInterrupted. What was done stays done; run the command again to go on.", err=True)
            raise click.exceptions.Exit(INTERRUPTED) from error

    command = click.command(function.__module__.rpartition(".")[2].removesuffix("_"))(flask.cli.with_appcontext(run))
    command.params.append(click.Option(["--json", "as_json"], is_flag=True, help="Print JSON, for programs."))
    return command
