"""The files that a page with the widget loads."""

from __future__ import annotations

import gzip
import importlib.resources
import re

import pytest

STATIC = importlib.resources.files("flask_chat_memory.web") / "static"
PARTS = {"threads": 3072, "tools": 3072, "temporary": 1024}
"""What has a script and a style sheet that only pages with it load, and how many bytes both together may have."""
ON_DEMAND = {"running.js": 1024, "search.js": 1024}
"""Files that are loaded when they are needed, and how many bytes each may have."""


def sizes() -> dict[str, int]:
    return {file.name: len(gzip.compress(file.read_bytes(), 9)) for file in STATIC.iterdir()}


def test_all_files_of_the_chat_together_are_small() -> None:
    base = {name: size for name, size in sizes().items() if name.split(".")[0] not in PARTS and name not in ON_DEMAND}
    assert {"chat-memory.js", "chat-memory.css"} <= set(base)
    assert sum(base.values()) <= 8 * 1024, base


@pytest.mark.parametrize("part", PARTS)
def test_what_only_some_pages_have_is_small(part: str) -> None:
    files = {name: sizes()[name] for name in (f"{part}.js", f"{part}.css")}
    assert sum(files.values()) <= PARTS[part], files


def test_what_is_loaded_on_demand_is_imported_so_and_small() -> None:
    imports = [line for file in STATIC.iterdir() if file.name.endswith(".js") for line in file.read_text().splitlines()]
    for name, budget in ON_DEMAND.items():
        assert len(gzip.compress((STATIC / name).read_bytes(), 9)) <= budget
        assert [line for line in imports if name in line and f'import("./{name}")' not in line] == []


def test_scripts_make_nodes_and_never_markup() -> None:
    forbidden = re.compile(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|\beval\b|new Function")
    for file in STATIC.iterdir():
        if file.name.endswith(".js"):
            assert not forbidden.search(file.read_text()), file.name
