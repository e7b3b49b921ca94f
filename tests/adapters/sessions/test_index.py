"""The list of sessions, from the ends of their files."""

import stat
from pathlib import Path

import msgspec
import pytest

from compositor.adapters.sessions import index
from compositor.adapters.sessions.index import latest_session, list_sessions
from compositor.adapters.sessions.jsonl import JsonlSession
from compositor.context.transcript.codec import SessionHeader
from compositor.types.attachments import QueuedInput
from compositor.types.blocks import TextBlock, ToolResultBlock
from compositor.types.entries import AttachmentEntry, UserEntry
from compositor.types.origin import Origin


def user(uuid: str, minute: int, text: str, *, meta: bool = False) -> UserEntry:
    time = f"2026-01-01T00:{minute:02}:00.000Z"
    return UserEntry(uuid=uuid, parent=None, time=time, content=(TextBlock(text),), is_meta=meta)


def store(home: Path, session_id: str, cwd: str, *entries: UserEntry | AttachmentEntry) -> Path:
    header = SessionHeader(session_id=session_id, time="2026-01-01T00:00:00.000Z", cwd=cwd)
    with JsonlSession.open(home, header) as session:
        session.append(entries)
        return Path(session.path)


def test_what_a_person_needs_to_choose_a_session(tmp_path: Path) -> None:
    result = UserEntry(uuid="r", parent="2", time="2026-01-01T00:03:00.000Z", content=(ToolResultBlock("t", "x"),))
    path = store(
        tmp_path,
        "s1",
        "/p",
        user("0", 1, "<reminder>", meta=True),
        user("1", 1, "  fix the test\nplease"),
        result,
        user("2", 4, "thanks"),
    )
    (info,) = list_sessions(tmp_path, cwd="/p")
    assert (info.session_id, info.project, info.path, info.size) == ("s1", "/p", str(path), path.stat().st_size)
    assert (info.started, info.updated) == ("2026-01-01T00:00:00.000Z", "2026-01-01T00:04:00.000Z")
    assert (info.prompt, info.turns) == ("fix the test", 2)


@pytest.mark.req("R215", "R216")
def test_prompts_are_counted_as_everywhere_else(tmp_path: Path) -> None:
    """What a person says while the agent is busy is a prompt; another agent's words and the output of a command are none."""
    said = QueuedInput(kind="queued_command", text="and the docs\nplease", origin=Origin.HUMAN)
    queued = AttachmentEntry(uuid="1", parent=None, time="2026-01-01T00:01:00.000Z", attachment=said)
    other = msgspec.structs.replace(queued, uuid="2", attachment=msgspec.structs.replace(said, origin=Origin.PEER))
    command = user("3", 3, "<command-name>/cost</command-name>")
    store(tmp_path, "s1", "/p", command, other, queued, user("4", 4, "thanks"))
    (info,) = list_sessions(tmp_path)
    assert (info.prompt, info.turns) == ("and the docs", 2)


def test_newest_first_and_by_project(tmp_path: Path) -> None:
    store(tmp_path, "old", "/p", user("1", 1, "a"))
    store(tmp_path, "new", "/p", user("1", 9, "b"))
    store(tmp_path, "other", "/q", user("1", 5, "c"))
    assert [info.session_id for info in list_sessions(tmp_path, cwd="/p")] == ["new", "old"]
    assert [info.session_id for info in list_sessions(tmp_path)] == ["new", "other", "old"]
    latest = latest_session(tmp_path, cwd="/p")
    assert latest is not None
    assert latest.session_id == "new"
    assert latest_session(tmp_path, cwd="/nowhere") is None


def test_a_long_session_is_known_by_its_ends(tmp_path: Path) -> None:
    filler = [user(f"f{n}", 2, "x" * 1000) for n in range(400)]
    path = store(tmp_path, "s1", "/p", user("1", 1, "first"), *filler, user("2", 7, "last"))
    assert path.stat().st_size > 2 * index.WINDOW
    (info,) = list_sessions(tmp_path)
    assert (info.prompt, info.turns, info.updated) == ("first", None, "2026-01-01T00:07:00.000Z")


