"""The memory of a session: a fork that edits one file in the background, and a compaction that needs no model (R328 to R336)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from compositor.context.compaction.session_memory import SECTIONS
from compositor.context.prefix import empty_prefix
from compositor.emulator.profile import ServiceProfile
from compositor.loop.session import Conversation, Stamp
from compositor.runtime import memory_keeper
from compositor.runtime.events import Compacted, NotesCollected
from compositor.types.snapshot import Facts
from tests.context.compaction.test_cut import asks, gives
from tests.properties.building import HEAD, OPTIONS, WIRE
from tests.properties.strategies import MODEL
from tests.runtime.long_run import LongRun, large, messages_text

pytestmark = pytest.mark.anyio


def prepared(folder: Path, *helper: str) -> LongRun:
    """Three reads, then an answer; `helper` are the turns of the memory helper, which begins behind the third read."""
    reads = "".join(f"  - {{do: [{{read: {name}.txt}}]}}\n" for name in ("one", "two", "three"))
    turns = "".join(f"  - {turn}\n" for turn in helper)
    run = LongRun(
        folder,
        f"turns:\n{reads}{turns}",
        profile=ServiceProfile(window=200_000),
        env={"CLAUDE_CODE_MAX_CONTEXT_TOKENS": "200000"},
    )
    for name in ("one", "two", "three"):
        (run.project / f"{name}.txt").write_text(large(500, name))
    settings = run.project / ".claude"
    settings.mkdir()
    (settings / "settings.json").write_text(json.dumps({"compositor": {"sessionMemory": True}}))
    return run


def notes(run: LongRun) -> Path:
    (file,) = Path(run.environ["COMPOSITOR_HOME"], "session-memory").glob("*.md")
    return file


def files(run: LongRun) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in run.project.iterdir() if path.is_file()}


def logged(run: LongRun) -> str:
    return "".join(
        path.read_text()
        for path in Path(run.environ["COMPOSITOR_HOME"]).rglob("*")
        if "audit" in str(path) and path.is_file()
    )


def put_in_the_way(run: LongRun) -> None:
    folder = Path(run.environ["COMPOSITOR_HOME"], "session-memory")
    folder.rmdir()
    folder.write_text("in the way")


@pytest.mark.req("R025", "R328", "R329", "R331", "R335")
async def test_a_due_extraction_edits_the_one_file_and_nothing_else(tmp_path: Path) -> None:
    run = prepared(tmp_path, "{say: Read.}", "{say: Noted.}", "{say: Nothing more.}")
    async with run.opened(with_services=True) as agent:
        await agent.submit("Compare the files.")
        await agent.settle()
    file = notes(run)
    assert file.stat().st_mode & 0o077 == 0
    assert file.read_text().count("# ") == len(SECTIONS)
    asked = [body for body in run.bodies() if "Bring the notes of this session up to date" in messages_text(body)]
    assert len(asked) == 1
    # The fork has the tools, the system prompt and the messages of the session (R025).
    main = run.bodies()[2]
    assert (asked[0]["tools"], asked[0]["system"]) == (main["tools"], main["system"])


@pytest.mark.req("R330")
async def test_a_disobedient_helper_changes_nothing_else(tmp_path: Path) -> None:
    wrong = (
        "{do: [{write: {path: made.txt, content: x}}, {run: touch made}, {edit: {path: one.txt, old: one, new: two}}]}"
    )
    run = prepared(tmp_path, "{say: Read.}", wrong, "{say: I stop.}")
    before = files(run)
    async with run.opened(with_services=True) as agent:
        await agent.submit("Compare the files.")
        await agent.settle()
    assert files(run) == before
    assert logged(run).count("this helper may use Edit and nothing else") == 2
    assert "this helper may change" in logged(run)


@pytest.mark.req("R336")
async def test_a_helper_that_fails_disturbs_nothing(tmp_path: Path) -> None:
    run = prepared(tmp_path, "{say: Read.}", "{say: Still here.}")
    async with run.opened(with_services=True) as agent:
        put_in_the_way(run)
        result = await agent.submit("Compare the files.")
        await agent.settle()
        assert result.text == "Read."
        assert (await agent.submit("Are you there?")).text == "Still here."
    said = [note.message for event in run.of(NotesCollected) for note in event.diagnostics]
    assert any("memory was not brought up to date" in message for message in said)


@pytest.mark.req("R334")
async def test_a_compaction_takes_the_memory_without_a_model_call(tmp_path: Path) -> None:
    run = prepared(tmp_path, "{say: Read.}", "{say: Noted.}", "{say: Go on.}")
    async with run.opened(with_services=True) as agent:
        await agent.submit("Compare the files.")
        await agent.settle()
        file = notes(run)
        file.write_text(file.read_text().replace("# Task\n", "# Task\nCompare one, two and three.\n"))
        requests = len(run.emulator.requests)
        done = await agent.compact()
        assert len(run.emulator.requests) == requests
        assert done is not None
        assert done.method == "session memory"
        await agent.submit("Go on.")
    assert "Compare one, two and three." in messages_text(run.bodies()[-1])
    assert len(run.of(Compacted)) == 1


@pytest.mark.req("R331", "R332")
async def test_one_extraction_at_a_time_and_nobody_waits_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_keeper, "WAIT_SECONDS", 0.02)
    started: list[object] = []
    keeper = memory_keeper.MemoryKeeper(
        memory_keeper.Keeping(
            line=None,  # type: ignore[arg-type]  # nothing is run here
            file=None,  # type: ignore[arg-type]
            spawn=started.append,
            stamp=lambda: Stamp("u", ""),
            watch=lambda _event: None,
            note=lambda _call, _allowed, _reason: None,
        )
    )
    enough = [asks("a", "t1", "t2", "t3"), gives("r", "t1", "t2", "t3", text="data " * 20_000)]
    conversation = Conversation(prefix=empty_prefix(HEAD, Facts(model=MODEL), WIRE), options=OPTIONS)
    for _ in range(3):
        keeper.saw(enough)
        keeper.consider(conversation)
    assert len(started) == 1
    await keeper.settle()
