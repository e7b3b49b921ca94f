"""Whole turns with facts that change beside them: told once, at the tail, with the prefix as it was (R010, R181 to R183, R197, R208, R296, F22)."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image

from compositor.adapters.pictures import clipboard_image
from compositor.adapters.sessions.reading import read_transcript
from compositor.loop.effects import EndReason
from compositor.runtime.events import AgentEvent, CallEnded, NotesCollected, RequestStarted
from compositor.types.attachments import MediaAttachment
from compositor.types.entries import AttachmentEntry
from compositor.types.gathering import FactState
from compositor.types.origin import Origin
from compositor.types.request import Compiled
from tests.runtime.test_agent import Run

pytestmark = pytest.mark.anyio

SAID = "was changed by somebody else"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "a.py").write_text("".join(f"a {at}\n" for at in range(400)))
    (folder / "b.py").write_text("b = 1\n")
    (folder / "c.py").write_text("c = 1\n")
    return folder


def compiled(run: Run) -> list[Compiled]:
    return [event.compiled for event in run.of(RequestStarted) if isinstance(event, RequestStarted)]


def after_calls(act: dict[int, Callable[[], object]]) -> Callable[[AgentEvent], bool]:
    """Does something beside the session once so many calls have ended."""
    count = 0

    def watch(event: AgentEvent) -> bool:
        nonlocal count
        if isinstance(event, CallEnded):
            count += 1
            act.get(count, lambda: None)()
        return False

    return watch


@pytest.mark.req("R010", "R182", "R296", "R305")
async def test_the_storm_of_the_report_is_one_note(project: Path) -> None:
    """Ten turns of unrelated tools, an edit of the agent's own, a touch without a change: one note for the one real change."""
    reads = "".join(f"  - {{do: [{{read: {name}}}]}}\n" for name in ("a.py", "b.py", "c.py"))
    idle = "  - {do: [{find: '*.md'}]}\n" * 10
    edit = "  - {do: [{edit: {path: b.py, old: 'b = 1', new: 'b = 2'}}]}\n"
    run = Run(project, f"turns:\n{reads}{idle}{edit}{idle}  - {{say: done}}\n", allowed_tools=("Edit",))
    text = (project / "a.py").read_text()
    acts: dict[int, Callable[[], object]] = {
        5: lambda: (project / "a.py").write_text(text.replace("a 7\n", "A 7\n")),
        16: (project / "c.py").touch,
    }
    result = await run.submit("Work.", stop_at=after_calls(acts))
    assert result.reason is EndReason.COMPLETED
    requests = compiled(run)
    counts = [request.body.count(SAID.encode()) for request in requests]
    assert counts == [0] * 5 + [1] * (len(requests) - 5), (
        "once, in the request right behind the change, and there it stays"
    )
    (note,) = [note for event in run.of(NotesCollected) for note in event.attachments]
    assert note.diff.count("\n") == 8
    for earlier, later in itertools.pairwise(requests):
        before = [chunk.data for chunk in earlier.message_chunks()]
        assert [chunk.data for chunk in later.message_chunks()][: len(before)] == before


@pytest.mark.req("R181", "R197", "R213")
async def test_what_is_stored_is_a_typed_record_without_markup(project: Path) -> None:
    """Collected, wrapped with an id and a time, stored, converted, sent: the tag is made for the request alone."""
    run = Run(project, "turns: [{say: ok}]")
    await run.submit("See @b.py")
    transcript = read_transcript(run.path)
    (entry,) = [entry for entry in transcript.entries if isinstance(entry, AttachmentEntry)]
    assert entry.uuid
    assert entry.time
    (line,) = [line for line in run.path.read_text().splitlines() if '"attachment"' in line.split(",")[0]]
    assert json.loads(line)["attachment"] == {
        "shape": "file",
        "kind": "file",
        "path": str(project / "b.py"),
        "text": "b = 1",
        "total": 1,
        "named": "@b.py",
    }
    assert "system-reminder" not in line
    assert b"<system-reminder>" in compiled(run)[0].body
    assert b"b = 1" in compiled(run)[0].body


