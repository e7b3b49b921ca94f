"""What may vary the sections is a declared change of the prefix, and the report names it (R032)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from compositor.config.flags import Flags
from compositor.context.explain import first_difference
from compositor.loop.session import Stamp, compile_next, prompt_entry, record
from compositor.opened import Opening, open_session
from compositor.types.request import Compiled


def compiled(folder: Path, settings: dict[str, Any], **flags: Any) -> Compiled:
    (folder / ".claude").mkdir(exist_ok=True)
    (folder / ".claude" / "settings.json").write_text(json.dumps(settings))
    environ = {"HOME": str(folder), "COMPOSITOR_HOME": str(folder / "state"), "PATH": "/usr/bin:/bin"}
    conversation = open_session(Opening(flags=Flags(**flags), project=str(folder), environ=environ)).conversation
    prompt = prompt_entry("hi", stamp=Stamp("u", "2026-01-01T00:00:00.000Z"), parent=None)
    return compile_next(record(conversation, [prompt]))


@pytest.mark.req("R032", "R093")
@pytest.mark.parametrize(
    ("settings", "flags", "named"),
    [
        ({}, {"model": "claude-opus-4-6"}, "env_info"),
        ({"compositor": {"autonomous": True}}, {}, "autonomous"),
        ({"compositor": {"minimal": True}}, {}, "minimal"),
        ({}, {"tools": ("Read", "Grep")}, "tool"),
    ],
)
def test_each_input_changed_alone_is_named(
    tmp_path: Path, settings: dict[str, Any], flags: dict[str, Any], named: str
) -> None:
    before, after = compiled(tmp_path, {}), compiled(tmp_path, settings, **flags)
    difference = first_difference(before, after)
    assert difference is not None
    assert named in difference.cause
    assert first_difference(before, compiled(tmp_path, {})) is None
