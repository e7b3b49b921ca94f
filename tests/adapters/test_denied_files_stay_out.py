"""What a rule denies reading reaches no request, also where an instruction file names it (R397)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from compositor.config.flags import Flags
from compositor.loop.session import Stamp, compile_next, prompt_entry, record
from compositor.opened import Opened, Opening, open_session


def opened(folder: Path, deny: list[str]) -> Opened:
    project = folder / "p"
    (project / ".claude").mkdir(parents=True)
    (project / ".claude" / "settings.json").write_text(json.dumps({"permissions": {"deny": deny}}))
    (project / "secret.txt").write_text("the heron flies at nine\n")
    (project / "link.md").symlink_to("secret.txt")
    (project / "open.txt").write_text("harmless words\n")
    (project / "CLAUDE.md").write_text("See @secret.txt and @link.md and @open.txt.\n")
    environ = {"HOME": str(folder / "home"), "COMPOSITOR_HOME": str(folder / "state"), "PATH": "/usr/bin:/bin"}
    return open_session(Opening(flags=Flags(), project=str(project), environ=environ))


def body(given: Opened) -> str:
    prompt = prompt_entry("hi", stamp=Stamp("u", "2026-01-01T00:00:00.000Z"), parent=None)
    return compile_next(record(given.conversation, [prompt])).body.decode()


@pytest.mark.req("R397")
@pytest.mark.parametrize("rule", ["Read(./secret.txt)", "Read(secret.txt)", "Read(/secret.txt)", "Read"])
def test_a_denied_file_is_not_imported_and_that_is_told(rule: str, tmp_path: Path) -> None:
    given = opened(tmp_path, [rule])
    assert "heron" not in body(given)
    if rule != "Read":
        assert "harmless words" in body(given)
        assert any("denies reading" in note.message for note in given.diagnostics)


def test_without_a_rule_it_is_imported(tmp_path: Path) -> None:
    assert "heron" in body(opened(tmp_path, ["Read(./other.txt)"]))
