"""Read: numbering, limits and notices, encodings, hostile paths, and what the file table learns."""

import os
import socket
from pathlib import Path
from typing import Any

import pytest

from compositor.types.tools import OutcomeKind


def test_lines_have_a_number_of_width_six_and_a_tab(session: Any) -> None:
    session.put("a.py", "def a():\n    return 1\n")
    assert session.text("Read", file_path=str(session.root / "a.py")) == "     1\tdef a():\n     2\t    return 1"
    assert session.structured["type"] == "text"
    assert session.structured["file"] == {
        "filePath": str(session.root / "a.py"),
        "content": "def a():\n    return 1",
        "numLines": 2,
        "startLine": 1,
        "totalLines": 2,
    }
    assert session.outcome.display == f"Read({session.root}/a.py): lines 1-2 of 2"


def test_offset_and_limit_choose_lines(session: Any) -> None:
    session.put("a.txt", "".join(f"line {number}\n" for number in range(1, 11)))
    text = session.text("Read", file_path="a.txt", offset=4, limit=2)
    assert text == "     4\tline 4\n     5\tline 5"
    assert session.structured["file"]["startLine"] == 4
    assert session.structured["file"]["numLines"] == 2
    assert session.structured["file"]["totalLines"] == 10


def test_offset_past_the_end_and_an_empty_file_give_notices(session: Any) -> None:
    session.put("empty", "")
    session.put("two", "a\nb")
    assert session.text("Read", file_path="empty") == "[The file exists but is empty.]"
    text = session.text("Read", file_path="two", offset=9)
    assert text == "[The file has only 2 lines; offset 9 is past its end.]"


def test_a_long_file_comes_back_as_its_first_part_with_a_notice(session: Any) -> None:
    session.put("long", "x\n" * 2_500)
    lines = session.text("Read", file_path="long").splitlines()
    assert len(lines) == 2_001
    assert lines[-1] == "[PARTIAL view: lines 1-2000 of 2500. Go on with offset=2001.]"
    rest = session.text("Read", file_path="long", offset=2_001)
    assert rest.splitlines()[0] == "  2001\tx"
    assert "PARTIAL" not in rest


def test_a_file_with_too_many_characters_is_cut_between_lines(session: Any) -> None:
    session.put("wide", ("y" * 1_000 + "\n") * 300)
    text = session.text("Read", file_path="wide")
    assert len(text) < 101_000
    assert text.splitlines()[-1].startswith("[PARTIAL view: lines 1-99 of 300.")


def test_an_explicit_range_that_overflows_is_an_error(session: Any) -> None:
    session.put("wide", ("y" * 1_000 + "\n") * 300)
    assert "the limit is reached at line 150" in session.refusal("Read", file_path="wide", offset=51, limit=200)


def test_a_huge_line_is_cut_where_it_says_so(session: Any) -> None:
    session.put("huge", "é" * 5_000_000)
    text = session.text("Read", file_path="huge")
    assert text.startswith("     1\té")
    assert text.endswith("é [line cut: 4,998,000 more characters]")
    assert len(text) < 2_100


@pytest.mark.parametrize(
    ("data", "shown"),
    [
        (b"a\r\nb\r\n", "     1\ta\n     2\tb"),
        (b"\xef\xbb\xbfa\n", "     1\ta"),
        ("é\n".encode("utf-16"), "     1\té"),
        ("café\n".encode("latin-1"), "     1\tcafé"),
        (b"\x93hi\x94\n", "     1\t“hi”"),
        ("né".encode() + b"\xff\n", "     1\tné�"),
        ("a\x0cb\u2028c\n".encode(), "     1\ta\x0cb\u2028c"),
    ],
)
def test_encodings_marks_and_line_ends(session: Any, data: bytes, shown: str) -> None:
    session.put("a.txt", data)
    assert session.text("Read", file_path="a.txt") == shown


def test_folders_binaries_and_missing_files_are_refused_with_help(session: Any) -> None:
    session.put("sub/config.yaml", "a: 1\n")
    session.put("data.bin", b"\x7fELF\0\0\0\1")
    assert "is a directory. List it with Glob" in session.refusal("Read", file_path="sub")
    assert "is a binary file of 8 bytes" in session.refusal("Read", file_path="data.bin")
    assert "Did you mean sub/config.yaml?" in session.refusal("Read", file_path="sub/config.yml")
    assert session.refusal("Read", file_path="nowhere/at/all").endswith("No such file or directory.")


