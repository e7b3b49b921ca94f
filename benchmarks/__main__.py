"""`python -m benchmarks [--json] [NAME...]`: the figures of this folder, as tables or as one JSON object.

Decides the order of the sections. A module is a section when it has `rows()`; one with a `table(rows)` of its own prints itself.
"""

from __future__ import annotations

import importlib
import platform
import sys
from typing import Any

import msgspec

from benchmarks import measure

SECTIONS = ("speed", "fold", "startup", "cache", "sums", "memory", "sessions", "replay", "turn", "gather")
ON_REQUEST = ("tokens",)
"""Sections that need more than the clone."""


def main(arguments: list[str]) -> None:
    wanted = [name for name in arguments if not name.startswith("-")] or list(SECTIONS)
    unknown = sorted(set(wanted) - {*SECTIONS, *ON_REQUEST})
    if unknown:
        sys.exit(f"there is no section {unknown[0]!r}; there are {', '.join((*SECTIONS, *ON_REQUEST))}")
    found: dict[str, Any] = {}
    for name in wanted:
        module: Any = importlib.import_module(f"benchmarks.{name}")
        rows = module.rows()
        found[name] = rows
        if "--json" not in arguments:
            print(f"\n{name}\n{getattr(module, 'table', measure.table)(rows)}", flush=True)
    if "--json" in arguments:
        print(msgspec.json.encode({"python": platform.python_version(), **found}).decode())


main(sys.argv[1:])
