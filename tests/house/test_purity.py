"""The half that only computes touches nothing: what import-linter and ruff cannot see, read from the syntax itself."""

import ast
from collections.abc import Iterator
from pathlib import PurePosixPath

import pytest

from tests.house.test_layers import CONTRACTS
from tests.house.tree import pure_modules

# Reading package data is the one exception (architecture: config/data.py, once).
DATA_DOOR = PurePosixPath("src/compositor/config/data.py")
FORBIDDEN_MODULES = frozenset(CONTRACTS["pure"]["forbidden_modules"]) | {
    "importlib.resources",
    "io.open",
    "pkgutil",
    "urllib.request",
}
PURE_PATHS = frozenset({"PurePath", "PurePosixPath", "PureWindowsPath"})
# `hash` of text differs from process to process: it may not reach a byte we send.
FORBIDDEN_CALLS = frozenset({"open", "print", "input", "breakpoint", "exec", "eval", "hash"})
FORBIDDEN_METHODS = frozenset({"now", "utcnow", "today"})


def test_the_pure_half_touches_nothing() -> None:
    found = [
        f"{module.path}:{line}: {what}"
        for module in pure_modules()
        for line, what in impurities(module.syntax)
        if not (PurePosixPath(module.path) == DATA_DOOR and what == "imports pkgutil")
    ]
    assert found == []


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("import os", "imports os"),
        ("import os.path as p", "imports os.path"),
        ("from os import environ", "imports os"),
        ("def late():\n    import subprocess", "imports subprocess"),
        ("from pathlib import Path", "imports pathlib.Path"),
        ("import pathlib", "imports pathlib"),
        ("from importlib import resources", "imports importlib.resources"),
        ("import importlib.resources", "imports importlib.resources"),
        ("open('x')", "calls open"),
        ("datetime.now(UTC)", "calls .now"),
        ("date.today()", "calls .today"),
        ("key = hash('x')", "calls hash"),
    ],
)
def test_an_impurity_is_noticed(source: str, expected: str) -> None:
    assert [what for _, what in impurities(ast.parse(source))] == [expected]


@pytest.mark.parametrize(
    "source",
    [
        "from pathlib import PurePosixPath",
        "from datetime import date\nday = date.fromisoformat('2026-01-01')",
        "class Value:\n    def __hash__(self):\n        return hash(self.digest)",
        "import hashlib, re, importlib",
        "from .os import name",
    ],
)
def test_what_is_pure_passes(source: str) -> None:
    assert list(impurities(ast.parse(source))) == []


def impurities(syntax: ast.Module) -> Iterator[tuple[int, str]]:
    """(line, what is wrong) for everything in this module that reaches outside."""
    own_hash = {
        id(node)
        for function in ast.walk(syntax)
        if isinstance(function, ast.FunctionDef) and function.name == "__hash__"
        for node in ast.walk(function)
    }
    for node in ast.walk(syntax):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if _is_forbidden(alias.name) or alias.name == "pathlib":
                    yield node.lineno, f"imports {alias.name}"
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module is not None:
            yield from _impure_from(node.lineno, node.module, [alias.name for alias in node.names])
        elif isinstance(node, ast.Call) and id(node) not in own_hash:
            if isinstance(node.func, ast.Name) and node.func.id in FORBIDDEN_CALLS:
                yield node.lineno, f"calls {node.func.id}"
            elif isinstance(node.func, ast.Attribute) and node.func.attr in FORBIDDEN_METHODS:
                yield node.lineno, f"calls .{node.func.attr}"


def _impure_from(line: int, module: str, names: list[str]) -> Iterator[tuple[int, str]]:
    if _is_forbidden(module):
        yield line, f"imports {module}"
        return
    for name in names:
        if _is_forbidden(f"{module}.{name}") or (module == "pathlib" and name not in PURE_PATHS):
            yield line, f"imports {module}.{name}"


def _is_forbidden(name: str) -> bool:
    return name in FORBIDDEN_MODULES or name.partition(".")[0] in FORBIDDEN_MODULES