@pytest.mark.parametrize("path", ["/dev/zero", "/dev/null", "pipe", "socket"])
def test_what_is_no_file_is_refused_without_waiting(session: Any, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(session.root / "pipe")
    monkeypatch.chdir(session.root)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket")
        assert session.refusal("Read", file_path=path).endswith(", not a file.")


def test_a_file_that_lies_about_its_size_is_read(session: Any) -> None:
    assert "Name:" in session.text("Read", file_path="/proc/self/status")


def test_links_that_go_in_a_circle_are_refused(session: Any) -> None:
    (session.root / "a").symlink_to("b")
    (session.root / "b").symlink_to("a")
    assert "Too many levels of symbolic links" in session.refusal("Read", file_path="a")


@pytest.mark.parametrize("name", ["with\nbreak.txt", "👩\u200d💻.txt", "-dash", " blank ", "quote'\".txt", "$HOME"])
def test_hostile_names_are_read(session: Any, name: str) -> None:
    session.put(name, "content\n")
    assert session.text("Read", file_path=str(session.root / name)) == "     1\tcontent"


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"file_path": "a\0b"}, "NUL"),
        ({"file_path": ""}, "empty"),
        ({"file_path": "x" * 300}, "File name too long"),
        ({"file_path": "x" * 5_000}, "longer than 4,096 bytes"),
        ({"file_path": "a", "offset": 0}, "count from 1"),
        ({"file_path": "a", "limit": -1}, "count from 1"),
        ({"file_path": "a", "offset": "many"}, "not valid"),
        ({"file_path": 7}, "not valid"),
        ({"file_path": "a", "extra": 1}, "not valid"),
        ({}, "not valid"),
        ({"file_path": "a", "pages": "1"}, "pages is for PDF files"),
    ],
)
def test_bad_inputs_are_refused(session: Any, fields: dict[str, Any], words: str) -> None:
    session.put("a", "x\n")
    assert words in session.refusal("Read", **fields)


def test_a_file_above_the_limit_is_refused(session: Any) -> None:
    with (session.root / "sparse").open("wb") as file:
        file.truncate(65 * 1024 * 1024)
    assert "is larger than" in session.refusal("Read", file_path="sparse")


def test_home_and_relative_paths_are_understood(session: Any) -> None:
    home = Path(session.scope.env["HOME"])
    assert session.paths("Read", file_path="~/notes.md") == (str(home / "notes.md"),)
    assert session.paths("Read", file_path="sub/../a") == (str(session.root / "a"),)


@pytest.mark.req("R298")
def test_the_gate_is_told_the_link_and_its_target(session: Any) -> None:
    target = session.put("real/a.txt", "x\n")
    (session.root / "link").symlink_to("real")
    assert session.paths("Read", file_path="link/a.txt") == (str(session.root / "link/a.txt"), str(target))
    # A parent step after a link is taken from the target, as the kernel does.
    session.put("secret", "s\n")
    (session.root / "deep").symlink_to("real/deeper")
    (session.root / "real/deeper").mkdir()
    assert session.paths("Read", file_path="deep/../a.txt")[-1] == str(target)
    assert session.text("Read", file_path="deep/../a.txt") == "     1\tx"


@pytest.mark.parametrize("name", ["Read", "Grep", "Glob"])
def test_no_spelling_hides_a_path_from_the_gate(session: Any, name: str) -> None:
    fields = {"Read": "file_path", "Grep": "path", "Glob": "path"}
    for spelling in ("//dev/shm", "///dev/shm", "/dev/./shm", "/dev//shm/", "/dev/../dev/shm"):
        more = {} if name == "Read" else {"pattern": "x"}
        assert session.paths(name, **{fields[name]: spelling}, **more) == ("/dev/shm",)


def test_paths_of_a_broken_input_are_none(session: Any) -> None:
    for name in ("Read", "Edit", "Write", "Glob", "Grep"):
        assert session.paths(name, nonsense=1) == ()


@pytest.mark.req("R291")
def test_what_was_seen_is_recorded(session: Any) -> None:
    path = str(session.put("long", "x\n" * 2_500))
    session.use("Read", file_path=path)
    assert session.box.files.view(path).seen == ((1, 2_000),)
    assert not session.box.files.view(path).is_whole
    session.use("Read", file_path=path, offset=2_001)
    assert session.box.files.view(path).is_whole


def test_lone_surrogates_in_an_input_are_repaired(session: Any) -> None:
    import anyio

    from compositor.types.json import Raw
    from compositor.types.tools import ToolCall

    call = ToolCall(id="t", name="Read", input=Raw(b'{"file_path":"a\\ud800"}'))
    outcome = anyio.run(session.box["Read"].run, call, session.scope)
    assert outcome.kind is OutcomeKind.FAILED
    assert "a\ufffd" in str(outcome.content)
