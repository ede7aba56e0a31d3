"""The files that a page with the widget loads."""

from __future__ import annotations

import gzip
import importlib.resources
import re

STATIC = importlib.resources.files("flask_chat_memory.web") / "static"
OF_THE_LIST = {"threads.js", "threads.css"}
"""Loaded only with ``chat_widget(threads=True)``."""


ON_DEMAND = {"running.js": 1024}
"""Files that are loaded when they are needed, and how many bytes each may have."""


def sizes() -> dict[str, int]:
    return {file.name: len(gzip.compress(file.read_bytes(), 9)) for file in STATIC.iterdir()}


def test_all_files_of_the_chat_together_are_small() -> None:
    base = {name: size for name, size in sizes().items() if name not in {*OF_THE_LIST, *ON_DEMAND}}
    assert {"chat-memory.js", "chat-memory.css"} <= set(base)
    assert sum(base.values()) <= 8 * 1024, base


def test_the_files_of_the_list_are_small() -> None:
    optional = {name: size for name, size in sizes().items() if name in OF_THE_LIST}
    assert set(optional) == OF_THE_LIST
    assert sum(optional.values()) <= 3 * 1024, optional


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
