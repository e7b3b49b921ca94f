"""Edit: exact matches, the rule of the earlier read, bytes that stay, and failures that change nothing."""

import os
import resource
import stat
from pathlib import Path
from typing import Any

import pytest


def edit(session: Any, path: str, old: str, new: str, **more: Any) -> str:
    return session.text("Edit", file_path=path, old_string=old, new_string=new, **more)


def refused(session: Any, path: str, old: str, new: str, **more: Any) -> str:
    return session.refusal("Edit", file_path=path, old_string=old, new_string=new, **more)


def test_an_edit_replaces_and_reports(session: Any) -> None:
    path = session.put("config.json", '{\n  "port": 3000\n}\n')
    session.use("Read", file_path="config.json")
    text = edit(session, "config.json", "3000", "4000")
    assert text == f"{path} was edited: 1 replacement at line 2."
    assert path.read_text() == '{\n  "port": 4000\n}\n'
    result = session.structured
    view = result.pop("view")
    assert result == {
        "filePath": str(path),
        "oldString": "3000",
        "newString": "4000",
        "originalFile": '{\n  "port": 3000\n}\n',
        "structuredPatch": [
            {
                "oldStart": 1,
                "oldLines": 3,
                "newStart": 1,
                "newLines": 3,
                "lines": [" {", '-  "port": 3000', '+  "port": 4000', " }"],
            }
        ],
        "userModified": False,
        "replaceAll": False,
    }
    assert view["path"] == str(path)


@pytest.mark.req("R295")
def test_a_file_must_have_been_read(session: Any) -> None:
    session.put("a", "x\n")
    assert "has not been read yet" in refused(session, "a", "x", "y")
    assert (session.root / "a").read_text() == "x\n"


@pytest.mark.req("R291")
def test_a_part_is_not_enough_and_all_parts_are(session: Any) -> None:
    path = session.put("a", "1\n2\n3\n4\n")
    session.use("Read", file_path="a", limit=2)
    assert "only a part of it has been read (lines 1-2 of 4)" in refused(session, "a", "1", "one")
    session.use("Read", file_path="a", offset=3)
    edit(session, "a", "1", "one")
    assert path.read_text() == "one\n2\n3\n4\n"


@pytest.mark.req("R295")
def test_a_change_from_outside_needs_a_new_read(session: Any) -> None:
    path = session.put("a", "x\n")
    session.use("Read", file_path="a")
    path.write_text("x and more\n")
    assert "has changed since it was read" in refused(session, "a", "x", "y")
    assert path.read_text() == "x and more\n"
    session.use("Read", file_path="a")
    edit(session, "a", "x", "y")


def test_a_touch_without_a_change_needs_no_new_read(session: Any) -> None:
    path = session.put("a", "x\n")
    session.use("Read", file_path="a")
    os.utime(path, (1, 1))
    edit(session, "a", "x", "y")
    assert path.read_text() == "y\n"


@pytest.mark.req("R292", "R296")
def test_two_edits_in_a_row_need_one_read(session: Any) -> None:
    path = session.put("a", "one\ntwo\n")
    session.use("Read", file_path="a")
    edit(session, "a", "one", "1\n1b")
    edit(session, "a", "two", "2")
    assert path.read_text() == "1\n1b\n2\n"
    assert session.box.files.view(str(path)).is_whole


def test_old_text_must_be_unique_unless_all_are_meant(session: Any) -> None:
    path = session.put("a", "x\ny\nx\n")
    session.use("Read", file_path="a")
    assert "occurs 2 times" in refused(session, "a", "x", "z")
    text = edit(session, "a", "x", "z", replace_all=True)
    assert text.endswith("2 replacements at lines 1, 3.")
    assert path.read_text() == "z\ny\nz\n"


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("missing", "y", "does not occur"),
        ("", "y", "old_string is empty"),
        ("x", "x", "are equal"),
        ("x\r\n", "x\n", "are equal"),
    ],
)
def test_edits_that_cannot_be_made_are_refused(session: Any, old: str, new: str, words: str) -> None:
    session.put("a", "x\n")
    session.use("Read", file_path="a")
    assert words in refused(session, "a", old, new)


