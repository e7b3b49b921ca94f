"""The modules whose faults would break a law, and the tests that must notice: read by the coverage and the mutation script."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "compositor"

# Files, or folders with everything in them.
LAW_MODULES = (
    "context/prefix.py",
    "context/messages/steps.py",
    "context/messages/legality",
    "context/cache/breakpoints.py",
    "context/transcript/journal.py",
    "policy/actions.py",
    "policy/decide.py",
    "policy/shell.py",
)


def law_files() -> list[Path]:
    """The files of the table that exist, absolute, in its order."""
    found: list[Path] = []
    for name in LAW_MODULES:
        path = PACKAGE / name
        found += sorted(path.rglob("*.py")) if path.is_dir() else [path] if path.exists() else []
    return [path for path in found if path.name != "__init__.py"]


def noticing_tests(module: Path) -> list[Path]:
    """Where a fault of this module should show: its mirror file first, then its folder's tests, then the laws."""
    inside = module.relative_to(PACKAGE)
    folder = ROOT / "tests" / inside.parent
    places = [*sorted(folder.glob(f"test_{inside.stem}*.py")), folder / inside.stem]
    if inside.parent.name:
        places.append(folder)
    places.append(ROOT / "tests" / "properties")
    return [place for place in places if place.exists()]
