"""The files that a page with the widget loads."""

from __future__ import annotations

import gzip
import importlib.resources
import re

STATIC = importlib.resources.files("flask_chat_memory.web") / "static"


ON_DEMAND = {"running.js": 1024}
"""Files that are loaded when they are needed, and how many bytes each may have."""


def test_all_files_of_a_page_together_are_small() -> None:
    sizes = {file.name: len(gzip.compress(file.read_bytes(), 9)) for file in STATIC.iterdir()}
    assert {"chat-memory.js", "chat-memory.css", *ON_DEMAND} <= set(sizes)
    assert sum(size for name, size in sizes.items() if name not in ON_DEMAND) <= 8 * 1024, sizes


def test_what_is_loaded_on_demand_is_imported_so_and_small() -> None:
    imports = [line for file in STATIC.iterdir() if file.name.endswith(".js") for line in file.read_text().splitlines()]
    for name, budget in ON_DEMAND.items():
        assert len(gzip.compress((STATIC / name).read_bytes(), 9)) <= budget
        assert [line for line in imports if name in line and not line.lstrip().startswith(f'import("./{name}")')] == []


def test_scripts_make_nodes_and_never_markup() -> None:
    forbidden = re.compile(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|\beval\b|new Function")
    for file in STATIC.iterdir():
        if file.name.endswith(".js"):
            assert not forbidden.search(file.read_text()), file.name
