"""Ratios of samples that were taken interleaved, and the tables that show them."""

from __future__ import annotations

import collections.abc as cabc
import datetime as dt
import os
import platform
import sqlite3
import statistics
import tempfile
import time

import msgspec
import sqlalchemy as sa

Rounds = list[list[float]]
"""Seconds: a list of samples for each round."""


def median(rounds: Rounds) -> float:
    """Return the median of all samples, in seconds."""
    return statistics.median(sample for samples in rounds for sample in samples)


def ratio(rounds: Rounds, base: Rounds) -> float:
    """Return the median over the rounds of the ratio of a round's medians: what slows a whole round cancels out."""
    return statistics.median(
        statistics.median(samples) / statistics.median(others) for samples, others in zip(rounds, base, strict=True)
    )


def milliseconds(seconds: float) -> str:
    return f"{seconds * 1000:#.3g}".rstrip(".")


def table(header: cabc.Sequence[str], rows: cabc.Iterable[cabc.Sequence[str]]) -> str:
    """Return a table in Markdown."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines) + "\n"


def target(name: str, value: float, limit: float, unit: str = "x") -> list[str]:
    """Return the row of a table that compares a measured ratio with what it should be at most."""
    return [name, f"{limit:g}{unit}", f"{value:.2f}{unit}", "yes" if value <= limit else "**no**"]


TARGET_HEADER = ["what", "at most", "measured", "reached"]


def environment() -> str:
    """Return a line that says where and with what it was measured."""
    return (
        f"{dt.date.today()}, {os.cpu_count()} cores, Python {platform.python_version()}, "
        f"SQLite {sqlite3.sqlite_version}, SQLAlchemy {sa.__version__}, msgspec {msgspec.__version__}; "
        f"writing 4 KiB to the disk for good takes {milliseconds(_sync_time())} ms."
    )


def _sync_time() -> float:
    times = []
    with tempfile.TemporaryFile() as file:
        for _ in range(50):
            file.write(bytes(4096))
            file.flush()
            start = time.perf_counter()
            os.fdatasync(file.fileno())
            times.append(time.perf_counter() - start)
    return statistics.median(times)
