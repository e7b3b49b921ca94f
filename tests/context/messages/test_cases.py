"""Case files: entries in, wire messages and omissions out. A fault that was fixed starts as one of these (F01 to F09).

A file has a first line that says what it shows, then the parts `--- entries`, `--- messages` and `--- left out`, and where it needs them `--- facts`
(fields of `Facts` as one JSON object). An entry is a JSON line with `role` (user, assistant, note, queued, marker, progress), `content`, for an
assistant `stop`, `model`, `digest`, for a note its `kind`, for queued input its `origin`. Each case is shown on send and on load: the
same entries read back from the lines of a stored session give the same bytes, and the stand-in for the service takes them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from compositor.config.options import TOOL_CHANGES_BETA
from compositor.context.compile import compile_request
from compositor.context.finish import finish
from compositor.context.prefix import empty_prefix, extend
from compositor.context.transcript.codec import SessionHeader, encode_record
from compositor.context.transcript.graph import active_path
from compositor.context.transcript.load import load_transcript
from compositor.emulator.profile import ServiceProfile
from compositor.emulator.rules import check_request
from compositor.types.attachments import QueuedInput, TextAttachment
from compositor.types.blocks import parse_content
from compositor.types.entries import (
    AssistantEntry,
    AttachmentEntry,
    MarkerEntry,
    Origin,
    ProgressEntry,
    TranscriptEntry,
    UserEntry,
)
from compositor.types.json import Raw, decode_json, raw_json, repair_raw
from compositor.types.snapshot import Facts, Snapshot
from tests.properties.building import BARE, OPTIONS, WIRE
from tests.properties.bulk import CLEAR_AT_BETA
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
            note = TextAttachment(kind=fields.get("kind", "note"), text=fields["content"])
            return AttachmentEntry(uuid=uuid, parent=None, time=TIME, attachment=note)
        case "queued":
            queued = QueuedInput(kind="queued_command", text=fields["content"], origin=Origin(fields["origin"]))
            return AttachmentEntry(uuid=uuid, parent=None, time=TIME, attachment=queued)
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


def facts_of(path: Path, parts: dict[str, list[str]]) -> Facts:
    given = decode_json("".join(parts.get("facts", ["{}"])))
    return msgspec.convert({"model": MODEL, "binds_thinking": "binding" in path.stem, **given}, Facts)


def reloaded(entries: tuple[TranscriptEntry, ...]) -> tuple[TranscriptEntry, ...]:
    """The entries as a stored session gives them back; a progress note is never stored (R161)."""
    chained: list[TranscriptEntry] = []
    for entry in entries:
        if not isinstance(entry, ProgressEntry):
            parent = chained[-1].uuid if chained else None
            chained.append(msgspec.structs.replace(entry, parent=parent))
    lines = [encode_record(SessionHeader(session_id="s", time=TIME, cwd="/p", program="compositor"))]
    lines += [encode_record(entry) for entry in chained]
    return active_path(load_transcript(lines).entries).entries


@pytest.mark.req("R155", "R156", "R160", "R161", "R170", "R171", "R173", "R179", "R209", "R219", "R220", "R232")
@pytest.mark.parametrize("path", CASES, ids=[path.stem for path in CASES])
def test_case(path: Path) -> None:
    parts = parts_of(path)
    entries = tuple(entry_of(line, number) for number, line in enumerate(parts["entries"]))
    facts = facts_of(path, parts)
    betas = ((CLEAR_AT_BETA, facts.turn_scoped), (TOOL_CHANGES_BETA, facts.tool_changes))
    wire = msgspec.structs.replace(WIRE, betas=tuple(name for name, is_sent in betas if is_sent))
    options = msgspec.structs.replace(OPTIONS, betas=wire.betas)
    compiled = compile_request(Snapshot(head=BARE, entries=entries, facts=facts, options=options), wire)
    sent = [chunk.data.decode() for chunk in compiled.message_chunks()]
    assert sent == parts["messages"]
    omitted = [f"{omission.step}: {omission.what}: {omission.reason}" for omission in compiled.omissions]
    assert omitted == parts["left out"]
    stepwise = empty_prefix(BARE, facts, wire)
    for entry in entries:
        stepwise = extend(stepwise, (entry,))
    assert finish(stepwise, options).body == compiled.body
    again = Snapshot(head=BARE, entries=reloaded(entries), facts=facts, options=options)
    assert compile_request(again, wire).body == compiled.body
    service = ServiceProfile(max_output=128_000, system_role=facts.system_role)
    assert check_request(decode_json(compiled.body), dict(compiled.headers), service) is None


def test_there_are_cases() -> None:
    assert len(CASES) >= 30
