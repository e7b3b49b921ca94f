"""Write: creation and replacement, the rule of the earlier read, and failures that change nothing."""

import os
import resource
import stat
from pathlib import Path
from typing import Any

import pytest


def test_a_new_file_is_created_with_its_folders(session: Any) -> None:
    path = session.root / "deep/er/a.txt"
    text = session.text("Write", file_path=str(path), content="hé\r\nyo")
    assert text == f"{path} was created (2 lines, 7 bytes)."
    assert path.read_bytes() == "hé\r\nyo".encode()
    assert session.structured["type"] == "create"
    assert session.structured["originalFile"] is None
    assert session.structured["structuredPatch"] == []


def test_a_new_file_gets_the_ordinary_mode(session: Any) -> None:
    mask = os.umask(0o027)
    try:
        session.text("Write", file_path="a", content="x")
    finally:
        os.umask(mask)
    assert stat.S_IMODE((session.root / "a").stat().st_mode) == 0o640


@pytest.mark.req("R295")
def test_an_existing_file_must_have_been_read(session: Any) -> None:
    path = session.put("a", "old\n")
    assert "has not been read yet" in session.refusal("Write", file_path="a", content="new\n")
    assert path.read_text() == "old\n"
    session.use("Read", file_path="a")
    assert "was replaced" in session.text("Write", file_path="a", content="new\n")
    assert path.read_text() == "new\n"
    assert session.structured["type"] == "update"
    assert session.structured["originalFile"] == "old\n"
    assert session.structured["structuredPatch"][0]["lines"] == ["-old", "+new"]


@pytest.mark.req("R291", "R295")
def test_a_part_or_an_old_state_is_not_enough(session: Any) -> None:
    path = session.put("a", "1\n2\n")
    session.use("Read", file_path="a", limit=1)
    assert "only a part" in session.refusal("Write", file_path="a", content="x")
    session.use("Read", file_path="a")
    path.write_text("3\n")
    assert "has changed since" in session.refusal("Write", file_path="a", content="x")
    assert path.read_text() == "3\n"


@pytest.mark.req("R292")
def test_what_was_written_counts_as_read(session: Any) -> None:
    session.text("Write", file_path="a", content="one\n")
    session.text("Edit", file_path="a", old_string="one", new_string="two")
    session.text("Write", file_path="a", content="three\n")
    assert (session.root / "a").read_text() == "three\n"


def test_an_empty_file_can_be_written_and_replaced(session: Any) -> None:
    session.text("Write", file_path="a", content="")
    session.text("Write", file_path="a", content="x")
    assert (session.root / "a").read_text() == "x"


def test_a_link_keeps_pointing_to_its_target(session: Any) -> None:
    target = session.put("real", "old")
    target.chmod(0o600)
    (session.root / "link").symlink_to("real")
    (session.root / "dangling").symlink_to("later")
    session.use("Read", file_path="link")
    session.text("Write", file_path="link", content="new")
    session.text("Write", file_path="dangling", content="made")
    assert (session.root / "link").is_symlink()
    assert target.read_text() == "new"
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert (session.root / "later").read_text() == "made"


def test_what_is_no_file_is_refused(session: Any) -> None:
    os.mkfifo(session.root / "pipe")
    session.put("file", "x")
    for path in (".", "pipe", "/dev/null"):
        assert "not a file. Nothing was written." in session.refusal("Write", file_path=path, content="x")
    assert "Not a directory. Nothing was written." in session.refusal("Write", file_path="file/below", content="x")


@pytest.mark.parametrize("name", ["with\nbreak", "👩\u200d💻.txt", "-rf", "é" * 100])
def test_hostile_names_are_written(session: Any, name: str) -> None:
    session.text("Write", file_path=str(session.root / name), content="x")
    assert [path.name for path in session.root.iterdir()] == [name]


def test_a_full_disk_leaves_nothing_half_written(session: Any) -> None:
    path = session.put("a", "old\n")
    session.use("Read", file_path="a")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000, hard))
    try:
        messages = [session.refusal("Write", file_path=name, content="y" * 100_000) for name in ("a", "b")]
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert all(message.endswith("File too large. Nothing was written.") for message in messages)
    assert path.read_text() == "old\n"
    assert [path.name for path in session.root.iterdir()] == ["a"]


def test_a_folder_that_may_not_be_written_is_a_refusal(session: Any, locked_folder: Path) -> None:
    message = session.refusal("Write", file_path=str(locked_folder / "new.txt"), content="x")
    assert "Permission denied" in message
    assert [path.name for path in locked_folder.iterdir()] == ["a.txt"]
