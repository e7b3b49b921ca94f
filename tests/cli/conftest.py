"""A project and a home for each test of the command line."""

import shutil
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from compositor.cli.main import cli, run_command
from tests.cli.program import GREETER, NOW


class Called(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    return folder


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A copy of the sample project, outside any repository."""
    return Path(shutil.copytree(GREETER, tmp_path / "greeter", ignore=shutil.ignore_patterns("__pycache__")))


@pytest.fixture
def call(home: Path, project: Path, monkeypatch: pytest.MonkeyPatch, capsysbinary: Any, tmp_path: Path) -> Any:
    """Run a command line in this process, in the sample project."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    monkeypatch.chdir(project)
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("COMPOSITOR_HOME", str(home / "state"))
    monkeypatch.setenv("COMPOSITOR_NOW", NOW)

    def called(*arguments: str) -> Called:
        code = run_command(cli, list(arguments))
        shown = capsysbinary.readouterr()
        return Called(int(code), shown.out.decode(), shown.err.decode())

    return called
