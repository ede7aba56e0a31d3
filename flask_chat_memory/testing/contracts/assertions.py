"""Lets pytest explain the assertions of the contracts, which stand in an installed package."""

from __future__ import annotations

import pathlib

import pytest

pytest.register_assert_rewrite(
    *(
        f"{__package__}.{module.stem}"
        for module in pathlib.Path(__file__).parent.glob("*.py")
        if module.stem not in ("__init__", "assertions")
    )
)
