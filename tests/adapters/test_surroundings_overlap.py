"""The parts of a session's surroundings are read side by side (R097)."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from compositor.adapters import surroundings
from compositor.adapters.git import GitFacts
from compositor.config.flags import Flags
from compositor.opened import Opening, open_session


@pytest.mark.req("R097")
def test_instruction_files_are_read_while_version_control_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "CLAUDE.md").write_text("Be brief.\n")
    read, load = threading.Event(), surroundings.load_memory

    def slow_git(_cwd: str, _environ: Any, *, placed: Any) -> GitFacts:
        placed(GitFacts(root=str(tmp_path)))
        # The state is not there before the instruction files are: nobody waits for anybody.
        assert read.wait(10)
        return GitFacts(root=str(tmp_path))

    def noted_load(place: Any) -> Any:
        read.set()
        return load(place)

    monkeypatch.setattr(surroundings, "read_git", slow_git)
    monkeypatch.setattr(surroundings, "load_memory", noted_load)
    environ = {"HOME": str(tmp_path / "home"), "COMPOSITOR_HOME": str(tmp_path / "state"), "PATH": "/usr/bin:/bin"}
    opened = open_session(Opening(flags=Flags(), project=str(tmp_path), environ=environ))
    assert opened.around.is_repository
    assert [loaded.file.text for loaded in opened.around.memory.files] == ["Be brief."]