def test_only_the_ends_of_a_long_file_are_read(tmp_path: Path) -> None:
    """A file of holes: reading it whole would take eight gigabytes."""
    path = store(tmp_path, "s1", "/p", user("1", 1, "first"))
    with path.open("r+b") as file:
        file.truncate(8 << 30)
    (info,) = list_sessions(tmp_path)
    assert (info.prompt, info.size) == ("first", 8 << 30)


def test_empty_and_damaged_files_do_not_disturb_the_list(tmp_path: Path) -> None:
    path = store(tmp_path, "s1", "/p", user("1", 1, "good"))
    path.with_name("empty.jsonl").touch()
    path.with_name("noise.jsonl").write_bytes(b"\0" * 500 + b"\nnot json\n")
    with path.open("ab") as file:
        file.write(b'{"type":"user","to')
    assert [(info.session_id, info.prompt) for info in list_sessions(tmp_path)] == [("s1", "good")]


def test_a_file_that_cannot_be_read_is_left_out(tmp_path: Path) -> None:
    path = store(tmp_path, "s1", "/p", user("1", 1, "good"))
    path.with_name("gone.jsonl").symlink_to(path.with_name("nowhere"))
    assert [info.session_id for info in list_sessions(tmp_path)] == ["s1"]


def test_a_home_that_does_not_exist_has_no_sessions(tmp_path: Path) -> None:
    assert list_sessions(tmp_path / "none") == ()
    assert list_sessions(tmp_path / "none", cwd="/p") == ()


# --- the index


def index_of(path: Path) -> Path:
    return path.parent / index.INDEX_NAME


def test_an_unchanged_session_is_not_opened_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = store(tmp_path, "s1", "/p", user("1", 1, "hello"))
    first = list_sessions(tmp_path)
    assert stat.S_IMODE(index_of(path).stat().st_mode) == 0o600
    opened: list[Path] = []
    real = index._ends
    monkeypatch.setattr(index, "_ends", lambda one: (opened.append(one), real(one))[1])
    assert list_sessions(tmp_path) == first
    assert opened == []
    store(tmp_path, "s2", "/p", user("1", 2, "more"))
    assert [info.session_id for info in list_sessions(tmp_path)] == ["s2", "s1"]
    assert [one.name for one in opened] == ["s2.jsonl"]


def test_a_session_that_grew_is_read_anew_and_one_that_is_gone_leaves_the_list(tmp_path: Path) -> None:
    path = store(tmp_path, "s1", "/p", user("1", 1, "hello"))
    gone = store(tmp_path, "s2", "/p", user("1", 1, "hello"))
    assert len(list_sessions(tmp_path)) == 2
    gone.unlink()
    store(tmp_path, "s1", "/p", user("2", 9, "again"))
    (info,) = list_sessions(tmp_path)
    assert (info.path, info.turns, info.updated[14:16]) == (str(path), 2, "09")


@pytest.mark.parametrize("damage", [b"", b"\0\0", b'{"version":99,"rows":{}}', b'{"version":1,"rows":[]}'])
def test_a_damaged_index_is_built_anew(tmp_path: Path, damage: bytes) -> None:
    path = store(tmp_path, "s1", "/p", user("1", 1, "hello"))
    first = list_sessions(tmp_path)
    good = index_of(path).read_bytes()
    index_of(path).write_bytes(damage)
    assert list_sessions(tmp_path) == first
    assert index_of(path).read_bytes() == good


def test_what_a_machine_said_is_no_prompt(tmp_path: Path) -> None:
    told = UserEntry(
        uuid="0", parent=None, time="t", content=(TextBlock("task done"),), origin=Origin.TASK_NOTIFICATION
    )
    store(tmp_path, "s1", "/p", told, user("1", 1, "hello"))
    (info,) = list_sessions(tmp_path)
    assert (info.prompt, info.turns) == ("hello", 1)
