"""Who knows whom in the package."""

from __future__ import annotations

import ast
import pathlib

import pytest

import flask_chat_memory

PACKAGE = pathlib.Path(flask_chat_memory.__file__).parent


def names_of(path: pathlib.Path) -> set[str]:
    """Return every module that a file imports, and every attribute of ``flask`` that it uses."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            package = path.relative_to(PACKAGE.parent).with_suffix("").parts
            base = ".".join(package[: len(package) - node.level]) if node.level else ""
            module = ".".join(part for part in (base, node.module) if part)
            names.add(module)
            names.update(f"{module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "flask":
            names.add(f"flask.{node.attr}")
    return names


MODULES = {str(path.relative_to(PACKAGE)): names_of(path) for path in sorted(PACKAGE.rglob("*.py"))}


def test_only_the_pointer_touches_the_session() -> None:
    users = [module for module, names in MODULES.items() if {"flask.session", "flask.globals"} & names]
    assert users == ["pointer.py"]


@pytest.mark.parametrize("folder", ["plugins", "short_term"])
def test_plugins_and_short_term_memories_know_no_flask(folder: str) -> None:
    inside = {module: names for module, names in MODULES.items() if module.startswith(f"{folder}/")}
    assert len(inside) > 3
    for module, names in inside.items():
        strangers = {
            name for name in names if name.split(".")[0] in ("flask", "flask_login", "flask_session", "werkzeug")
        }
        assert strangers == set(), module


def test_conversation_and_turn_know_neither_pointer_nor_owner() -> None:
    for module in ("conversation.py", "turn.py", "stream.py", "live.py", "location.py", "question.py", "repeat.py"):
        strangers = {f"flask_chat_memory.{name}" for name in ("pointer", "owner", "extension", "web", "instances")}
        assert strangers & MODULES[module] == set(), module


def test_the_lower_floors_do_not_import_the_upper_ones() -> None:
    upper = {f"flask_chat_memory.{name}" for name in ("conversation", "turn", "stream", "live", "extension", "web")}
    for module, names in MODULES.items():
        if module.startswith(("plugins/", "short_term/")) or module in ("config.py", "message.py", "errors.py"):
            assert upper & names == set(), module
