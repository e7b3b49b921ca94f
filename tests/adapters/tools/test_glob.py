"""Glob: patterns, order and limits, the same with ripgrep and without it."""

import os
from typing import Any

import pytest

from compositor.adapters.tools.toolbox import ToolBox

NOTE = "[ripgrep is not installed: a slower search with Python's regular expressions was used.]"


def found(session: Any, **fields: Any) -> list[str]:
    """The paths, without the note that tells of the fallback."""
    lines = session.text("Glob", **fields).split("\n")
    return [line for line in lines if line != NOTE]


def aged(session: Any, name: str, seconds: int) -> None:
    path = session.put(name, "x")
    os.utime(path, (seconds, seconds))


@pytest.fixture
def tree(searching: Any) -> Any:
    for seconds, name in enumerate(
        ("a.py", "src/b.py", "src/deep/c.py", "src/d.ts", ".hidden/e.py", "node_modules/f.py", ".git/g.py"), 1_000
    ):
        aged(searching, name, seconds)
    searching.put(".gitignore", "node_modules/\n")
    return searching


def test_the_newest_file_comes_first(tree: Any) -> None:
    assert found(tree, pattern="**/*.py") == [
        "node_modules/f.py",
        ".hidden/e.py",
        "src/deep/c.py",
        "src/b.py",
        "a.py",
    ]
    assert tree.structured["numFiles"] == 5
    assert tree.structured["truncated"] is False
    assert tree.structured["durationMs"] >= 0
    assert tree.outcome.display == "Glob(**/*.py): 5 files"


def test_files_of_one_time_are_sorted_by_path(searching: Any) -> None:
    for name in ("c", "a", "b"):
        aged(searching, name, 5)
    assert found(searching, pattern="*") == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("*.ts", {"src/d.ts"}),
        ("src/*.py", {"src/b.py"}),
        ("src/**/*.py", {"src/b.py", "src/deep/c.py"}),
        ("src/*.{py,ts}", {"src/b.py", "src/d.ts"}),
        ("{src,.hidden}/*.py", {"src/b.py", ".hidden/e.py"}),
        ("./src/[bc].py", {"src/b.py"}),
        ("src/d.ts", {"src/d.ts"}),
        ("?.py", {"a.py", "src/b.py", "src/deep/c.py", ".hidden/e.py", "node_modules/f.py"}),
        ("/a.py", set()),
        ("!a.py", set()),
        ("#a.py", set()),
    ],
)
def test_patterns(tree: Any, pattern: str, expected: set[str]) -> None:
    assert set(found(tree, pattern=pattern)) - {"No files found."} == expected


def test_path_and_absolute_patterns_choose_the_folder(tree: Any) -> None:
    assert found(tree, pattern="*.py", path="src") == ["src/deep/c.py", "src/b.py"]
    assert found(tree, pattern=f"{tree.root}/src/*.py") == ["src/b.py"]
    assert found(tree, pattern="../src/*.py", path=".hidden") == ["src/b.py"]


def test_the_gate_is_told_the_folder_that_is_searched(session: Any) -> None:
    root = str(session.root)
    assert session.paths("Glob", pattern="*") == (root,)
    assert session.paths("Glob", pattern="src/**/*.py") == (f"{root}/src",)
    assert session.paths("Glob", pattern="/etc/*.conf")[0] == "/etc"
    assert session.paths("Glob", pattern="../../*") == (str(session.root.parent.parent),)
    assert session.paths("Glob", pattern="x/*", path="/etc")[0] == "/etc/x"


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"pattern": "*/../../etc/passwd"}, "'..' after a wildcard"),
        ({"pattern": "{a,../b}/*"}, "'..' after a wildcard"),
        ({"pattern": ""}, "between 1 and"),
        ({"pattern": "a\0"}, "no NUL"),
        ({"pattern": "*" * 30_000}, "between 1 and"),
        ({"pattern": "*", "path": "nowhere"}, "is not a directory"),
        ({"pattern": "*", "path": "file"}, "is not a directory"),
        ({"pattern": 3}, "not valid"),
    ],
)
def test_bad_inputs_are_refused(session: Any, fields: dict[str, Any], words: str) -> None:
    session.put("file", "x")
    assert words in session.refusal("Glob", **fields)


def test_a_pattern_that_ripgrep_refuses_is_a_failure(session: Any) -> None:
    assert "The search failed" in session.refusal("Glob", pattern="[")


def test_more_than_a_hundred_files_are_cut_where_it_says_so(searching: Any) -> None:
    for number in range(130):
        aged(searching, f"{number:03}", number)
    lines = found(searching, pattern="*")
    assert lines[0] == "129"
    assert lines[99] == "030"
    assert lines[100:] == ["[Cut: the 100 most recently changed of 130 files. Use a narrower pattern.]"]
    assert searching.structured["truncated"] is True
    assert searching.structured["numFiles"] == 100


def test_hostile_entries_neither_block_nor_break_the_list(searching: Any) -> None:
    for name in ("-dash.py", "new\nline.py", "👩\u200d💻.py", "a b.py"):
        searching.put(name, "x")
    (searching.root / os.fsdecode(b"\xff.py")).write_text("x")
    os.mkfifo(searching.root / "pipe.py")
    (searching.root / "loop").symlink_to(".")
    (searching.root / "self.py").symlink_to("self.py")
    expected = {"-dash.py", '"new\\nline.py"', "👩\u200d💻.py", "a b.py", "\ufffd.py"}
    assert set(found(searching, pattern="**/*.py")) == expected


@pytest.mark.parametrize("program", [True, False])
def test_files_that_the_model_may_not_see_are_not_named(session: Any, program: bool) -> None:
    session.put(".env", "KEY=1")
    session.put("a", "x")
    (session.root / "link").symlink_to(".")
    options = {} if program else {"find_program": lambda _scope: None}
    session.box = ToolBox(is_visible=lambda path: path != str(session.root / ".env"), **options)
    assert found(session, pattern="*") == ["a"]
    assert found(session, pattern="*", path="link") == ["link/a"]
