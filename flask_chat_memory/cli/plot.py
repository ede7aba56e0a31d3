"""Draws the days of ``flask chat-memory stats``."""

from __future__ import annotations

import collections.abc as cabc
import dataclasses
import datetime as dt

from matplotlib.dates import AutoDateLocator
from matplotlib.dates import ConciseDateFormatter
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter

from .stats import Day


def draw(path: str, days: cabc.Sequence[tuple[dt.date, Day]]) -> None:
    """Write an SVG with a panel for each number, by day."""
    names = [field.name for field in dataclasses.fields(Day)]
    figure = Figure(figsize=(9, 2 * len(names)), layout="constrained")
    panels = figure.subplots(len(names), 1, sharex=True)
    for panel, name in zip(panels, names, strict=True):
        panel.bar([day for day, _ in days], [getattr(counts, name) for _, counts in days], width=0.8)
        panel.set_title(f"{name.capitalize()} a day", loc="left")
        panel.yaxis.set_major_formatter(EngFormatter())
        panel.spines[["top", "right"]].set_visible(False)
    locator = AutoDateLocator()  # type: ignore[no-untyped-call]
    panels[-1].xaxis.set_major_locator(locator)
    panels[-1].xaxis.set_major_formatter(ConciseDateFormatter(locator))  # type: ignore[no-untyped-call]
    figure.savefig(path, format="svg")
