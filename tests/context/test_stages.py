"""The nine steps of a request happen in their order, and markers come last (R001, R253): a real run, traced."""

from __future__ import annotations

import sys
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from compositor.adapters.sessions.jsonl import JsonlSession
from compositor.config.flags import Flags
from compositor.context.compile import STAGES
from compositor.context.transcript.codec import SessionHeader
from compositor.loop.session import Stamp, compile_next, prompt_entry, record
from compositor.opened import Opening, open_session
from compositor.types.attachments import TextAttachment
from compositor.types.entries import AttachmentEntry
from tests.properties.strategies import TIME


@pytest.mark.req("R001", "R253")
def test_a_real_request_takes_the_nine_steps_in_order(tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path), "COMPOSITOR_HOME": str(tmp_path / "state")}
    project = tmp_path / "project"
    project.mkdir()
    (project / "CLAUDE.md").write_text("Be brief.\n")
    header = SessionHeader(session_id="5e551011-0000-4000-8000-000000000000", time=TIME, cwd=str(project.resolve()))
    prompt = prompt_entry("hi", stamp=Stamp("u1", TIME), parent=None)
    note = AttachmentEntry(uuid="n1", parent="u1", time=TIME, attachment=TextAttachment(kind="note", text="news"))
    with JsonlSession.open(tmp_path / "state", header) as store:
        store.append([prompt, note])
    owners = {f"compositor.{stage.owner}": stage.name for stage in STAGES}
    calls: list[str] = []

    def trace(frame: FrameType, event: str, _argument: Any) -> None:
        if event == "call":
            name = owners.get(f"{frame.f_globals.get('__name__')}:{frame.f_code.co_name}")
            if name is not None:
                calls.append(name)

    sys.setprofile(trace)
    try:
        opening = Opening(flags=Flags(), project=str(project), environ=environ, resume=header.session_id)
        opened = open_session(opening)
        question = prompt_entry("and?", stamp=Stamp("u2", TIME), parent="n1")
        compile_next(record(opened.conversation, (question,)))
    finally:
        sys.setprofile(None)
    assert list(dict.fromkeys(calls)) == [stage.name for stage in STAGES]
    assert calls[-1] == "cache markers"
    assert calls.count("cache markers") == 1
