"""The product's own folder: where it lies, and that nobody else reads it."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from compositor.adapters.home import (
    find_home,
    open_private,
    private_folder,
    project_key,
    session_file,
    session_files,
    write_private,
)
from compositor.errors import UsageError


@pytest.fixture(autouse=True)
def open_umask() -> Iterator[None]:
    """Modes must hold under the most generous umask."""
    before = os.umask(0)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_the_variable_wins_over_the_home_directory() -> None:
    assert find_home({"COMPOSITOR_HOME": "/x/y", "HOME": "/h"}) == Path("/x/y")
    assert find_home({"COMPOSITOR_HOME": " ", "HOME": "/h"}) == Path("/h/.compositor")


def test_folders_and_files_are_private_whatever_the_umask(tmp_path: Path) -> None:
    folder = private_folder(tmp_path / "home", "sessions", "p")
    write_private(folder / "a.json", b"{}")
    os.close(open_private(folder / "b.jsonl", os.O_WRONLY))
    assert [mode(path) for path in (folder, folder.parent, folder.parent.parent)] == [0o700] * 3
    assert [mode(folder / name) for name in ("a.json", "b.jsonl")] == [0o600] * 2


def test_what_stood_open_is_closed_but_the_home_itself_is_left_as_the_person_made_it(tmp_path: Path) -> None:
    home = tmp_path / "shared"
    (home / "sessions").mkdir(parents=True, mode=0o755)
    (home / "sessions" / "s.jsonl").touch(mode=0o644)
    folder = private_folder(home, "sessions")
    os.close(open_private(folder / "s.jsonl", os.O_RDWR))
    assert (mode(home), mode(folder), mode(folder / "s.jsonl")) == (0o777, 0o700, 0o600)


def test_a_replaced_file_is_never_half_written(tmp_path: Path) -> None:
    write_private(tmp_path / "a", b"old", durable=True)
    write_private(tmp_path / "a", b"new", durable=True)
    assert (tmp_path / "a").read_bytes() == b"new"
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_a_failed_write_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    with pytest.raises(IsADirectoryError):
        write_private(tmp_path / "a", b"new")
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_project_keys_are_readable_and_differ_where_the_paths_differ(tmp_path: Path) -> None:
    assert project_key("/a/b-c").startswith("a-b-c-")
    assert project_key("/a/b-c") != project_key("/a/b/c")
    assert project_key("/") == project_key("/.")
    (tmp_path / "link").symlink_to(tmp_path)
    assert project_key(str(tmp_path / "link")) == project_key(str(tmp_path))
    assert len(project_key("/" + "é" * 3000)) < 120


@pytest.mark.parametrize("session_id", ["../x", "", ".", "a/b", "-x", "a" * 129, "a\0b", "a\n"])
def test_an_id_that_would_leave_the_folder_is_refused(tmp_path: Path, session_id: str) -> None:
    with pytest.raises(UsageError, match="is not a session id"):
        session_file(tmp_path, session_id)


def test_a_home_without_sessions_has_none(tmp_path: Path) -> None:
    assert list(session_files(tmp_path)) == []
    assert list(session_files(tmp_path, "p")) == []
