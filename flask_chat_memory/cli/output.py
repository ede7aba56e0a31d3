"""How results are printed: JSON for programs, tables for people."""

from __future__ import annotations

import collections.abc as cabc
import json
import typing as t
import unicodedata

import click


def print_json(result: object) -> None:
    """Print what JSON can hold, in one line of standard output; what steers terminals is escaped."""
    text = json.dumps(result, ensure_ascii=False)
    click.echo("".join(json.dumps(sign)[1:-1] if _steers(sign) else sign for sign in text))


def print_table(headers: cabc.Sequence[str], rows: cabc.Iterable[cabc.Sequence[t.Any]]) -> None:
    """Print rows in columns; None is an empty cell."""
    cells = [list(headers), *([printable("" if value is None else str(value)) for value in row] for row in rows)]
    widths = [max(_width(row[column]) for row in cells) for column in range(len(headers))]
    for row in cells:
        padded = (cell + " " * (width - _width(cell)) for cell, width in zip(row, widths, strict=True))
        click.echo("  ".join(padded).rstrip())


def printable(text: str) -> str:
    """Return text as a terminal can bear it, in one line: what visitors write may hold what steers terminals."""
    return "".join(_STEERING if _steers(sign) else sign for sign in text)


def _steers(sign: str) -> bool:
    # Persian is written with joiners, and many emoji are made with them.
    return unicodedata.category(sign) in _UNPRINTABLE and sign not in _JOINERS


def _width(text: str) -> int:
    """Return how many columns of a terminal a text takes."""
    signs = (sign for sign in text if not unicodedata.combining(sign) and sign not in _JOINERS)
    return sum(2 if unicodedata.east_asian_width(sign) in "WF" else 1 for sign in signs)


_STEERING = "\N{REPLACEMENT CHARACTER}"
_UNPRINTABLE = {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}
_JOINERS = "\N{ZERO WIDTH NON-JOINER}\N{ZERO WIDTH JOINER}"
