"""Reads the ledger: the kinds of fault that the tests are for, and the tests that carry the marker ``scenario``."""

from __future__ import annotations

import ast
import collections
import collections.abc as cabc
import dataclasses
import functools
import pathlib
import tomllib
import typing as t

HERE = pathlib.Path(__file__).parent
TESTS = HERE.parent
CONTRACTS = TESTS.parent / "flask_chat_memory" / "testing" / "contracts"


@dataclasses.dataclass(frozen=True)
class Scenario:
    """A kind of fault.

    :ivar contracts: tests of the shipped contracts, which every plugin or storage runs that they concern.
    :ivar reason: why there is nothing to test; None where there are tests.
    """

    id: str
    title: str
    contracts: tuple[str, ...] = ()
    reason: str | None = None


@dataclasses.dataclass(frozen=True)
class Chapter:
    title: str
    scenarios: tuple[Scenario, ...]


@dataclasses.dataclass(frozen=True)
class Seen:
    """A scenario whose guarding code was removed: what it was, and the test that then failed."""

    id: str
    removed: str
    test: str


def load_chapters() -> list[Chapter]:
    chapters = []
    for path in sorted((HERE / "chapters").glob("*.toml")):
        data = tomllib.loads(path.read_text(encoding="utf-8"))
        title = data.pop("title")
        chapters.append(Chapter(title, tuple(_scenario(id, given) for id, given in data.items())))
    return chapters


def load_seen_failing() -> list[Seen]:
    data = tomllib.loads((HERE / "seen_failing.toml").read_text(encoding="utf-8"))
    return [Seen(id, **given) for id, given in data.items()]


def marked_tests() -> dict[str, list[str]]:
    """Return the tests by the ids of their markers, each as ``test_file.py::test_name``."""
    found: dict[str, list[str]] = collections.defaultdict(list)
    for path in sorted(TESTS.rglob("test_*.py")):
        file = path.relative_to(TESTS)
        for name, node in _definitions(_parsed(path)):
            for id in _ids_of(node):
                found[id].append(f"{file}::{name}")
    return dict(found)


def contract_tests() -> set[str]:
    """Return ``Contract.test_name`` for every test of a contract that some class of the tests runs."""
    classes = [
        node
        for folder in (TESTS, CONTRACTS)
        for path in folder.rglob("*.py")
        for node in _parsed(path).body
        if isinstance(node, ast.ClassDef)
    ]
    bases: dict[str, set[str]] = collections.defaultdict(set)
    for node in classes:
        bases[node.name].update(ast.unparse(base).rpartition(".")[2] for base in node.bases)
    run, left = set(), [name for name in bases if name.startswith("Test")]
    while left:
        name = left.pop()
        if name not in run:
            run.add(name)
            left.extend(bases.get(name, ()))
    return {
        f"{node.name}.{test.name}"
        for node in classes
        if node.name in run and node.name.endswith("Contract")
        for test in node.body
        if isinstance(test, ast.FunctionDef) and test.name.startswith("test_")
    }


def _scenario(id: str, given: dict[str, t.Any]) -> Scenario:
    return Scenario(id, **{**given, "contracts": tuple(given.get("contracts", ()))})


@functools.cache
def _parsed(path: pathlib.Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def _definitions(module: ast.Module) -> cabc.Iterator[tuple[str, ast.FunctionDef | ast.ClassDef]]:
    for node in module.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name, node
        if isinstance(node, ast.ClassDef):
            for inner in node.body:
                if isinstance(inner, ast.FunctionDef):
                    yield f"{node.name}::{inner.name}", inner


def _ids_of(node: ast.FunctionDef | ast.ClassDef) -> cabc.Iterator[str]:
    for decorator in node.decorator_list:
        if isinstance(decorator, ast.Call) and ast.unparse(decorator.func) == "pytest.mark.scenario":
            for argument in decorator.args:
                yield ast.literal_eval(argument)
