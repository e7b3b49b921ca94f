"""The arrows between folders, as import-linter reads them from pyproject.toml; and that it would notice a wrong one."""

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.house.tree import ROOT

CONTRACTS = {
    contract["id"]: contract
    for contract in tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"][
        "contracts"
    ]
}

# (file below src/compositor, what it wrongly says, the contract that must break)
WRONG = [
    ("newcomer.py", "", "layers"),
    ("errors.py", "import compositor.types", "layers"),
    ("context/wire/wrong.py", "import compositor.policy", "layers"),
    ("policy/wrong.py", "import compositor.context", "layers"),
    ("context/newcomer.py", "", "context-layers"),
    ("context/wire/wrong.py", "import compositor.context.prefix", "context-layers"),
    ("emulator/wrong.py", "import compositor.context", "emulator-alone"),
    ("emulator/wrong.py", "import httpx2", "emulator-transport"),
    ("loop/wrong.py", "from time import monotonic", "pure"),
    ("context/wire/wrong.py", "import os.path", "pure"),
    ("types/wrong.py", "def late():\n    import asyncio", "pure"),
]


@pytest.mark.req("R119")
def test_every_arrow_points_down() -> None:
    result = _lint(ROOT)
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize(("file", "source", "contract"), WRONG, ids=[f"{c}: {f}: {s}" for f, s, c in WRONG])
def test_a_wrong_arrow_is_noticed(tmp_path: Path, file: str, source: str, contract: str) -> None:
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    for name in ("__init__.py", "errors.py", "types/__init__.py", "types/wrong.py", "_version.py"):
        _write(tmp_path / "src/compositor" / name, "")
    for part in ("config", "context", "context/wire", "context/prefix", "policy", "loop", "emulator"):
        _write(tmp_path / "src/compositor" / part / "__init__.py", "")
    assert _lint(tmp_path).returncode == 0
    _write(tmp_path / "src/compositor" / file, source)
    result = _lint(tmp_path)
    assert result.returncode == 1
    assert f"{CONTRACTS[contract]['name']} BROKEN" in result.stdout


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def _lint(root: Path) -> subprocess.CompletedProcess[str]:
    linter = "import sys; from importlinter.cli import lint_imports_command; sys.exit(lint_imports_command())"
    return subprocess.run(
        [sys.executable, "-c", linter, "--no-cache", "--no-logo"],
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(root / "src"), "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )
