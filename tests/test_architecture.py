"""Who knows whom in the package."""

from __future__ import annotations

import ast
import pathlib

import pytest

import flask_chat_memory

PACKAGE = pathlib.Path(flask_chat_memory.__file__).parent


def names_of(path: pathlib.Path) -> set[str]:
    """Return every module that a file imports, and every attribute of ``flask`` that it uses."""
    return names_of_tree(path, ast.parse(path.read_text()))


def names_of_tree(path: pathlib.Path, tree: ast.AST) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(tree):
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


@pytest.mark.parametrize("folder", ["plugins", "short_term", "storage", "knowledge"])
def test_plugins_storages_and_short_term_memories_know_no_flask(folder: str) -> None:
    inside = {module: names for module, names in MODULES.items() if module.startswith(f"{folder}/")}
    assert len(inside) > 3
    for module, names in inside.items():
        strangers = {
            name for name in names if name.split(".")[0] in ("flask", "flask_login", "flask_session", "werkzeug")
        }
        assert strangers == set(), module


FLOORS = [
    {
        "values",
        "errors",
        "events",
        "signals",
        "usage",
        "fields",
        "message",
        "outline",
        "disk",
        "encryption",
        "redaction",
    },
    {"plugins", "short_term", "storage", "testing", "knowledge"},
    {
        "config",
        "settings",
        "question",
        "provider",
        "visitor",
        "stream",
        "live",
        "place",
        "following",
        "finishing",
        "repeat",
        "response",
        "location",
        "running",
        "telemetry",
        "transfer",
        "migrations",
        "claims",
        "condensing",
        "summaries",
    },
    {"answering", "turn"},
    {"titles", "summarising"},
    {"asking", "threads", "unfinished", "own_summary"},
    {"history", "search", "turns", "lines"},
    {"conversation", "functions", "resolve", "session_store"},
    {"documents"},
    {
        "accounts",
        "adoption",
        "instances",
        "remembering",
        "forgetting",
        "retention",
        "purging",
        "health",
        "owner",
        "pointer",
        "privacy",
        "web",
        "cli",
        "opening",
        "extension",
    },
]
"""From the ground up. A module knows its own floor and those below."""


def place_of(name: str) -> tuple[str, int] | None:
    """Return the part of the package that a dotted name belongs to, and its floor."""
    parts = name.split(".")
    if parts[0] != "flask_chat_memory" or len(parts) == 1:
        return None
    return next(((parts[1], floor) for floor, names in enumerate(FLOORS) if parts[1] in names), None)


def imports_at_run_time(path: pathlib.Path) -> set[str]:
    """Return the imports of a file but those that only a type checker sees."""
    tree = ast.parse(path.read_text())
    hidden = [node for node in tree.body if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)]
    for node in hidden:
        tree.body.remove(node)
    return names_of_tree(path, tree)


def test_every_module_stands_on_a_floor() -> None:
    parts = {module.split("/")[0].removesuffix(".py") for module in MODULES} - {"__init__"}
    assert parts == set().union(*FLOORS)


def test_imports_go_down() -> None:
    for module in MODULES:
        own = place_of(f"flask_chat_memory.{module.removesuffix('.py').replace('/', '.')}")
        if own is None:
            continue
        for name in imports_at_run_time(PACKAGE / module):
            other = place_of(name)
            assert other is None or other[1] <= own[1], f"{module} imports {name}"


def test_conversation_and_turn_know_neither_pointer_nor_owner() -> None:
    for module in (
        "conversation",
        "turns",
        "lines",
        "turn",
        "asking",
        "location",
        "repeat",
        "live",
        "stream",
        "response",
        "visitor",
        "running",
    ):
        known = {place[0] for place in map(place_of, MODULES[f"{module}.py"]) if place}
        assert known & {"pointer", "owner", "extension", "web", "instances", "adoption"} == set(), module
