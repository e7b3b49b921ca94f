"""Each corpus transcript against the session reader of another project, counts and ids; each difference with its reason."""

from __future__ import annotations

import json
import os
import shutil
import uuid
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from claude_agent_sdk import get_session_messages, get_subagent_messages

from compositor.adapters.sessions.jsonl import JsonlSession
from compositor.adapters.sessions.past import find_past
from compositor.adapters.sessions.reading import read_history, read_transcript
from compositor.cli.inputs import preview
from compositor.context.messages.legality import check_body
from compositor.context.transcript.codec import SessionHeader
from compositor.context.transcript.graph import active_path
from compositor.types.blocks import ImageBlock, RedactedThinkingBlock, ThinkingBlock, ToolResultBlock, ToolUseBlock
from compositor.types.entries import AssistantEntry, MarkerEntry, TranscriptEntry, UserEntry

CORPUS = Path(os.environ.get("COMPOSITOR_CORPUS", "../shared/corpus")).resolve() / "transcripts"
# A workflow's own log beside its transcripts: no record of a conversation.
FILES = [path for path in sorted(CORPUS.rglob("*.jsonl")) if path.name != "journal.jsonl"]
NAMES = [str(path.relative_to(CORPUS)) for path in FILES]

# Records that only one of the two takes into the conversation: (theirs, ours, why).
DIFFERENT: dict[str, tuple[int, int, str]] = {
    "claude-code-log/small/dag_cycle.jsonl": (0, 1, "a file of a sidechain alone is read as the conversation"),
    "claude-code-log/small/edge_cases.jsonl": (
        1,
        1,
        "theirs ends in a user record without content, which can not be sent",
    ),
    "claude-code-log/small/teammates/ef000000-0000-4000-8000-000000000001.jsonl": (
        0,
        20,
        "theirs leaves out what carries a team's name; here it is the conversation of the file itself",
    ),
    "entirecontext/2.1.232-two-compactions.jsonl": (0, 1, "the answer that the compaction preserved is linked again"),
    "happy/api-error/rate-limit.jsonl": (1, 0, "an error shown as an answer was never said by the model"),
    "happy/duplicate-assistant-response.jsonl": (1, 0, "one answer stored twice, once on an older line"),
    "session-share/2.1.22-images-in-user-messages.jsonl": (
        4,
        0,
        "answers stored twice, once on the line that was left",
    ),
    "session-share/2.1.27-edit-tool-variants.jsonl": (0, 1, "a parent that is not in the file is bridged (R158)"),
}
_SUBAGENTS = "claude-code-log/worktrees-2.1.114/ef958aa1-0e93-49f0-bb71-150f63befcd1/subagents"
_PARALLEL = "theirs does not rejoin parallel calls and results in the file of a subagent"
DIFFERENT |= {
    "claude-code-log/print-mode-2.1.17/29ccd257-68b1-427f-ae5f-6524b7cb6f20/subagents/agent-a2271d1.jsonl": (
        0,
        21,
        _PARALLEL,
    ),
    f"{_SUBAGENTS}/agent-a4ca7529859c158c2.jsonl": (0, 6, _PARALLEL),
    f"{_SUBAGENTS}/agent-ab1e6e141221a29ab.jsonl": (0, 5, _PARALLEL),
    f"{_SUBAGENTS}/agent-a52886dc180afb356.jsonl": (1, 0, "theirs counts a note of the client (isMeta) there"),
}
# Read as a session and not as a subagent of one.
MAIN = {"claude-code-log/small/dag_cycle.jsonl"}

pytestmark = pytest.mark.corpus
every_file = pytest.mark.parametrize("path", FILES, ids=NAMES)


class Reader:
    """The other reader, on a copy of a file in a home of its own."""

    def __init__(self, home: Path) -> None:
        self._folder = home / "projects" / "corpus"
        self._folder.mkdir(parents=True)

    def conversation(self, path: Path) -> list[Any]:
        session = str(uuid.uuid4())
        shutil.copy(path, self._folder / f"{session}.jsonl")
        return get_session_messages(session)

    def subagent(self, path: Path) -> list[Any]:
        """A file whose records are all of a sidechain, as a subagent of an empty session."""
        session = str(uuid.uuid4())
        (self._folder / f"{session}.jsonl").write_text("{}\n")
        folder = self._folder / session / "subagents"
        folder.mkdir(parents=True)
        shutil.copy(path, folder / "agent-x.jsonl")
        return get_subagent_messages(session, "x")


@pytest.fixture
def reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Reader:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path))
    return Reader(tmp_path)


def records_of(path: Path) -> list[dict[str, Any]]:
    found = []
    for line in path.read_bytes().split(b"\n"):
        try:
            record = json.loads(line)
        except ValueError:
            continue
        if isinstance(record, dict):
            found.append(record)
    return found


