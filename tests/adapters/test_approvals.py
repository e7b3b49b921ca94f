"""Answers about imports: remembered in private, the newest counts, a broken file counts for nothing."""

import stat
from pathlib import Path

import pytest

from compositor.adapters.approvals import read_approvals, remember_import
from compositor.adapters.home import project_key


@pytest.mark.req("R138")
def test_the_newest_answer_to_a_path_counts(tmp_path: Path) -> None:
    home, project = tmp_path / "home", str(tmp_path / "repo")
    target = tmp_path / "team.md"
    target.write_text("x")
    remember_import(home, project, str(target), allowed=True)
    assert read_approvals(home, project).approvals.allowed == (str(target),)
    remember_import(home, project, str(target), allowed=False)
    found = read_approvals(home, project).approvals
    assert (found.allowed, found.refused) == ((), (str(target),))


@pytest.mark.req("R138")
def test_an_answer_is_for_one_project_and_for_the_real_path(tmp_path: Path) -> None:
    home = tmp_path / "home"
    (tmp_path / "real.md").write_text("x")
    (tmp_path / "link.md").symlink_to("real.md")
    remember_import(home, "/repo", str(tmp_path / "link.md"), allowed=True)
    assert read_approvals(home, "/repo").approvals.allowed == (str(tmp_path / "real.md"),)
    assert read_approvals(home, "/other").approvals.allowed == ()


def test_the_file_is_private(tmp_path: Path) -> None:
    remember_import(tmp_path / "home", "/repo", "/x.md", allowed=True)
    file = tmp_path / "home" / "approvals" / f"{project_key('/repo')}.json"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


@pytest.mark.parametrize("content", [b"", b"{", b'{"project": 3}', b'{"project":"/repo","allowed":["/",7]}', b"\xff"])
def test_a_broken_file_allows_nothing_and_is_told(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "approvals" / f"{project_key('/repo')}.json"
    file.parent.mkdir()
    file.write_bytes(content)
    found = read_approvals(tmp_path, "/repo")
    assert (found.approvals.allowed, found.approvals.refused) == ((), ())
    assert [note.code for note in found.diagnostics] == ["memory.approvals"]