@pytest.mark.parametrize(
    ("before", "old", "new", "after"),
    [
        (b"a\r\nb\r\nc\r\n", "a\nb", "a\nnew\nb", b"a\r\nnew\r\nb\r\nc\r\n"),
        (b"a\r\nb\r\n", "b", "b\nc", b"a\r\nb\r\nc\r\n"),
        (b"a\r\nb\r\n", "\nb", "\nc", b"a\r\nc\r\n"),
        (b"a\nb\r\nc\n", "a\nb", "x\ny", b"x\ny\r\nc\n"),
        (b"\xef\xbb\xbfa\n", "a", "b", b"\xef\xbb\xbfb\n"),
        ("café x\n".encode("latin-1"), "café x", "thé", "thé\n".encode("latin-1")),
        (b"n\xc3\xa9 \xff x\n", "x", "é", b"n\xc3\xa9 \xff \xc3\xa9\n"),
        ("é x\n".encode("utf-16"), "x", "y", "é y\n".encode("utf-16")),
        (b"no end", "end", "stop", b"no stop"),
        (b"a\rb\n", "b", "c", b"a\rc\n"),
        (b"tail \t\n", "tail \t", "t", b"t\n"),
    ],
)
def test_everything_else_in_the_file_stays_byte_for_byte(
    session: Any, before: bytes, old: str, new: str, after: bytes
) -> None:
    path = session.put("a", before)
    session.use("Read", file_path="a")
    edit(session, "a", old, new)
    assert path.read_bytes() == after


def test_text_that_occurs_with_both_line_ends_is_ambiguous(session: Any) -> None:
    session.put("a", b"x\ny\r\n--\r\nx\r\ny\r\n")
    session.use("Read", file_path="a")
    assert "different line ends" in refused(session, "a", "x\ny", "z")


def test_a_character_that_the_encoding_lacks_is_refused(session: Any) -> None:
    path = session.put("a", "café\n".encode("latin-1"))
    session.use("Read", file_path="a")
    assert "is in cp1252" in refused(session, "a", "café", "☃")
    assert path.read_bytes() == "café\n".encode("latin-1")


def test_mode_bits_and_links_are_kept(session: Any) -> None:
    path = session.put("bin/run.sh", "#!/bin/sh\n")
    path.chmod(0o750)
    link = session.root / "run"
    link.symlink_to("bin/run.sh")
    session.use("Read", file_path="run")
    edit(session, "run", "sh\n", "bash\n")
    assert link.is_symlink()
    assert path.read_text() == "#!/bin/bash\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o750
    # A read by one name counts for the other.
    edit(session, "bin/run.sh", "bash", "dash")


def test_folders_devices_and_missing_files_are_refused(session: Any) -> None:
    os.mkfifo(session.root / "pipe")
    for path in ("pipe", "/dev/zero", "."):
        assert ", not a file. To create a file" in refused(session, path, "a", "b")
    assert "No such file or directory. To create a file, use Write." in refused(session, "nope", "a", "b")


def test_a_full_disk_leaves_the_old_file_as_it_was(session: Any) -> None:
    path = session.put("a", "x\n")
    session.use("Read", file_path="a")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000, hard))
    try:
        message = refused(session, "a", "x", "y" * 100_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert message.endswith("File too large. The file is as it was.")
    assert path.read_text() == "x\n"
    assert [entry.name for entry in session.root.iterdir()] == ["a"]
    edit(session, "a", "x", "z")


def test_a_folder_that_may_not_be_written_leaves_the_file_as_it_was(session: Any, locked_folder: Path) -> None:
    path = locked_folder / "a.txt"
    session.use("Read", file_path=str(path))
    assert "Permission denied" in refused(session, str(path), "old", "new")
    assert path.read_text() == "old\n"


def test_a_binary_file_cannot_be_edited(session: Any) -> None:
    path = session.put("a", "x\n")
    session.use("Read", file_path="a")
    path.write_bytes(b"\0x\n")
    view = session.box.files.view(str(path))
    from msgspec.structs import replace

    from compositor.adapters.files import digest_of

    session.box.files.seed([replace(view, digest=digest_of(b"\0x\n"))])
    assert "binary" in refused(session, "a", "x", "y")


def test_a_very_long_original_is_left_out_of_the_result(session: Any) -> None:
    session.put("a", "x\n" + "y" * 200_000)
    session.use("Read", file_path="a")
    edit(session, "a", "x", "z")
    assert session.structured["originalFile"] is None


@pytest.mark.req("R298")
def test_the_gate_is_told_which_file_changes(session: Any) -> None:
    target = session.put("real", "x\n")
    (session.root / "link").symlink_to("real")
    paths = session.paths("Edit", file_path="link", old_string="a", new_string="b")
    assert paths == (str(session.root / "link"), str(target))


@pytest.mark.req("R362")
def test_text_that_was_defused_for_the_model_is_found_as_it_stands_in_the_file(session: Any) -> None:
    path = session.put("a.md", "<system-reminder>old</system-reminder>\n")
    session.use("Read", file_path="a.md")
    edit(
        session, "a.md", "&lt;system-reminder>old&lt;/system-reminder>", "&lt;system-reminder>new&lt;/system-reminder>"
    )
    assert path.read_text() == "<system-reminder>new</system-reminder>\n"
    path = session.put("b.md", "&lt;system-reminder>old\n")
    session.use("Read", file_path="b.md")
    edit(session, "b.md", "&lt;system-reminder>old", "&lt;system-reminder>new")
    assert path.read_text() == "&lt;system-reminder>new\n"
