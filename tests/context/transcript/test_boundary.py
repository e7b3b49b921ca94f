"""What a compact boundary says, in both spellings."""

from __future__ import annotations

import pytest

from compositor.context.transcript.boundary import Boundary, valid_boundaries
from compositor.types.blocks import TextBlock
from compositor.types.entries import MarkerEntry, TranscriptEntry, UserEntry
from compositor.types.json import Raw, raw_json


def said(uuid: str, parent: str | None) -> UserEntry:
    return UserEntry(uuid=uuid, parent=parent, time="t", content=(TextBlock(uuid),))


def boundary_of(detail: object) -> Boundary | None:
    raw = detail if isinstance(detail, Raw) else raw_json(detail)
    marker = MarkerEntry(uuid="b", parent="u3", time="t", subtype="compact_boundary", detail=raw)
    entries: list[TranscriptEntry] = [said("u1", None), said("u2", "u1"), said("u3", "u2"), marker, said("s", "b")]
    nodes = {entry.uuid: entry for entry in entries}
    return valid_boundaries(nodes, {uuid: entry.parent for uuid, entry in nodes.items()}).get("b")


FOREIGN = {"anchorUuid": "s", "uuids": ["u2", "u3"]}
SEGMENT = {"anchorUuid": "s", "headUuid": "u1", "tailUuid": "u3"}


@pytest.mark.req("R153")
@pytest.mark.parametrize(
    ("detail", "preserved"),
    [
        ({"trigger": "manual"}, ()),
        ({"preserved": {"anchor": "s", "entries": ["u2", "u3"]}}, ("u2", "u3")),
        ({"compactMetadata": {"trigger": "auto", "preTokens": 3}}, ()),
        ({"compactMetadata": {"preservedMessages": FOREIGN}}, ("u2", "u3")),
        ({"compactMetadata": {"preservedSegment": SEGMENT}}, ("u1", "u2", "u3")),
        ({"compactMetadata": {"preservedSegment": SEGMENT, "preservedMessages": FOREIGN}}, ("u2", "u3")),
    ],
)
def test_both_spellings_name_what_is_preserved(detail: object, preserved: tuple[str, ...]) -> None:
    found = boundary_of(detail)
    assert found is not None
    assert (found.preserved, found.problem) == (preserved, "")


@pytest.mark.req("R153")
@pytest.mark.parametrize(
    ("detail", "preserved", "problem"),
    [
        ({"preserved": {"anchor": "s", "entries": ["u2", "gone"]}}, ("u2",), "1 of 2 messages"),
        ({"preserved": {"anchor": "gone", "entries": ["u2"]}}, (), "cannot be linked"),
        ({"preserved": {"anchor": "s", "entries": ["b"]}}, (), "cannot be linked"),
        ({"preserved": 17}, (), "not known"),
        (Raw(b"[]"), (), "not known"),
    ],
)
def test_what_cannot_be_linked_is_told(detail: object, preserved: tuple[str, ...], problem: str) -> None:
    found = boundary_of(detail)
    assert found is not None
    assert found.preserved == preserved
    assert problem in found.problem


@pytest.mark.req("R152")
def test_a_boundary_without_its_summary_does_not_count() -> None:
    marker = MarkerEntry(uuid="b", parent=None, time="t", subtype="compact_boundary", detail=Raw(b"{}"))
    assert valid_boundaries({"b": marker}, {"b": None}) == {}
