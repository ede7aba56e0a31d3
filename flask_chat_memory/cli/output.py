"""How results are printed: JSON for programs, tables for people."""

from __future__ import annotations

import collections.abc as cabc
import json
import typing as t
import unicodedata

import click


def print_json(result: object) -> None:
    """Print what JSON can hold, in one line of standard output."""
    click.echo(json.dumps(result, ensure_ascii=False))


def print_table(headers: cabc.Sequence[str], rows: cabc.Iterable[cabc.Sequence[t.Any]]) -> None:
    """Print rows in columns; None is an empty cell."""
    cells = [list(headers), *([printable("" if value is None else str(value)) for value in row] for row in rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(headers))]
    for row in cells:
        click.echo("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def printable(text: str) -> str:
    """Return text as a terminal can bear it: what visitors write may hold sequences that steer terminals."""
    return "".join("\N{REPLACEMENT CHARACTER}" if unicodedata.category(sign) in _UNPRINTABLE else sign for sign in text)


_UNPRINTABLE = {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}