@pytest.mark.req("R182", "R206", "R207", "R401")
async def test_each_request_journals_how_its_sources_stood(project: Path) -> None:
    run = Run(project, "turns:\n" + "  - {do: [{read: a.py}]}\n" * 3 + "  - {say: ok}\n")
    await run.submit("Go.")
    collected = run.of(NotesCollected)
    assert len(collected) == 4, "with the prompt, and after each of three batches"
    sends = [send.record for send in read_transcript(run.path).journal.sends]
    for event, record in zip(collected, sends, strict=True):
        assert isinstance(event, NotesCollected)
        assert record.gathered == event.gathered
        named = [one.name for one in record.gathered]
        assert {"date", "mentions", "memory", "changed files", "editor"} <= set(named)
        assert named.index("mentions") < named.index("changed files")
        assert {one.state for one in record.gathered} == {FactState.FRESH}


@pytest.mark.req("R208")
async def test_a_prompt_that_a_hook_refuses_collects_nothing(project: Path) -> None:
    folder = project.parent / "home/.claude"
    folder.mkdir(parents=True)
    hook = {"type": "command", "command": "echo no >&2; exit 2"}
    (folder / "settings.json").write_text(json.dumps({"hooks": {"UserPromptSubmit": [{"hooks": [hook]}]}}))
    run = Run(project, "turns: [{say: ok}]")
    result = await run.submit("See @b.py")
    assert result.reason is EndReason.HOOK_STOPPED
    assert [event for event in run.of(NotesCollected) if event.gathered] == []
    assert compiled(run) == []


@pytest.mark.req("R397")
async def test_a_mention_of_a_denied_file_reaches_no_request(project: Path) -> None:
    (project / ".env").write_text("KEY=abcdef\n")
    run = Run(project, "turns: [{say: ok}]", disallowed_tools=("Read(.env)",))
    await run.submit("What is in @.env and @./.env ?")
    assert b"abcdef" not in compiled(run)[0].body
    assert "abcdef" not in run.path.read_text()
    assert {note.code for event in run.of(NotesCollected) for note in event.diagnostics} == {"mention.held_back"}


@pytest.mark.req("R196", "R212")
async def test_a_picture_of_the_clipboard_goes_with_the_prompt(project: Path, tmp_path: Path) -> None:
    Image.new("RGB", (4, 4), "red").save(tmp_path / "p.png")
    picture = clipboard_image((tmp_path / "p.png").read_bytes())
    assert isinstance(picture, MediaAttachment)
    run = Run(project, "turns: [{say: red}]")
    await run.submit("Which color?", pictures=(picture,))
    (body,) = run.bodies()
    blocks = body["messages"][-1]["content"]
    assert [block["type"] for block in blocks].count("image") == 1
    (caption,) = [block["text"] for block in blocks if "this picture" in block.get("text", "")]
    assert caption.startswith("<system-reminder>"), "words are wrapped, the picture is not"


@pytest.mark.req("R183", "R199")
async def test_what_arrives_while_tools_run_comes_with_the_next_request_once(project: Path) -> None:
    """A task ends during a call: its word joins what the collection found, each under its own source."""
    run = Run(project, "turns:\n  - {do: [{read: b.py}]}\n  - {do: [{read: c.py}]}\n  - {say: ok}\n")
    (project / "CLAUDE.md").write_text("Be brief.\n")

    def arrives() -> None:
        assert run.agent is not None
        run.agent.receive("The build is done.", kind="task_status", origin=Origin.TASK_NOTIFICATION)
        (project / "CLAUDE.md").write_text("Be very brief.\n")

    await run.submit("Go.", stop_at=after_calls({1: arrives}))
    assert [request.body.count(b"The build is done.") for request in compiled(run)] == [0, 1, 1]
    entries = read_transcript(run.path).entries
    notes = [entry.attachment for entry in entries if isinstance(entry, AttachmentEntry)]
    assert [(note.kind, type(note).__name__) for note in notes] == [
        ("memory_update", "TextAttachment"),
        ("task_status", "QueuedInput"),
    ]
