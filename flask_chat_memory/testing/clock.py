"""A clock that stands still."""

from __future__ import annotations


class ManualClock:
    """Gives the same UNIX time (seconds) until it is told to go on; may replace the ``clock`` of a plugin."""

    def __init__(self, now: float = 1_800_000_000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now

    def advance(self, seconds: float) -> None:
        self.now += seconds
