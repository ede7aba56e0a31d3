"""How far a long piece of work is, for who watches it."""

from __future__ import annotations

import collections.abc as cabc
import contextlib
import sys

import click


@contextlib.contextmanager
def progress(label: str, length: int | None = None) -> cabc.Iterator[cabc.Callable[[int], None]]:
    """Show a bar on standard error if that is a terminal; yields what is to be called with each number of steps done.

    :param length: the number of all steps, if it is known.
    """
    if not sys.stderr.isatty():
        yield lambda steps: None
        return
    # Steps without an end, if none is known.
    steps = iter(int, 1) if length is None else range(length)
    with click.progressbar(steps, length, label, show_pos=True, file=sys.stderr) as bar:
        yield bar.update
