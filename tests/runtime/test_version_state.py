"""The state of version control behind the user context, so that another state costs a new session nothing in front of it (R091)."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.runtime.long_run import LongRun, messages_text

pytestmark = pytest.mark.anyio

SAYS = "turns:\n" + "".join(f"  - {{say: Answer {number}.}}\n" for number in range(6))


def branch(folder: Path, name: str) -> None:
    author = ["-c", "user.name=a", "-c", "user.email=a@b"]
    if not (folder / ".git").exists():
        subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
        subprocess.run(["git", *author, "commit", "-q", "--allow-empty", "-m", "x"], cwd=folder, check=True)
    subprocess.run(["git", "switch", "-q", "-c", name], cwd=folder, check=True)


@pytest.mark.req("R091", "R092")
async def test_two_sessions_on_two_branches_share_everything_up_to_the_user_context(tmp_path: Path) -> None:
    run = LongRun(tmp_path, SAYS)
    (run.project / "CLAUDE.md").write_text("Be brief.\n" * 400)
    (run.project / ".claude").mkdir()
    (run.project / ".claude" / "settings.json").write_text(json.dumps({"compositor": {"versionState": "message"}}))
    for name in ("one", "two"):
        branch(run.project, name)
        run.session_id = None
        async with run.opened() as agent:
            await agent.submit("Hello.")
    first, second = run.bodies()
    assert (first["tools"], first["system"]) == (second["tools"], second["system"])
    assert first["messages"][0] == second["messages"][0]
    assert "Current branch: one" in messages_text(first)
    assert "Current branch: two" in messages_text(second)
    assert "git_status" not in json.dumps(first["system"])
    used = run.emulator.requests[-1].use
    assert used.read > used.written_5m + used.written_1h + used.fresh


@pytest.mark.req("R091", "R346")
async def test_it_is_told_once_and_again_behind_a_compaction(tmp_path: Path) -> None:
    run = LongRun(tmp_path, SAYS)
    (run.project / ".claude").mkdir()
    (run.project / ".claude" / "settings.json").write_text(json.dumps({"compositor": {"versionState": "message"}}))
    branch(run.project, "one")
    async with run.opened() as agent:
        await agent.submit("Hello.")
        await agent.submit("Again.")
        await agent.compact()
        await agent.submit("Go on.")
    counts = [messages_text(body).count("Current branch: one") for body in run.bodies()]
    assert counts == [1, 1, 1, 1]
