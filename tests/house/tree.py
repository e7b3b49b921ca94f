"""The source tree as the house tests see it: every module with its parsed syntax. Imports nothing of what it reads."""

import ast
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "compositor"

# The half that only computes: no file, clock, chance, process, network or terminal.
PURE = ("errors", "types", "config", "context", "policy", "loop", "insight")


class Module(NamedTuple):
    path: Path
    """Relative to the repository."""
    text: str
    syntax: ast.Module

    @property
    def part(self) -> str:
        """The top-level name below the package it belongs to: `context`, `errors`, ..."""
        return self.path.relative_to("src/compositor").parts[0].removesuffix(".py")


@cache
def modules() -> tuple[Module, ...]:
    """All modules of the package, in path order."""
    return tuple(_module(path) for path in sorted(PACKAGE.rglob("*.py")))


def pure_modules() -> tuple[Module, ...]:
    return tuple(module for module in modules() if module.part in PURE)


def python_files(*folders: str) -> tuple[Path, ...]:
    """Python files below these folders of the repository, absolute, in path order."""
    return tuple(path for folder in folders for path in sorted((ROOT / folder).rglob("*.py")))


def _module(path: Path) -> Module:
    text = path.read_text(encoding="utf-8")
    return Module(path.relative_to(ROOT), text, ast.parse(text, filename=str(path)))
