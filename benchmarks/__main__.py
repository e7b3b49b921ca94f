"""`python -m benchmarks [--json]`: every figure of this folder, as a table or as one JSON object."""

from __future__ import annotations

import json
import platform
import sys

from benchmarks import fold, startup
from benchmarks.measure import table


def main(arguments: list[str]) -> None:
    rows = [*fold.rows(), *startup.rows()]
    modules = startup.module_counts()
    if "--json" in arguments:
        found = [
            {"name": r.name, "ms": r.value, "floor_ms": r.floor, "ratio": r.ratio, "floor": r.floor_name} for r in rows
        ]
        print(json.dumps({"python": platform.python_version(), "rows": found, "modules": modules}, indent=1))
        return
    print(table(rows))
    print("\nmodules loaded")
    for name, count in modules.items():
        print(f"{name:44} {count:10}")


main(sys.argv[1:])
