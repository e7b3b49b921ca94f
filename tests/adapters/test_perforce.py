"""Perforce, by a stand-in for its program; and the outline of a directory."""

from __future__ import annotations

import random
import subprocess
from pathlib import Path

import pytest

from compositor.adapters.perforce import read_perforce
from compositor.context.prompt.system_context import (
    OUTLINE_LIMIT,
    PerforceStatus,
    make_outline,
    plan_system_context,
    render_system_context,
)

P4 = """#!/bin/sh
case "$1" in
  -ztag) echo "... userName anna"; echo "... clientName anna-main"; echo "... clientStream //depot/main";;
  opened) echo "//depot/main/b.c#3 - edit default change (text)"; echo "//depot/main/a.c#1 - add default change (text)";;
esac
"""


def program(folder: Path, text: str) -> dict[str, str]:
    folder.mkdir()
    file = folder / "p4"
    file.write_text(text)
    file.chmod(0o755)
    return {"PATH": f"{folder}:/usr/bin:/bin"}


@pytest.fixture
def on_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    environ = program(tmp_path / "bin", P4)
    monkeypatch.setenv("PATH", environ["PATH"])
    return environ


@pytest.mark.req("R099")
def test_client_stream_and_opened_files(tmp_path: Path, on_path: dict[str, str]) -> None:
    status, notes = read_perforce(str(tmp_path), on_path)
    assert notes == ()
    assert status == PerforceStatus(
        client="anna-main",
        stream="//depot/main",
        opened=(
            "//depot/main/a.c#1 - add default change (text)",
            "//depot/main/b.c#3 - edit default change (text)",
        ),
    )
    text = "".join(f.text for f in render_system_context(plan_system_context(None, "2026-01-31", status)))
    assert text.startswith(
        "perforce_status: The Perforce workspace as it was at the start of this session (2026-01-31)"
    )
    assert "Client: anna-main, stream //depot/main" in text


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("#!/bin/sh\necho 'Connect to server failed' >&2; exit 1\n", "Connect to server failed"),
        ("#!/bin/sh\nsleep 30\n", "it took too long"),
    ],
)
def test_what_is_missing_is_told(tmp_path: Path, text: str, reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
    environ = program(tmp_path / "bin", text)
    monkeypatch.setenv("PATH", environ["PATH"])
    status, notes = read_perforce(str(tmp_path), environ, timeout=0.5)
    assert status is None
    assert reason in notes[0].message


@pytest.mark.req("R418")
def test_an_outline_is_bounded_and_the_same_in_any_order() -> None:
    names = [f"file{number:04}" for number in range(1_000)] + ["src/"]
    outlines = set()
    for seed in range(20):
        random.Random(seed).shuffle(names)
        outlines.add(make_outline(names))
    (outline,) = outlines
    assert (len(outline.names), outline.more) == (OUTLINE_LIMIT, 801)
    text = "".join(f.text for f in render_system_context(plan_system_context(None, "2026-01-31", None, outline)))
    assert text.endswith("... and 801 more (cut at 200 names)")


@pytest.mark.req("R418")
def test_the_outline_of_a_project_respects_what_git_ignores(tmp_path: Path) -> None:
    from compositor.adapters.surroundings import top_level

    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    (tmp_path / ".gitignore").write_text("build/\n*.log\n")
    for name in ("build", "src"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "x").write_text("")
    (tmp_path / "a.log").write_text("")
    (tmp_path / "README").write_text("")
    assert set(top_level(str(tmp_path), {"PATH": "/usr/bin:/bin"})) == {".gitignore", "README", "src/"}
