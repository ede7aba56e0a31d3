"""What a check of ``doctor`` finds."""

from __future__ import annotations

import typing as t

import msgspec


class Finding(msgspec.Struct, frozen=True):
    """One thing that was looked at.

    :param check: what was looked at, as ``clock``.
    :param level: ``ok``; ``note``, which may be as it is meant to be; ``problem``.
    :param cure: what to do; None where nothing needs to be done.
    """

    check: str
    level: t.Literal["ok", "note", "problem"]
    text: str
    cure: str | None = None