def is_sidechain_file(path: Path) -> bool:
    spoken = [record for record in records_of(path) if record.get("type") in {"user", "assistant"}]
    return bool(spoken) and all(record.get("isSidechain") for record in spoken)


def their_counts(messages: Iterable[Any]) -> Counter[str]:
    """Kinds of blocks in messages as plain data."""
    counts: Counter[str] = Counter()
    for message in messages:
        content = message.message.get("content") if isinstance(message.message, dict) else None
        for block in content if isinstance(content, list) else ():
            kind = block.get("type") if isinstance(block, dict) else None
            counts["image"] += _images(block) if kind == "tool_result" else kind == "image"
            counts["thinking"] += kind in {"thinking", "redacted_thinking"}
            counts["call"] += kind == "tool_use"
            counts["result"] += kind == "tool_result"
    return +counts


def _images(result: dict[str, Any]) -> int:
    content = result.get("content")
    return (
        sum(isinstance(one, dict) and one.get("type") == "image" for one in content or ())
        if isinstance(content, list)
        else 0
    )


def our_counts(entries: Iterable[TranscriptEntry]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for entry in entries:
        for block in entry.content if isinstance(entry, UserEntry | AssistantEntry) else ():
            counts["image"] += isinstance(block, ImageBlock)
            counts["thinking"] += isinstance(block, ThinkingBlock | RedactedThinkingBlock)
            counts["call"] += isinstance(block, ToolUseBlock)
            counts["result"] += isinstance(block, ToolResultBlock)
            if isinstance(block, ToolResultBlock) and isinstance(block.content, tuple):
                counts["image"] += sum(isinstance(part, ImageBlock) for part in block.content)
    return +counts


@pytest.mark.req("R150", "R152")
@every_file
def test_the_conversation_is_what_another_reader_finds(path: Path, reader: Reader) -> None:
    name = str(path.relative_to(CORPUS))
    theirs = reader.subagent(path) if is_sidechain_file(path) and name not in MAIN else reader.conversation(path)
    found = active_path(read_transcript(path).entries)
    visible = [entry for entry in found.entries if _is_visible(entry)]
    ours = [uuid for entry in visible for uuid in found.joined.get(entry.uuid, (entry.uuid,))]
    their_ids = [message.uuid for message in theirs]
    only_theirs, only_ours = set(their_ids) - set(ours), set(ours) - set(their_ids)
    expected = DIFFERENT.get(name, (0, 0, ""))
    assert (len(only_theirs), len(only_ours)) == expected[:2]
    if name not in DIFFERENT:
        assert their_counts(theirs) == our_counts(visible)


def _is_visible(entry: TranscriptEntry) -> bool:
    return isinstance(entry, AssistantEntry) or (isinstance(entry, UserEntry) and not entry.is_meta)


@every_file
def test_sidechains_and_boundaries_are_counted_as_they_stand_in_the_file(path: Path) -> None:
    records = records_of(path)
    loaded = read_transcript(path)
    chain = {"user", "assistant", "system", "attachment"}
    sidechain = [one for one in records if one.get("isSidechain") and one.get("type") in chain and one.get("uuid")]
    assert len(loaded.sidechains) == (0 if is_sidechain_file(path) else len(sidechain))
    boundaries = [one for one in records if one.get("subtype") == "compact_boundary"]
    markers = [one for one in loaded.entries if isinstance(one, MarkerEntry) and one.subtype == "compact_boundary"]
    assert len(markers) == len(boundaries)


@pytest.mark.req("R154", "R423")
@every_file
def test_each_compiles_to_a_request_that_breaks_no_rule(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COMPOSITOR_HOME", str(tmp_path / "home"))
    before = path.read_bytes()
    found = preview({"prompt": "go on", "project": str(tmp_path), "transcript": str(path)})
    assert check_body(found.compiled.body, found.opened.conversation.prefix.wire) == ()
    assert path.read_bytes() == before


@pytest.mark.req("R149", "R423")
@every_file
def test_each_goes_on_in_a_session_of_its_own(path: Path, tmp_path: Path) -> None:
    """What `run --resume FILE` does before the first request; the source is never changed."""
    before = (path.read_bytes(), path.stat().st_mtime_ns)
    past = find_past(tmp_path, str(tmp_path), resume=str(path), continues=False, transcript=None)
    assert past is not None
    with JsonlSession.open(tmp_path, SessionHeader(session_id="s1", time="t", cwd=str(tmp_path))) as session:
        session.append(past.copied)
    copied = read_history(Path(session.path))
    assert copied.path.entries == past.history.path.entries
    assert copied.damaged == ()
    assert (path.read_bytes(), path.stat().st_mtime_ns) == before
