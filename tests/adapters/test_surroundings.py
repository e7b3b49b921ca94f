"""What a session captures once when it opens: repository, instruction files, machine, directories; each may be missing."""

import os
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest

from compositor.adapters.clock import FixedClock
from compositor.adapters.settings_files import find_places, load_settings
from compositor.adapters.surroundings import gather
from compositor.config.contract import resolve_contract
from compositor.config.flags import SOURCES, Flags
from compositor.loop.opening import Surroundings

CLOCK = FixedClock(datetime(2026, 1, 31, 23, 30, tzinfo=UTC))


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    return path


@pytest.fixture
def project(tmp_path: Path) -> Path:
    write(tmp_path / "project" / "CLAUDE.md", "Project instructions.")
    return tmp_path / "project"


def around(project: Path, flags: Flags | None = None, **changes: str) -> Surroundings:
    environ = {"PATH": os.environ["PATH"], "HOME": str(project.parent / "home"), "SHELL": "/bin/zsh", **changes}
    places = find_places(str(project), environ)
    contract = resolve_contract(flags or Flags(), load_settings(places), environ, cwd=str(project))
    return gather(contract, places, environ, CLOCK, sources=tuple(level.value for level in SOURCES))


def git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", "-c", "init.defaultBranch=main", *arguments], cwd=folder, check=True, capture_output=True)


def texts(found: Surroundings, below: Path) -> list[str]:
    return [memory.file.text for memory in found.memory.files if memory.file.path.startswith(f"{below}/")]


def test_outside_a_repository(project: Path) -> None:
    found = around(project)
    assert (found.cwd, found.date, found.git, found.is_repository) == (str(project), "2026-01-31", None, False)
    assert found.machine.shell == "zsh"
    assert texts(found, project) == ["Project instructions."]
    assert "git.absent" in {note.code for note in found.diagnostics}


def test_inside_a_repository_its_instructions_and_its_state_are_found(project: Path) -> None:
    git(project, "init", "-q")
    deep = write(project / "sub" / "deep" / "CLAUDE.md", "Deep instructions.").parent
    found = around(deep)
    assert found.is_repository
    assert found.git is not None
    assert found.git.branch == "main"
    assert texts(found, project) == ["Project instructions.", "Deep instructions."]


def test_the_state_of_git_is_left_out_on_request_and_the_repository_is_still_one(project: Path) -> None:
    git(project, "init", "-q")
    write(project / ".claude" / "settings.json", '{"includeGitInstructions": false}')
    found = around(project)
    assert (found.git, found.is_repository) == (None, True)


def test_a_machine_without_git(project: Path) -> None:
    found = around(project, PATH="/nowhere")
    assert (found.git, found.is_repository) == (None, False)
    assert texts(found, project) == ["Project instructions."]
    assert any("git" in note.message for note in found.diagnostics)


def test_directories_are_real_and_in_order_and_a_missing_one_is_said(project: Path, tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    (tmp_path / "link").symlink_to("one")
    wanted = tuple(str(tmp_path / name) for name in ("two", "link", "one", "missing"))
    found = around(project, Flags(add_dirs=wanted))
    assert found.directories == (str(tmp_path / "two"), str(tmp_path / "one"))
    (note,) = [note for note in found.diagnostics if note.code == "policy.directory"]
    assert str(tmp_path / "missing") in note.message


def test_without_a_home(project: Path) -> None:
    assert around(project, HOME="").home == os.path.realpath(Path.home())


def test_the_minimal_prompt_is_asked_for_by_a_variable(project: Path) -> None:
    assert (around(project).minimal, around(project, COMPOSITOR_MINIMAL="1").minimal) == (False, True)
