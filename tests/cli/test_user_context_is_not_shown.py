"""The message with the instruction files is for the model: a person sees it where the request is explained, and nowhere else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.program import HELLO, script


@pytest.mark.req("R103")
def test_the_user_context_is_sent_and_not_shown(call: Any, home: Path, project: Path) -> None:
    (project / "CLAUDE.md").write_text("Speak of the purple heron.\n")
    ended = call("run", "--offline", script(home, HELLO), "Hi.")
    assert ended.code == 0
    assert "purple heron" not in ended.out + ended.err
    (body,) = (json.loads(path.read_text()) for path in (home / "state" / "requests").rglob("*.json"))
    assert "purple heron" in json.dumps(body["messages"][0])
    (session,) = (path.stem for path in (home / "state" / "sessions").rglob("*.jsonl"))
    assert "purple heron" not in call("sessions", "show", session).out
