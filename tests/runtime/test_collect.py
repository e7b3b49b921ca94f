"""Notes in a turn: nested files and rules at the tail of real requests, and a collector that fails or is slow."""

from __future__ import annotations

from pathlib import Path

import pytest

from compositor.adapters.home import project_key
from compositor.adapters.sessions.reading import read_transcript
from compositor.runtime.events import NotesCollected, RequestStarted
from compositor.types.attachments import TextAttachment
from compositor.types.collected import Collected, Moment
from compositor.types.entries import AssistantEntry, AttachmentEntry, UserEntry
from tests.runtime.test_agent import Run

pytestmark = pytest.mark.anyio

TWO_READS = """
turns:
  - {do: [{read: sub/a.ts}]}
  - {do: [{read: sub/a.ts}]}
  - {say: done}
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / "sub").mkdir(parents=True)
    (folder / ".claude/rules").mkdir(parents=True)
    (folder / "CLAUDE.md").write_text("Be brief.\n")
    (folder / "sub/a.ts").write_text("let a = 1\n")
    (folder / "sub/CLAUDE.md").write_text("NESTED-TEXT\n")
    (folder / ".claude/rules/ts.md").write_text("---\npaths: '**/*.ts'\n---\nRULE-TEXT\n")
    return folder


@pytest.mark.req("R122", "R126", "R128", "R130")
async def test_a_rule_and_a_nested_file_enter_once_behind_the_result_and_the_prefix_stays(project: Path) -> None:
    run = Run(project, TWO_READS)
    await run.submit("Read it.")
    first, second, third = (event.compiled for event in run.of(RequestStarted) if isinstance(event, RequestStarted))
    assert b"RULE-TEXT" not in first.body
    assert b"NESTED-TEXT" not in first.body
    for text in (b"RULE-TEXT", b"NESTED-TEXT"):
        assert second.body.count(text) == third.body.count(text) == 1
    assert second.head.digest == first.head.digest
    before = [chunk.data for chunk in first.message_chunks()]
    assert [chunk.data for chunk in second.message_chunks()][: len(before)] == before
    kinds = [type(entry) for entry in read_transcript(run.path).entries]
    note = AttachmentEntry
    assert kinds == [UserEntry, AssistantEntry, UserEntry, note, note, AssistantEntry, UserEntry, AssistantEntry]
    told = [note for event in run.of(NotesCollected) for note in event.attachments]
    assert [note.kind for note in told] == ["nested_memory", "nested_memory"]


@pytest.mark.req("R122", "R200")
async def test_a_resumed_session_is_not_told_again(project: Path) -> None:
    run = Run(project, TWO_READS)
    await run.submit("Read it.")
    again = Run(project, TWO_READS)
    await again.submit("Read it again.", resume=run.path.stem)
    assert [event.attachments for event in again.of(NotesCollected)] == [()] * 3
    assert again.bodies()[-1] != run.bodies()[-1]


@pytest.mark.req("R124")
async def test_a_changed_file_is_told_with_the_next_prompt(project: Path) -> None:
    run = Run(project, TWO_READS)
    await run.submit("Read it.")
    (project / "sub/CLAUDE.md").write_text("NESTED-NEW\n")
    again = Run(project, "turns: [{say: ok}]")
    await again.submit("Go on.", resume=run.path.stem)
    (event,) = again.of(NotesCollected)
    assert isinstance(event, NotesCollected)
    assert [(note.kind, note.path) for note in event.attachments if isinstance(note, TextAttachment)] == [
        ("memory_update", str(project / "sub/CLAUDE.md"))
    ]


@pytest.mark.req("R419", "R182")
async def test_notes_of_earlier_sessions_can_be_read_without_a_question(project: Path) -> None:
    notes = project.parent / "state/memory" / project_key(str(project))
    notes.mkdir(parents=True)
    (notes / "MEMORY.md").write_text("- deploy.md: how to deploy\n")
    (notes / "deploy.md").write_text("DEPLOY-NOTE: make ship\n")
    run = Run(project, f"turns:\n  - {{do: [{{read: {notes}/deploy.md}}]}}\n  - {{say: done}}\n")
    result = await run.submit("Deploy, please.")
    assert result.denied == ()
    first, second = (event.compiled for event in run.of(RequestStarted) if isinstance(event, RequestStarted))
    assert first.body.count(b"how to deploy") == 1
    assert first.body.count(b"DEPLOY-NOTE") == 1
    assert second.body.count(b"DEPLOY-NOTE") == 2


class Counting:
    def __init__(self) -> None:
        self.moments: list[Moment] = []

    async def collect(self, moment: Moment) -> Collected:
        self.moments.append(moment)
        return Collected()


@pytest.mark.req("R182")
async def test_notes_are_collected_at_the_submission_and_after_each_batch(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counting = Counting()
    monkeypatch.setattr("compositor.collecting.MemoryCollector", lambda *_: counting)
    run = Run(project, "turns:\n" + "  - {do: [{read: sub/a.ts}]}\n" * 3 + "  - {say: done}\n")
    await run.submit("Read it.")
    assert [moment.reached for moment in counting.moments] == [(), *[(str(project / "sub/a.ts"),)] * 3]
    assert {moment.prompt for moment in counting.moments} == {"Read it."}
