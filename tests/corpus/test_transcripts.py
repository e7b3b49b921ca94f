"""Recorded sessions of other clients (1.0 to 2.1) load as conversations, and every line of them is accounted for."""

import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from compositor.adapters.sessions.reading import read_transcript
from compositor.context.transcript.codec import decode_line, encode_record
from compositor.context.transcript.foreign import load_foreign
from compositor.context.transcript.graph import active_path
from compositor.context.transcript.load import TranscriptFormat, detect_format, split_lines
from compositor.types.blocks import ToolResultBlock, ToolUseBlock
from compositor.types.entries import AssistantEntry, MarkerEntry, ProgressEntry, TranscriptEntry, UserEntry

CORPUS = Path(os.environ.get("COMPOSITOR_CORPUS", "../shared/corpus")).resolve() / "transcripts"
FILES = sorted(CORPUS.rglob("*.jsonl"))
NAMES = [str(path.relative_to(CORPUS)) for path in FILES]
CHAIN = {"user", "assistant", "system", "attachment", "progress"}

# A workflow's own log beside its transcripts: no record of a conversation.
NO_TRANSCRIPT = "workflow_basic/11110000-0000-4000-8000-000000000001/subagents/workflows/wf_demo01/journal.jsonl"

pytestmark = pytest.mark.corpus
every_file = pytest.mark.parametrize("path", FILES, ids=NAMES)


def plain_records(data: bytes) -> tuple[list[dict[str, Any]], int]:
    """The records as the standard library reads them, and the number of lines that are none."""
    records, bad = [], 0
    for line in data.removesuffix(b"\n").split(b"\n"):
        try:
            record = json.loads(line)
        except ValueError:
            record = None
        if isinstance(record, dict):
            records.append(record)
        else:
            bad += 1
    return records, bad


def test_the_corpus_is_there() -> None:
    assert len(FILES) == 85


@every_file
def test_its_format_is_recognized(path: Path) -> None:
    expected = None if str(path).endswith(NO_TRANSCRIPT) else TranscriptFormat.FOREIGN
    assert detect_format(split_lines(path.read_bytes())[:50]) is expected
    if expected is not None:
        assert read_transcript(path).entries == load_foreign(split_lines(path.read_bytes())).entries


@every_file
def test_nothing_is_silent(path: Path) -> None:
    """Each line is an entry, or counted in a diagnostic."""
    data = path.read_bytes()
    records, bad = plain_records(data)
    loaded = load_foreign(split_lines(data))
    kept = [record for record in records if record.get("uuid") and record.get("type") in CHAIN]
    conversation = [record["uuid"] for record in kept if record["type"] != "progress"]
    assert sorted(entry.uuid for entry in (*loaded.entries, *loaded.sidechains)) == sorted(conversation)
    told = Counter(found.code.removeprefix("transcript.") for found in loaded.diagnostics)
    assert len(loaded.damaged) + told["torn_tail"] == bad
    counted = sum(int(found.message.split()[0]) for found in loaded.diagnostics if found.code == "transcript.left_out")
    assert counted == len(records) - len(conversation)


@every_file
def test_the_path_obeys_parent_links(path: Path) -> None:
    entries = load_foreign(split_lines(path.read_bytes())).entries
    found = active_path(entries)
    parents: dict[str, str | None] = {}
    for entry in entries:
        # A compact boundary begins the conversation anew; what it names as before it may be preserved behind it.
        begins = isinstance(entry, MarkerEntry) and entry.subtype == "compact_boundary"
        parents.setdefault(entry.uuid, None if begins else entry.parent)
    place: dict[str, int] = {}
    first_records: list[tuple[str, int]] = []
    for position, entry in enumerate(found.entries):
        records = found.joined.get(entry.uuid, (entry.uuid,))
        place.update(dict.fromkeys(records, position))
        # A message stands where it begins: its later records may hang on results of its own calls.
        first_records.append((records[0], position))
    for uuid, position in first_records:
        parent = parents[uuid]
        while parent is not None and parent in parents and parent not in place:
            parent = parents[parent]
        if parent in place:
            assert place[parent] <= position, f"{uuid} stands before its parent {parent}"
    assert len(found.entries) == len({entry.uuid for entry in found.entries})


@every_file
def test_no_answered_call_of_the_path_loses_its_result(path: Path) -> None:
    entries = load_foreign(split_lines(path.read_bytes())).entries
    found = active_path(entries).entries
    answered_somewhere = results(entries)
    # A chosen end may lie between a call and its result: the last message is left out.
    settled = [entry for entry in found if isinstance(entry, AssistantEntry)][:-1]
    calls = {block.id for entry in settled for block in entry.content if isinstance(block, ToolUseBlock)}
    assert calls & answered_somewhere <= results(found)


@every_file
def test_each_message_of_the_path_is_whole_and_once(path: Path) -> None:
    found = active_path(load_foreign(split_lines(path.read_bytes())).entries).entries
    messages = [entry.message_id for entry in found if isinstance(entry, AssistantEntry)]
    assert len(messages) == len(set(messages))
    assert all(entry.stop_reason for entry in found if isinstance(entry, AssistantEntry))


@every_file
def test_every_entry_can_be_stored_as_our_own(path: Path) -> None:
    loaded = load_foreign(split_lines(path.read_bytes()))
    for entry in (*loaded.entries, *loaded.sidechains):
        assert not isinstance(entry, ProgressEntry)
        assert decode_line(encode_record(entry)) == entry


def test_the_second_compaction_keeps_what_it_preserved() -> None:
    """Checked by hand: summary, the preserved answer with its two hook notes, then what was said next."""
    path = CORPUS / "entirecontext" / "2.1.232-two-compactions.jsonl"
    found = active_path(load_foreign(split_lines(path.read_bytes())).entries)
    assert [entry.uuid[:8] for entry in found.entries[:5]] == [
        "6df490ec",
        "87b35c24",
        "aecaac5e",
        "bfeb99ec",
        "f0ac12f3",
    ]
    assert [marker.subtype for marker in found.markers[:2]] == ["compact_boundary", "stop_hook_summary"]


def results(entries: tuple[TranscriptEntry, ...]) -> set[str]:
    return {
        block.tool_use_id
        for entry in entries
        if isinstance(entry, UserEntry)
        for block in entry.content
        if isinstance(block, ToolResultBlock)
    }
