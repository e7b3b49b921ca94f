"""Whole files: read without blocking, written in one step, never over a state nobody saw."""

from pathlib import Path

import pytest

from compositor.adapters.files import FileBytes, FileProblem, FileStamp, digest_of, is_directory, read_file, write_file


def stamp_of(path: Path) -> FileStamp:
    found = read_file(str(path))
    assert isinstance(found, FileBytes)
    return found.stamp


def test_a_file_is_read_with_what_tells_its_states_apart(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"abc")
    found = read_file(str(path))
    assert isinstance(found, FileBytes)
    assert found.data == b"abc"
    assert found.digest == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert found.stamp == FileStamp(path.stat().st_mtime_ns, 3, path.stat().st_ino)


def test_the_limit_counts_bytes(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"abc")
    assert isinstance(read_file(str(path), limit=3), FileBytes)
    assert read_file(str(path), limit=2) == FileProblem(f"{str(path)!r} is larger than 2 bytes (3)")


def test_a_missing_file_is_told_from_other_problems(tmp_path: Path) -> None:
    missing = read_file(str(tmp_path / "none"))
    folder = read_file(str(tmp_path))
    assert isinstance(missing, FileProblem)
    assert missing.is_missing
    assert isinstance(folder, FileProblem)
    assert not folder.is_missing


def test_a_state_that_is_not_the_expected_one_is_never_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("mine")
    seen = stamp_of(path)
    path.write_text("theirs!")
    for expected in (seen, None):
        result = write_file(str(path), b"new", expected)
        assert isinstance(result, FileProblem)
        assert "changed by someone else" in result.message
    path.unlink()
    assert isinstance(write_file(str(path), b"new", seen), FileProblem)
    assert list(tmp_path.iterdir()) == []


def test_a_write_gives_the_new_state(tmp_path: Path) -> None:
    path = tmp_path / "x/y"
    written = write_file(str(path), b"new", None)
    assert written == stamp_of(path)
    assert digest_of(path.read_bytes()) == digest_of(b"new")


@pytest.mark.parametrize("path", ["/nope", "a\0b", "x" * 300, "/etc/hosts"])
def test_paths_that_are_no_folder_raise_nothing(path: str) -> None:
    assert not is_directory(path)
    assert is_directory("/")
