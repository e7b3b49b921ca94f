"""Grep: every field, order and limits, the same with ripgrep and without it."""

import os
from typing import Any

import pytest

from compositor.adapters.tools import search
from compositor.adapters.tools.toolbox import ToolBox

NOTE = "[ripgrep is not installed: a slower search with Python's regular expressions was used.]"


def found(session: Any, **fields: Any) -> list[str]:
    """What the model reads, without the note that tells of the fallback."""
    lines = session.text("Grep", **fields).split("\n")
    return [line for line in lines if line != NOTE]


@pytest.fixture
def tree(searching: Any) -> Any:
    searching.put("a.py", "def one():\n    return 1\n")
    searching.put("src/b.py", "x = 1\nreturn_x = 2\n\n\n\nRETURN\n")
    searching.put("src/c.ts", "return 3\n")
    searching.put(".hidden/d.md", "no return\n")
    (searching.root / ".git").mkdir()
    searching.put(".git/e.py", "return\n")
    searching.put(".gitignore", "build/\n*.log\n")
    searching.put("build/f.py", "return 6\n")
    searching.put("g.log", "return 7\n")
    return searching


def test_files_with_matches_are_the_default_sorted_by_path(tree: Any) -> None:
    assert found(tree, pattern="return") == [".hidden/d.md", "a.py", "src/b.py", "src/c.ts"]
    assert tree.structured == {
        "mode": "files_with_matches",
        "numFiles": 4,
        "filenames": [".hidden/d.md", "a.py", "src/b.py", "src/c.ts"],
    }
    assert tree.outcome.display == "Grep(return): 4 files"


def test_content_has_paths_and_line_numbers(tree: Any) -> None:
    assert found(tree, pattern="return", glob="*.py", output_mode="content") == [
        "a.py:2:    return 1",
        "src/b.py:2:return_x = 2",
    ]
    assert tree.structured["mode"] == "content"
    assert tree.structured["content"] == "a.py:2:    return 1\nsrc/b.py:2:return_x = 2"
    assert tree.structured["numLines"] == 2
    assert tree.structured["numMatches"] == 2


def test_count_counts_matching_lines(tree: Any) -> None:
    assert found(tree, pattern="return", output_mode="count", type="py") == ["a.py:1", "src/b.py:1"]
    assert tree.structured["numMatches"] == 2


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({"-i": True}, ["2:return_x = 2", "6:RETURN"]),
        ({"-n": False}, ["return_x = 2"]),
        ({"-o": True}, ["2:return"]),
        ({"-A": 1}, ["2:return_x = 2", "3-"]),
        ({"-B": 1}, ["1-x = 1", "2:return_x = 2"]),
        ({"-C": 1}, ["1-x = 1", "2:return_x = 2", "3-"]),
        ({"context": 1}, ["1-x = 1", "2:return_x = 2", "3-"]),
        ({"-C": 1, "-A": 0}, ["1-x = 1", "2:return_x = 2"]),
        ({"-i": True, "-A": 1}, ["2:return_x = 2", "3-", "--", "6:RETURN"]),
    ],
)
def test_options_of_the_content_mode(tree: Any, more: dict[str, Any], expected: list[str]) -> None:
    assert found(tree, pattern="return", path="src/b.py", output_mode="content", **more) == expected


def test_a_pattern_spans_lines_only_when_it_may(tree: Any) -> None:
    assert found(tree, pattern=r"one.*return", output_mode="content") == ["No matches found."]
    spanning = found(tree, pattern=r"one.*return", output_mode="content", multiline=True)
    assert spanning == ["a.py:1:def one():", "a.py:2:    return 1"]


def test_ignored_files_are_searched_when_they_are_named(tree: Any) -> None:
    assert found(tree, pattern="return", path="g.log", output_mode="content") == ["1:return 7"]
    assert found(tree, pattern="return", path="build") == ["build/f.py"]
    assert found(tree, pattern="return 6") == ["No matches found."]


@pytest.mark.parametrize(
    ("glob", "expected"),
    [
        ("*.ts", ["src/c.ts"]),
        ("src/*.{py,ts}", ["src/b.py", "src/c.ts"]),
        ("**/*.md", [".hidden/d.md"]),
        ("!*.py", [".hidden/d.md", "src/c.ts"]),
        ("!src", [".hidden/d.md", "a.py"]),
        (".git/**", ["No matches found."]),
    ],
)
def test_glob_narrows_the_search(tree: Any, glob: str, expected: list[str]) -> None:
    assert found(tree, pattern="return", glob=glob) == expected


def test_head_limit_and_offset_walk_through_the_result(tree: Any) -> None:
    first = found(tree, pattern="return", head_limit=3)
    assert first == [".hidden/d.md", "a.py", "src/b.py", "[Cut after 3. Go on with offset=3, or narrow the search.]"]
    assert tree.structured["appliedLimit"] == 3
    assert found(tree, pattern="return", head_limit=3, offset=3) == ["src/c.ts"]
    assert tree.structured["appliedOffset"] == 3
    assert "appliedLimit" not in tree.structured


