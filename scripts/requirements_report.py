"""Lists the requirements that no test shows yet. Decides nothing: it always exits 0 unless a test names an unknown id.

A test shows a requirement by the marker `@pytest.mark.req("R123")`. The ids are read from tests/house/requirement_ids.txt,
the markers from the source of the tests, so that nothing is imported and nothing is run.

    python -m scripts.requirements_report [--json]
"""

from __future__ import annotations

import ast
import json
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
IDS_FILE = ROOT / "tests" / "house" / "requirement_ids.txt"


def main(arguments: list[str]) -> int:
    known = known_ids()
    shown = marked_tests(ROOT / "tests")
    missing = [name for name in known if name not in shown]
    unknown = sorted(set(shown) - set(known))
    if "--json" in arguments:
        print(json.dumps({"shown": shown, "missing": missing, "unknown": unknown}, indent=2))
    else:
        print(f"{len(known) - len(missing)} of {len(known)} requirements are shown by a test.")
        for line in _ranges(missing):
            print(f"  no test: {line}")
        for name in unknown:
            print(f"  no such requirement: {name} in {', '.join(shown[name])}")
    return 1 if unknown else 0


def known_ids() -> tuple[str, ...]:
    return tuple(IDS_FILE.read_text(encoding="utf-8").split())


def marked_tests(folder: Path) -> dict[str, list[str]]:
    """Requirement id -> the tests that name it, as `path::function`, sorted by id."""
    found: dict[str, list[str]] = {}
    for path in sorted(folder.rglob("test_*.py")):
        for name, test in _marks(ast.parse(path.read_text(encoding="utf-8"), filename=str(path))):
            found.setdefault(name, []).append(f"{path.relative_to(ROOT)}::{test}")
    return dict(sorted(found.items()))


def _marks(module: ast.Module) -> Iterator[tuple[str, str]]:
    for node in ast.walk(module):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        for decorator in node.decorator_list:
            if isinstance(decorator, ast.Call) and ast.unparse(decorator.func) == "pytest.mark.req":
                for argument in decorator.args:
                    yield str(ast.literal_eval(argument)), node.name


def _ranges(names: list[str]) -> Iterator[str]:
    """Folds `R001 R002 R003 R007` to `R001-R003`, `R007`, ten a line."""
    numbers = [int(name[1:]) for name in names]
    starts = [n for n in numbers if n - 1 not in numbers]
    ends = [n for n in numbers if n + 1 not in numbers]
    folded = [f"R{a:03}" if a == b else f"R{a:03}-R{b:03}" for a, b in zip(starts, ends, strict=True)]
    for at in range(0, len(folded), 10):
        yield " ".join(folded[at : at + 10])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
