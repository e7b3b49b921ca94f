"""What a compaction must not carry over its boundary, and what it must not touch (R315, R323, R403, R423)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from compositor.emulator.profile import ServiceProfile
from compositor.loop.effects import EndReason
from compositor.runtime.events import Compacted, CompactionProved, RequestStarted
from tests.runtime.long_run import WINDOW, LongRun, large, messages_text

pytestmark = pytest.mark.anyio

BINDING = ServiceProfile(window=WINDOW, binds_thinking=True, new_account=True, system_role=True)
SUMMARY = '  - {when: {text_contains: "<summary>"}, say: "<summary>One and two are read.</summary>"}\n'


def filled(folder: Path, turns: str, **more: object) -> LongRun:
    run = LongRun(folder, f"turns:\n{turns}summaries: []\n", **more)  # type: ignore[arg-type]
    for name in ("one", "two", "three", "four"):
        (run.project / f"{name}.txt").write_text(large(700, name))
    return run


@pytest.mark.req("R423")
async def test_thinking_does_not_cross_the_boundary_where_the_model_binds_it(tmp_path: Path) -> None:
    """The kept tail holds an answer with thinking that was signed over what is gone now: the service would refuse it (L78, L79)."""
    turns = (
        "  - {think: First I read., do: [{read: one.txt}]}\n"
        "  - {think: Then the second., do: [{read: two.txt}]}\n"
        "  - {think: And the third., do: [{read: three.txt}]}\n"
        f"{SUMMARY}"
        "  - {think: Now I know., do: [{find: '*.txt'}]}\n"
        "  - {say: They differ.}\n"
    )
    run = filled(tmp_path, turns, profile=BINDING, env={"ANTHROPIC_MODEL": "claude-opus-5-5"})
    async with run.opened() as agent:
        result = await agent.submit("Compare the files.")
    assert (result.reason, result.text) == (EndReason.COMPLETED, "They differ.")
    assert len(run.of(Compacted)) == 1
    assert {one.status for one in run.emulator.requests} == {200}
    bodies = run.bodies()
    before, first, second = bodies[-4], bodies[-2], bodies[-1]
    assert messages_text(before).count('"type":"thinking"') == 2
    assert messages_text(first).count('"type":"thinking"') == 0
    assert messages_text(second).count("Now I know.") == 1, "what was thought behind the boundary is replayed"
    omissions = [note for event in run.of(RequestStarted) for note in event.compiled.omissions if "R423" in note.reason]
    assert omissions, "what is left out is said"


@pytest.mark.req("R315")
async def test_nothing_on_the_disk_is_rolled_back(tmp_path: Path) -> None:
    turns = (
        "  - {do: [{read: one.txt}]}\n"
        "  - {do: [{edit: {path: one.txt, old: 'one line 3 of', new: 'ONE LINE 3 of'}}]}\n"
        "  - {do: [{read: two.txt}]}\n  - {do: [{read: three.txt}]}\n"
        f"{SUMMARY}  - {{say: Done.}}\n"
    )
    run = filled(tmp_path, turns)
    seen: list[str] = []
    run.listeners.append(
        lambda event: seen.append((run.project / "one.txt").read_text()) if isinstance(event, Compacted) else None
    )
    async with run.opened() as agent:
        await agent.submit("Edit and compare.")
    (at_compaction,) = seen
    assert "ONE LINE 3 of" in at_compaction
    assert (run.project / "one.txt").read_text() == at_compaction


@pytest.mark.req("R323")
async def test_the_hook_behind_a_compaction_speaks_to_the_person_only(tmp_path: Path) -> None:
    run = filled(
        tmp_path,
        "".join(f"  - {{do: [{{read: {name}.txt}}]}}\n" for name in ("one", "two", "three"))
        + f"{SUMMARY}  - {{say: Done.}}\n",
    )
    settings = tmp_path / "home/.claude"
    settings.mkdir(parents=True)
    mark = tmp_path / "order.txt"
    command = f"cat >/dev/null; echo post >> {mark}; echo FOR-THE-PERSON"
    hooks = {"PostCompact": [{"hooks": [{"type": "command", "command": command}]}]}
    (settings / "settings.json").write_text(json.dumps({"hooks": hooks}))
    async with run.opened() as agent:
        await agent.submit("Compare.")
    assert mark.read_text() == "post\n"
    assert len(run.of(Compacted)) == 1
    assert not any("FOR-THE-PERSON" in messages_text(body) for body in run.bodies())
    assert "FOR-THE-PERSON" not in run.path.read_text()


@pytest.mark.req("R403")
async def test_each_owner_hands_over_its_part_and_what_is_lost_is_listed(tmp_path: Path) -> None:
    """No promise of every word: what stands is told anew by its owner, and the report says what of it is in the bytes."""
    run = filled(
        tmp_path,
        "".join(f"  - {{do: [{{read: {name}.txt}}]}}\n" for name in ("one", "two", "three"))
        + f"{SUMMARY}  - {{say: Done.}}\n",
    )
    (run.project / "CLAUDE.md").write_text("# Rules\n\nNever add co-author lines.\n")
    async with run.opened() as agent:
        await agent.submit("Compare.")
    (proved,) = run.of(CompactionProved)
    kinds = {one.kind.value for one in proved.report.present}
    assert {"rule", "file"} <= kinds
    last = messages_text(run.bodies()[-1])
    assert "Never add co-author lines." in last
    assert all(one.name in last or one.name in json.dumps(run.bodies()[-1]) for one in proved.report.present)
