"""Importing the package and asking for help load nothing heavy: read from `sys.modules`, since a clock on a busy machine lies."""

import json
import subprocess
import sys

import pytest

from tests.house.tree import ROOT

HEAVY = (
    "PIL", "anthropic", "anyio", "asyncio", "filelock", "httpx2", "jsonschema_rs", "markdown_it", "mcp", "openai",
    "opentelemetry.sdk", "pathspec", "prompt_toolkit", "pydantic", "pypdf", "rich", "tree_sitter", "tree_sitter_bash",
    "wcmatch", "yaml",
)  # fmt: skip

WAYS_IN = {"import": "import compositor"}
if (ROOT / "src/compositor/cli/main.py").exists():
    WAYS_IN["help"] = "sys.argv = ['compositor', '--help']; from compositor.cli.main import main; main()"
    WAYS_IN["version"] = "sys.argv = ['compositor', '--version']; from compositor.cli.main import main; main()"


@pytest.mark.parametrize("way", WAYS_IN)
def test_the_way_in_loads_nothing_heavy(way: str) -> None:
    assert _loaded_by(WAYS_IN[way]).isdisjoint(HEAVY)


@pytest.mark.parametrize("way", WAYS_IN)
def test_the_version_is_not_looked_up(way: str) -> None:
    assert "importlib.metadata" not in _loaded_by(WAYS_IN[way])


def test_a_heavy_import_would_be_noticed() -> None:
    assert "asyncio" in _loaded_by("import compositor, asyncio")


def _loaded_by(statement: str) -> set[str]:
    program = (
        "import atexit, sys, json; sys.path.insert(0, sys.argv[1]); "
        "atexit.register(lambda: sys.stderr.write(json.dumps(sorted(sys.modules)))); " + statement
    )
    result = subprocess.run(
        [sys.executable, "-I", "-c", program, str(ROOT / "src")],
        capture_output=True,
        text=True,
        check=True,
    )
    return set(json.loads(result.stderr))
