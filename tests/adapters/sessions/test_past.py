"""Which conversation a run goes on from, and in which file."""

from __future__ import annotations

from pathlib import Path

import pytest

from compositor.adapters.sessions.jsonl import JsonlSession
from compositor.adapters.sessions.past import Past, find_past
from compositor.context.transcript.codec import SessionHeader
from compositor.errors import TranscriptError
from compositor.types.blocks import TextBlock
from compositor.types.entries import UserEntry


def store(home: Path, session_id: str, cwd: str, minute: int = 1) -> Path:
    time = f"2026-01-01T00:{minute:02}:00.000Z"
    with JsonlSession.open(home, SessionHeader(session_id=session_id, time=time, cwd=cwd)) as session:
        session.append([UserEntry(uuid="u1", parent=None, time=time, content=(TextBlock("hi"),))])
        return Path(session.path)


def past(home: Path, cwd: str = "/p", **asked: object) -> Past:
    found = find_past(home, cwd, **{"resume": None, "continues": False, "transcript": None, **asked})  # type: ignore[arg-type]
    assert found is not None
    return found


def test_a_new_session_has_no_past(tmp_path: Path) -> None:
    assert find_past(tmp_path, "/p", resume=None, continues=False, transcript=None) is None


def test_a_stored_session_goes_on_in_its_file(tmp_path: Path) -> None:
    path = store(tmp_path, "s1", "/p")
    for asked in ({"resume": "s1"}, {"continues": True}, {"resume": str(path)}):
        found = past(tmp_path, **asked)
        assert found.own is not None
        assert (found.own.session_id, found.path, found.copied) == ("s1", str(path), ())


def test_a_session_of_another_project_goes_on_there(tmp_path: Path) -> None:
    store(tmp_path, "s1", "/elsewhere")
    found = past(tmp_path, resume="s1")
    assert found.own is not None
    assert found.own.cwd == "/elsewhere"


def test_continue_takes_the_newest_of_the_project(tmp_path: Path) -> None:
    store(tmp_path, "old", "/p", 1)
    store(tmp_path, "new", "/p", 2)
    store(tmp_path, "other", "/q", 3)
    assert Path(past(tmp_path, continues=True).path).stem == "new"
    with pytest.raises(TranscriptError, match="no session here"):
        find_past(tmp_path, "/none", resume=None, continues=True, transcript=None)


def test_a_session_whose_first_line_is_damaged_is_still_itself(tmp_path: Path) -> None:
    path = store(tmp_path, "s1", "/p")
    first, rest = path.read_bytes().split(b"\n", 1)
    path.write_bytes(b"\0" * len(first) + b"\n" + rest)
    found = past(tmp_path, resume="s1")
    assert found.own is not None
    assert found.own.session_id == "s1"
    assert len(found.history.damaged) == 1


@pytest.mark.req("R149")
def test_a_session_of_ours_from_elsewhere_is_copied(tmp_path: Path) -> None:
    path = store(tmp_path / "home", "s1", "/p")
    moved = tmp_path / "moved.jsonl"
    path.rename(moved)
    found = past(tmp_path / "home", resume=str(moved))
    assert found.own is None
    assert [getattr(entry, "uuid", "") for entry in found.copied] == ["u1"]
    assert "copied into a session of its own" in found.history.diagnostics[-1].message


def test_a_transcript_is_only_looked_at(tmp_path: Path) -> None:
    path = store(tmp_path, "s1", "/p")
    found = past(tmp_path, transcript=str(path))
    assert (found.own, found.copied, found.path) == (None, (), str(path))
