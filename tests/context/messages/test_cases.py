"""Case files: entries in, wire messages and omissions out. A fault that was fixed starts as one of these (F01 to F09).

A file has a first line that says what it shows, then the parts `--- entries`, `--- messages` and `--- left out`. An entry is a JSON line with `role`
(user, assistant, note, marker, progress), `content`, and for an assistant `stop`, `model`, `digest`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from compositor.context.compile import compile_request
from compositor.context.finish import finish
from compositor.context.prefix import empty_prefix, extend
from compositor.types.attachments import TextAttachment
from compositor.types.blocks import parse_content
from compositor.types.entries import (
    AssistantEntry,
    AttachmentEntry,
    MarkerEntry,
    ProgressEntry,
    TranscriptEntry,
    UserEntry,
)
from compositor.types.json import Raw, decode_json, raw_json, repair_raw
from compositor.types.snapshot import Facts, Snapshot
from tests.properties.building import BARE, OPTIONS, WIRE
from tests.properties.strategies import MODEL, TIME

FOLDER = Path(__file__).resolve().parents[2] / "cases" / "messages"
CASES = sorted(FOLDER.glob("*.txt"))


def parts_of(path: Path) -> dict[str, list[str]]:
    parts: dict[str, list[str]] = {}
    name = ""
    for line in path.read_text("utf-8").splitlines():
        if line.startswith("--- "):
            name = line[4:]
            parts[name] = []
        elif name and line.strip():
            parts[name].append(line)
    return parts


def entry_of(line: str, number: int) -> TranscriptEntry:
    fields: dict[str, Any] = decode_json(line)
    raw = msgspec.json.decode(repair_raw(Raw(line.encode())), type=dict[str, Raw])
    uuid = f"e{number}"
    match fields["role"]:
        case "note":
            note = TextAttachment(kind="note", text=fields["content"])
            return AttachmentEntry(uuid=uuid, parent=None, time=TIME, attachment=note)
        case "marker":
            return MarkerEntry(uuid=uuid, parent=None, time=TIME, subtype="notice", detail=raw_json({}))
        case "progress":
            return ProgressEntry(uuid=uuid, parent=None, time=TIME, text=fields["content"])
        case "user":
            return UserEntry(uuid=uuid, parent=None, time=TIME, content=parse_content(raw["content"]).blocks)
        case "assistant":
            return AssistantEntry(
                uuid=uuid,
                parent=None,
                time=TIME,
                message_id=f"msg_{number}",
                model=fields.get("model", MODEL),
                content=parse_content(raw["content"]).blocks,
                stop_reason=fields["stop"],
                prefix_digest=fields.get("digest"),
            )
        case other:
            raise AssertionError(f"unknown role {other!r}")


@pytest.mark.req("R155", "R156", "R160", "R161", "R170", "R171", "R173", "R179")
@pytest.mark.parametrize("path", CASES, ids=[path.stem for path in CASES])
def test_case(path: Path) -> None:
    parts = parts_of(path)
    entries = tuple(entry_of(line, number) for number, line in enumerate(parts["entries"]))
    facts = Facts(model=MODEL, binds_thinking="binding" in path.stem)
    compiled = compile_request(Snapshot(head=BARE, entries=entries, facts=facts, options=OPTIONS), WIRE)
    sent = [chunk.data.decode() for chunk in compiled.message_chunks()]
    assert sent == parts["messages"]
    omitted = [f"{omission.step}: {omission.what}: {omission.reason}" for omission in compiled.omissions]
    assert omitted == parts["left out"]
    stepwise = empty_prefix(BARE, facts, WIRE)
    for entry in entries:
        stepwise = extend(stepwise, (entry,))
    assert finish(stepwise, OPTIONS).body == compiled.body


def test_there_are_cases() -> None:
    assert len(CASES) >= 15
