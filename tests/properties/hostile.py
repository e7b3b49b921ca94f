"""Session files as crashes, two writers and other programs leave them: a seeded generator that knows what it broke.

Decides what can go wrong with a line and with a link. What must come of it is the law that uses it.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field

import msgspec

from compositor.context.transcript.codec import SessionHeader, encode_record
from compositor.types.attachments import TextAttachment
from compositor.types.blocks import ContentBlock, TextBlock, ToolResultBlock, ToolUseBlock
from compositor.types.entries import AssistantEntry, AttachmentEntry, MarkerEntry, TranscriptEntry, UserEntry
from compositor.types.json import Raw, raw_json

TEXTS = ("go on", "a\u2028b\u2029c\x85d", "\x1b[0m\x7f", "é漢😀", "{", "\\ud83d", " " * 3)


@dataclass
class HostileFile:
    """The bytes of a file, the ids of the records that are good in file order, and how many lines hold none."""

    data: bytes
    good: list[str]
    bad: int
    torn: bool
    kinds: set[str] = field(default_factory=set)


def hostile_file(seed: int) -> HostileFile:
    chance = random.Random(seed)
    entries = _entries(chance)
    if chance.random() < 0.3:
        entries = _interleaved(chance, entries)
    lines: list[bytes] = (
        [] if chance.random() < 0.1 else [encode_record(SessionHeader(session_id="s", time="t", cwd="/p"))]
    )
    good: list[str] = []
    bad = 0
    kinds: set[str] = set()
    for entry in entries:
        if chance.random() < 0.2:
            kind, line = chance.choice(list(_BROKEN.items()))
            lines.append(line if kind != "half" else encode_record(entry)[: chance.randint(1, 40)] + b"\n")
            kinds.add(kind)
            bad += 1
        lines.append(_dirtied(chance, encode_record(entry), kinds))
        good.append(entry.uuid)
    torn = chance.random() < 0.4
    if torn:
        kinds.add("torn")
        lines.append(b'{"type":"assistant","id":"torn","mess')
    elif chance.random() < 0.2:
        lines[-1] = lines[-1].rstrip(b"\r\n")
    return HostileFile(b"".join(lines), good, bad, torn, kinds)


_BROKEN = {
    "nul": b"\0" * 300 + b"\n",
    "half": b"",
    "number": b"17\n",
    "list": b'[{"type":"user"}]\n',
    "empty": b"\n",
    "untyped": b'{"id":"u1"}\n',
    "noise": b"\xff\xfe\x00garbage\n",
}


def _dirtied(chance: random.Random, line: bytes, kinds: set[str]) -> bytes:
    """The record with dirt around it or illegal text in it: it still counts."""
    match chance.randint(0, 19):
        case 0:
            kinds.add("crlf")
            return line.replace(b"\n", b"\r\n")
        case 1:
            kinds.add("nul_before")
            return b"\0" * 40 + line
        case 2:
            kinds.add("surrogate")
            return line.replace(b"go on", b"go \\ud83d on")
        case 3:
            kinds.add("latin")
            return line.replace(b"go on", b"go \xe9 on")
        case 4:
            kinds.add("bom")
            return b"\xef\xbb\xbf" + line
        case 5:
            kinds.add("new_field")
            return line[:-2] + b',"mood":{"of":"a later version"}}\n'
        case _:
            return line


def _entries(chance: random.Random) -> list[TranscriptEntry]:
    entries: list[TranscriptEntry] = []
    ids: list[str] = []
    open_calls: list[str] = []
    for number in range(chance.randint(1, 30)):
        uuid = f"e{number}"
        entry = _entry(chance, uuid, _parent(chance, ids, uuid), number, open_calls)
        if chance.random() < 0.04 and entries:
            entry = _changed(entry, uuid=chance.choice(ids))
        entries.append(entry)
        ids.append(entry.uuid)
    if chance.random() < 0.1 and len(entries) > 2:
        # A cycle: the first names the last as its parent.
        entries[0] = _changed(entries[0], parent=entries[-1].uuid)
    return entries


def _parent(chance: random.Random, ids: Sequence[str], own: str) -> str | None:
    match chance.randint(0, 19):
        case _ if not ids:
            return None
        case 0:
            return "gone"
        case 1:
            return None
        case 2:
            return own
        case 3 | 4:
            return chance.choice(ids)
        case _:
            return ids[-1]


def _entry(chance: random.Random, uuid: str, parent: str | None, number: int, open_calls: list[str]) -> TranscriptEntry:
    time = f"2026-01-01T00:00:{chance.choice((number, number, number, 1)):02}.000Z"
    match chance.randint(0, 9):
        case 0:
            return AttachmentEntry(
                uuid=uuid, parent=parent, time=time, attachment=TextAttachment(kind="note", text=chance.choice(TEXTS))
            )
        case 1:
            detail = {"preserved": {"anchor": f"e{number + 1}", "entries": [f"e{max(number - 2, 0)}", "gone"]}}
            return MarkerEntry(
                uuid=uuid,
                parent=parent,
                time=time,
                subtype="compact_boundary",
                detail=raw_json(detail) if chance.random() < 0.7 else Raw(b'{"preserved":17}'),
            )
        case 2 | 3 | 4 | 5:
            blocks: list[ContentBlock] = [TextBlock(chance.choice(TEXTS))]
            blocks += [ToolResultBlock(call, "done") for call in open_calls]
            open_calls.clear()
            return UserEntry(uuid=uuid, parent=parent, time=time, content=tuple(blocks), is_meta=chance.random() < 0.2)
        case _:
            calls = [f"call{number}-{part}" for part in range(chance.randint(0, 2))]
            open_calls += calls
            return AssistantEntry(
                uuid=uuid,
                parent=parent,
                time=time,
                message_id=f"m{chance.choice((number, number, max(number - 1, 0)))}",
                model="claude-x",
                content=(TextBlock(chance.choice(TEXTS)), *(ToolUseBlock(call, "Read", Raw(b"{}")) for call in calls)),
                stop_reason="tool_use" if calls else "end_turn",
            )


def _interleaved(chance: random.Random, entries: list[TranscriptEntry]) -> list[TranscriptEntry]:
    """A second writer that began at the same entry: its records stand between those of the first."""
    middle = len(entries) // 2
    start = entries[middle - 1].uuid if middle else None
    second = [
        UserEntry(
            uuid=f"w{number}",
            parent=start if not number else f"w{number - 1}",
            time="2026-01-01T00:00:59.000Z",
            content=(TextBlock("go on"),),
        )
        for number in range(chance.randint(1, 4))
    ]
    merged = list(entries)
    for entry in second:
        merged.insert(chance.randint(middle, len(merged)), entry)
    return merged


def _changed(entry: TranscriptEntry, **fields: str) -> TranscriptEntry:
    return msgspec.structs.replace(entry, **fields)