def test_the_default_limit_is_250_and_zero_lifts_it(searching: Any) -> None:
    searching.put("many", "x\n" * 600)
    assert len(found(searching, pattern="x", output_mode="content")) == 251
    assert len(found(searching, pattern="x", output_mode="content", head_limit=0)) == 600


def test_a_huge_result_and_a_huge_line_are_cut(searching: Any) -> None:
    searching.put("a", "x" * 10_000_000 + "\n")
    searching.put("b", ("y" * 400 + "\n") * 1_000)
    line = found(searching, pattern="x+", output_mode="content", path="a")
    assert line == ["1:" + "x" * 500 + " [line cut: 9,999,500 more characters]"]
    lines = found(searching, pattern="y", output_mode="content", path="b", head_limit=0)
    assert sum(map(len, lines)) < 31_000
    assert lines[-1].startswith("[Cut after 74.")


def test_hostile_entries_neither_block_nor_break_the_lines(searching: Any) -> None:
    for name in ("-e.py", "new\nline.py", "a:1:b.py"):
        searching.put(name, "hit\n")
    (searching.root / os.fsdecode(b"\xff.py")).write_bytes(b"hit \xff\r\n")
    searching.put("escape", "hit \x1b[31mred\x1b[0m\n")
    os.mkfifo(searching.root / "pipe")
    (searching.root / "loop").symlink_to(".")
    assert found(searching, pattern="hit", output_mode="content") == [
        "-e.py:1:hit",
        "a:1:b.py:1:hit",
        "escape:1:hit red",
        '"new\\nline.py":1:hit',
        "\ufffd.py:1:hit \ufffd",
    ]
    assert "is neither a file nor a directory" in searching.refusal("Grep", pattern="x", path="pipe")
    assert found(searching, pattern="hit", path="-e.py") == ["-e.py"]


@pytest.mark.parametrize("pattern", ["-e", "--files", "hit$", "^hit", r"\bhit\b", "h[i]t"])
def test_patterns_that_look_like_options_are_patterns(searching: Any, pattern: str) -> None:
    searching.put("a", "-e\nhit\n--files\n")
    assert found(searching, pattern=pattern) == ["a"]


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"pattern": "("}, "The search failed"),
        ({"pattern": "a\0"}, "NUL"),
        ({"pattern": "x" * 30_000}, "longer than"),
        ({"pattern": "x", "path": "nowhere"}, "does not exist"),
        ({"pattern": "x", "type": "nonsense"}, "The search failed"),
        ({"pattern": "x", "head_limit": -1}, "negative"),
        ({"pattern": "x", "offset": -1}, "negative"),
        ({"pattern": "x", "-A": -1}, "negative"),
        ({"pattern": "x", "output_mode": "all"}, "not valid"),
        ({"pattern": "x", "-n": "yes"}, "not valid"),
        ({}, "not valid"),
    ],
)
def test_bad_inputs_are_refused(searching: Any, fields: dict[str, Any], words: str) -> None:
    assert words in searching.refusal("Grep", **fields)


def test_a_search_that_takes_too_long_is_ended(session: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "SEARCH_SECONDS", 0.5)
    session.box = ToolBox(find_program=lambda _scope: None)
    session.put("a", "a" * 40 + "\n")
    text = session.text("Grep", pattern="(a+)+$b")
    assert "[The search was ended after 0.5 s; this is what it had found.]" in text


def test_a_user_configuration_changes_nothing(session: Any, tmp_path: Any) -> None:
    configuration = tmp_path / "ripgreprc"
    configuration.write_text("--max-count=1\n--invert-match\n")
    session.scope.env["RIPGREP_CONFIG_PATH"] = str(configuration)
    session.put("a", "hit\nhit\nmiss\n")
    assert found(session, pattern="hit", output_mode="count") == ["a:2"]


def test_files_that_the_model_may_not_see_are_not_shown(searching: Any) -> None:
    searching.put(".env", "KEY=abc\n")
    searching.put("b", "KEY=def\n")
    find = searching.box["Grep"]._find_program
    searching.box = ToolBox(is_visible=lambda path: not path.endswith(".env"), find_program=find)
    assert found(searching, pattern="KEY", output_mode="content") == ["b:1:KEY=def"]
    assert found(searching, pattern="KEY", output_mode="content", path=".env") == ["No matches found."]


def test_the_gate_is_told_what_is_searched(session: Any) -> None:
    assert session.paths("Grep", pattern="x") == (str(session.root),)
    assert session.paths("Grep", pattern="x", path="/etc")[0] == "/etc"
