"""The files that a page with the widget loads."""

from __future__ import annotations

import gzip
import importlib.resources
import re

STATIC = importlib.resources.files("flask_chat_memory.web") / "static"


def test_all_files_together_are_small() -> None:
    sizes = {file.name: len(gzip.compress(file.read_bytes(), 9)) for file in STATIC.iterdir()}
    assert {"chat-memory.js", "chat-memory.css"} <= set(sizes)
    assert sum(sizes.values()) <= 8 * 1024, sizes


def test_scripts_make_nodes_and_never_markup() -> None:
    forbidden = re.compile(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|\beval\b|new Function")
    for file in STATIC.iterdir():
        if file.name.endswith(".js"):
            assert not forbidden.search(file.read_text()), file.name
