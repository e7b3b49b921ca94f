"""The table of files seen: its size, what it keeps of a text, and what fades (R287 to R296)."""

from __future__ import annotations

from typing import Any

import pytest

from compositor.context.freshness.file_table import FileTable, FileView, view_record


def view(path: str = "/p/a", **changes: Any) -> FileView:
    fields: dict[str, Any] = {"path": path, "digest": f"d{path}", "mtime_ns": 1, "lines": 2, "seen": ((1, 2),)}
    return FileView(**{**fields, **changes})


@pytest.mark.req("R287")
def test_the_file_seen_longest_ago_leaves_a_full_table() -> None:
    table = FileTable()
    for at in range(5_000):
        table.saw(view(f"/p/{at}"))
    table.saw(view("/p/0"))
    table.saw(view("/p/new"))
    assert len(table.views()) == 5_000
    assert table.view("/p/0") is not None, "it was seen again a moment ago"
    assert table.view("/p/1") is None


@pytest.mark.req("R287")
def test_the_texts_together_stay_within_25_mib() -> None:
    table, mib = FileTable(), 1024 * 1024
    for at in range(30):
        table.saw(view(f"/p/{at}", text="x" * mib, size=mib))
    kept = [one.path for one in table.views()]
    assert kept == [f"/p/{at}" for at in range(5, 30)]
    table.saw(view("/p/29", digest="other"))
    table.saw(view("/p/30", text="x" * mib, size=mib))
    assert len(table.views()) == 26, "a text that was replaced no longer counts"


def test_a_text_too_long_for_the_table_leaves_its_view_behind() -> None:
    table = FileTable(max_bytes=10)
    table.saw(view("/p/long", text="x" * 20, size=20))
    assert [(one.path, one.text) for one in table.views()] == [("/p/long", None)]


@pytest.mark.req("R288")
@pytest.mark.parametrize(
    ("size", "whole", "kept"), [(4_096, False, True), (4_097, False, False), (4_096, True, True), (4_097, True, True)]
)
def test_a_long_text_is_kept_only_where_it_is_needed(size: int, whole: bool, kept: bool) -> None:
    table = FileTable()
    known = table.saw(view(seen=((1, 2),) if whole else ((1, 1),), text="x" * size, size=size))
    assert (known.text is not None) is kept
    assert (known.digest, known.size) == ("d/p/a", size)


@pytest.mark.req("R291", "R299")
def test_only_files_seen_whole_are_looked_after() -> None:
    table = FileTable()
    table.saw(view("/p/whole"))
    table.saw(view("/p/part", seen=((1, 1),)))
    table.saw(view("/p/instructions", from_context=True))
    table.saw(view("/p/told", seen=(), is_watched=True))
    assert [stamp.path for stamp in table.stamps()] == ["/p/whole", "/p/told"]


def test_a_structured_result_holds_no_text() -> None:
    assert view_record(view(text="secret", is_shown=True)) == {
        "path": "/p/a",
        "digest": "d/p/a",
        "mtimeNs": 1,
        "lines": 2,
        "seen": ((1, 2),),
    }
