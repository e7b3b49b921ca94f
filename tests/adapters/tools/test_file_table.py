"""The table of what the model has seen, over a session and a resume."""

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compositor.adapters.tools.toolbox import ToolBox
from compositor.context.freshness.file_table import FileTable, FileView, merge_ranges
from compositor.types.json import raw_json

RANGE = st.tuples(st.integers(1, 50), st.integers(0, 10)).map(lambda pair: (pair[0], pair[0] + pair[1]))


def view(**changes: Any) -> FileView:
    fields: dict[str, Any] = {"path": "/p/a", "digest": "d1", "mtime_ns": 1, "lines": 10}
    return FileView(**{**fields, **changes})


def test_ranges_of_one_content_add_up() -> None:
    table = FileTable()
    table.saw(view(seen=((1, 4),)))
    assert table.saw(view(seen=((8, 10),))).seen == ((1, 4), (8, 10))
    assert not table.view("/p/a").is_whole
    assert table.saw(view(seen=((5, 7),))).is_whole


def test_a_new_content_starts_anew() -> None:
    table = FileTable()
    table.saw(view(seen=((1, 10),)))
    table.saw(view(digest="d2", seen=((1, 2),)))
    assert table.view("/p/a").seen == ((1, 2),)
    assert table.refusal("/p/a", "d1") is not None


@pytest.mark.req("R120")
def test_files_of_the_start_up_context_can_be_seeded() -> None:
    table = FileTable()
    table.seed([view(seen=((1, 10),), from_context=True)])
    assert table.refusal("/p/a", "d1") is None
    assert table.view("/p/a").from_context
    assert table.views() == (view(seen=((1, 10),), from_context=True),)


def test_an_empty_file_is_whole_when_it_was_seen() -> None:
    assert view(lines=0).is_whole
    assert not view(lines=1).is_whole


@given(st.lists(RANGE, max_size=12))
def test_merged_ranges_hold_the_same_lines_and_are_apart(ranges: list[tuple[int, int]]) -> None:
    merged = merge_ranges(tuple(ranges))
    assert {line for first, last in merged for line in range(first, last + 1)} == {
        line for first, last in ranges for line in range(first, last + 1)
    }
    assert all(left[1] + 1 < right[0] for left, right in itertools.pairwise(merged))


@pytest.mark.req("R295")
def test_what_was_read_stays_read_over_a_resume(session: Any) -> None:
    path = session.put("a", "1\n2\n3\n")
    session.use("Read", file_path="a", limit=2)
    first = session.outcome.structured
    session.use("Read", file_path="a", offset=3)
    second = session.outcome.structured
    session.box = ToolBox()
    assert "has not been read" in session.refusal("Edit", file_path="a", old_string="1", new_string="x")
    session.box.files.seed_outcomes([first, raw_json({"stdout": "x"}), raw_json([1]), second])
    session.text("Edit", file_path="a", old_string="1", new_string="x")
    edited = session.outcome.structured
    session.box = ToolBox()
    session.box.files.seed_outcomes([first, second, edited])
    session.text("Edit", file_path="a", old_string="x", new_string="y")
    assert path.read_text() == "y\n2\n3\n"
