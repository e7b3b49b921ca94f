"""The logical graph behind a compact boundary."""

import pytest

from compositor.context.transcript.graph import Branch, active_path
from compositor.types.entries import (
    MarkerEntry,
    TranscriptEntry,
)
from compositor.types.json import raw_json
from tests.context.transcript.small import LINEAR, answer, codes, ids, user


def boundary(uuid: str, parent: str | None, time: int, *, anchor: str = "", kept: tuple[str, ...] = ()) -> MarkerEntry:
    detail = {"preserved": {"anchor": anchor, "entries": kept}} if kept else {"trigger": "auto"}
    return MarkerEntry(uuid=uuid, parent=parent, time=f"{time:04}", subtype="compact_boundary", detail=raw_json(detail))


COMPACTED: list[TranscriptEntry] = [
    *LINEAR,
    boundary("b1", "a2", 5, anchor="s1", kept=("u2", "a2")),
    user("s1", "b1", 6, meta=True),
    user("u3", "s1", 7),
    answer("a3", "u3", 8),
]


@pytest.mark.req("R149", "R152", "R153")
def test_a_compacted_path_begins_at_its_boundary_with_what_was_preserved() -> None:
    path = active_path(COMPACTED)
    assert ids(path) == ["s1", "u2", "a2", "u3", "a3"]
    assert [found.subtype for found in path.markers] == ["compact_boundary"]
    assert (path.summarized, path.branches) == (2, ())
    assert codes(path) == ["summarized"]


@pytest.mark.req("R152")
def test_a_later_boundary_without_its_summary_leaves_the_earlier_one_in_force() -> None:
    path = active_path([*COMPACTED, boundary("b2", "a3", 9), answer("a4", "b2", 10)])
    assert ids(path) == ["s1", "u2", "a2", "u3", "a3", "a4"]


@pytest.mark.req("R152")
def test_the_last_of_two_boundaries_applies() -> None:
    later: list[TranscriptEntry] = [boundary("b2", "a3", 9), user("s2", "b2", 10, meta=True), user("u4", "s2", 11)]
    path = active_path([*COMPACTED, *later])
    assert ids(path) == ["s2", "u4"]
    # All of the six messages before it, and the first boundary.
    assert path.summarized == 8


@pytest.mark.req("R152")
def test_a_path_that_ends_before_the_boundary_does_not_see_it() -> None:
    assert ids(active_path(COMPACTED, leaf="a2")) == ["u1", "a1", "u2", "a2"]


def test_a_branch_from_a_summarized_entry_is_a_branch() -> None:
    path = active_path([*COMPACTED, user("x", "a1", 3)])
    assert ids(path) == ["s1", "u2", "a2", "u3", "a3"]
    assert path.branches == (Branch("x", "0003", "a1"),)


def test_the_summary_alone_carries_what_was_preserved() -> None:
    path = active_path(COMPACTED, leaf="s1")
    assert (ids(path), path.tip) == (["s1", "u2", "a2"], "s1")


@pytest.mark.req("R153")
def test_an_anchor_on_another_branch_moves_nothing() -> None:
    """The path goes through the anchor of a boundary that is not on it."""
    path = active_path(
        [
            *LINEAR,
            boundary("b1", "a1", 5, anchor="u3", kept=("u1",)),
            user("s1", "b1", 6, meta=True),
            user("u3", "a2", 7),
            answer("a3", "u3", 8),
        ]
    )
    assert ids(path) == ["u1", "a1", "u2", "a2", "u3", "a3"]
    assert "cycle" not in codes(path)
    other = active_path(
        [*LINEAR, boundary("b1", "a2", 5, anchor="u1", kept=("u2",)), user("s1", "b1", 6), user("u3", "s1", 7)]
    )
    assert ids(other) == ["s1", "u3"]
    assert codes(other)[0] == "preserved_missing"
