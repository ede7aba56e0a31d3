"""The tables of a backend."""

from __future__ import annotations

import collections.abc as cabc
import typing as t

from tests.benchmarks.measure import ALL
from tests.benchmarks.measure import APPEND
from tests.benchmarks.measure import FEW
from tests.benchmarks.measure import NEWEST
from tests.benchmarks.measure import OPERATIONS
from tests.benchmarks.measure import Results
from tests.benchmarks.measure import WHOLE
from tests.benchmarks.measure import WINDOW
from tests.benchmarks.report import median
from tests.benchmarks.report import milliseconds
from tests.benchmarks.report import ratio
from tests.benchmarks.report import table
from tests.benchmarks.report import target


def times(results: Results, names: cabc.Sequence[str], lengths: cabc.Sequence[int]) -> str:
    """Show the medians of all operations; with each the ratio to the first of the systems."""

    def cell(operation: str, name: str, length: int) -> str:
        samples = results.get((operation, name, length))
        if samples is None:
            return ""
        against = "" if name == names[0] else f" ({ratio(samples, results[operation, names[0], length]):.2f}x)"
        return milliseconds(median(samples)) + against

    rows = [
        [operation, name, *(cell(operation, name, length) for length in lengths)]
        for operation in OPERATIONS
        for name in names
    ]
    return table(["median in ms", f"(ratio to {names[0]})", *_heads(lengths)], rows)


def targets(
    results: Results, names: cabc.Sequence[str], lengths: cabc.Sequence[int], limits: cabc.Mapping[str, float]
) -> str:
    """Compare the last of the systems with all others, at every length."""
    *others, ours = names
    rows = []
    for operation, limit in limits.items():
        for other in others:
            found = {
                length: ratio(results[operation, ours, length], results[operation, other, length])
                for length in lengths
                if (operation, ours, length) in results
            }
            # All of a short thread is no more than its newest.
            missed = {
                length for length, value in found.items() if value > limit and (operation != ALL or length >= WHOLE)
            }
            cells = [f"**{value:.2f}x**" if length in missed else f"{value:.2f}x" for length, value in found.items()]
            cells += [""] * (len(lengths) - len(found))
            rows.append([operation, other, f"{limit:g}x", *cells, "**no**" if missed else "yes"])
    return table([ours, "against", "at most", *_heads(lengths), "reached"], rows)


def growth(results: Results, name: str, lengths: cabc.Sequence[int], title: str) -> t.Iterator[list[str]]:
    """Compare the longest thread with the shortest that has as many messages to give."""
    longest, full = lengths[-1], next((length for length in lengths if length >= WINDOW), lengths[-1])
    for operation, shortest in ((APPEND, lengths[0]), (FEW, lengths[0]), (NEWEST, full)):
        grown = ratio(results[operation, name, longest], results[operation, name, shortest])
        yield target(f"{title}: {operation}, {longest:,} messages against {shortest:,}", grown, 1.25)


def _heads(lengths: cabc.Iterable[int]) -> list[str]:
    return [f"{length:,}" for length in lengths]
