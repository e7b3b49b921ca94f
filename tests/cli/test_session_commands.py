"""`compositor sessions show|check|fork|rewind|export|gc`, on stored sessions."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from compositor.adapters.checkpoints import FileHistory
from compositor.adapters.clock import clock_from
from compositor.adapters.sessions.heads import HeadStore
from compositor.adapters.sessions.index import list_sessions
from compositor.adapters.sessions.jsonl import JsonlSession
from compositor.adapters.sessions.reading import read_history, read_transcript
from compositor.cli.main import run_command
from compositor.cli.sessions import command
from compositor.context.head import compile_head
from compositor.context.transcript.codec import SessionHeader
from compositor.errors import SessionBusyError, TranscriptError, UsageError
from compositor.types.blocks import TextBlock
from compositor.types.entries import AssistantEntry, UserEntry
from compositor.types.provenance import Attribution, Fragment, Lane, Lifetime, Source
from compositor.types.request import HeadParts

ORIGIN = Attribution(Source("section", "identity"), Lane.SYSTEM, Lifetime.RELEASE)


def time(minute: int) -> str:
    return f"2026-01-01T10:{minute:02}:00.000Z"


def said(uuid: str, parent: str | None, minute: int, text: str) -> UserEntry:
    return UserEntry(uuid=uuid, parent=parent, time=time(minute), content=(TextBlock(text),))


def answered(uuid: str, parent: str, minute: int, text: str) -> AssistantEntry:
    return AssistantEntry(
        uuid=uuid,
        parent=parent,
        time=time(minute),
        message_id=f"m-{uuid}",
        model="claude-x",
        content=(TextBlock(text),),
        stop_reason="end_turn",
    )


TURNS = (
    said("u1", None, 1, "first question"),
    answered("a1", "u1", 2, "first answer"),
    said("u2", "a1", 3, "second question"),
    answered("a2", "u2", 4, "second answer"),
)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("COMPOSITOR_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "home"


@pytest.fixture
def session(home: Path, tmp_path: Path) -> Path:
    header = SessionHeader(session_id="s1", time=time(0), cwd=str(tmp_path))
    with JsonlSession.open(home, header) as store:
        store.append(TURNS)
        return Path(store.path)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(command, list(arguments), catch_exceptions=True)


def path_ids(path: Path) -> list[str]:
    return [entry.uuid for entry in read_history(path).path.entries]


def test_show_reads_like_the_conversation(session: Path) -> None:
    shown = run("show", "s1")
    assert shown.exit_code == 0
    assert [line.split(maxsplit=3)[2:] for line in shown.stdout.splitlines()[2:]] == [
        ["user", "first question"],
        ["assistant", "first answer"],
        ["user", "second question"],
        ["assistant", "second answer"],
    ]
    data = json.loads(run("show", "s1", "--json").stdout)
    assert [one["id"] for one in data["entries"]] == ["u1", "a1", "u2", "a2"]
    assert [one["id"] for one in json.loads(run("show", "s1", "--json", "--at", "a1").stdout)["entries"]] == [
        "u1",
        "a1",
    ]


def test_a_sound_session_checks_out(session: Path) -> None:
    checked = run("check", "s1")
    assert (checked.exit_code, checked.stdout.splitlines()[-1]) == (0, "Nothing is wrong with it.")


@pytest.mark.req("R158")
def test_a_damaged_session_does_not(session: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with session.open("ab") as file:
        file.write(b"\0" * 300 + b"\n")
    assert run_command(command, ["check", "s1"]) == 1
    assert "1 damaged line skipped" in capsys.readouterr().out


@pytest.mark.req("R149")
def test_a_rewind_keeps_the_history_and_goes_on_from_there(session: Path, home: Path, tmp_path: Path) -> None:
    before = session.read_bytes()
    assert run("rewind", "s1", "--to", "a1").exit_code == 0
    assert session.read_bytes().startswith(before)
    assert path_ids(session) == ["u1", "a1"]
    with JsonlSession.open(home, SessionHeader(session_id="s1", time="t", cwd=str(tmp_path))) as store:
        store.append([said("u3", "a1", 5, "another second question")])
    assert path_ids(session) == ["u1", "a1", "u3"]
    assert [branch.leaf for branch in read_history(session).path.branches] == ["a2"]
    run("rewind", "s1", "--to", "a2")
    assert path_ids(session) == ["u1", "a1", "u2", "a2"]


@pytest.mark.req("R149")
def test_undo_takes_the_last_turn_back_until_none_is_left(session: Path) -> None:
    assert run("rewind", "s1", "--undo").exit_code == 0
    assert path_ids(session) == ["u1", "a1"]
    assert run("rewind", "s1", "--undo").exit_code == 0
    assert path_ids(session) == []
    assert isinstance(run("rewind", "s1", "--undo").exception, TranscriptError)


def test_files_go_back_with_the_conversation_or_alone(session: Path, home: Path, tmp_path: Path) -> None:
    history = FileHistory(home, "s1", clock_from({}))
    file = tmp_path / "notes.txt"
    for prompt, text in (("u1", "one"), ("u2", "two")):
        history.follow(lambda prompt=prompt: prompt)  # type: ignore[misc]
        history.keep([str(file)])
        file.write_text(text)
    assert run("rewind", "s1", "--undo", "--preview").output == f"restore  {file}\n"
    assert file.read_text() == "two"
    run("rewind", "s1", "--to", "a1", "--restore", "files")
    assert (file.read_text(), path_ids(session)) == ("one", ["u1", "a1", "u2", "a2"])
    run("rewind", "s1", "--to", "a1", "--restore", "both")
    assert path_ids(session) == ["u1", "a1"]
    run("rewind", "s1", "--undo", "--restore", "both")
    assert not file.exists()
    assert isinstance(run("rewind", "s1", "--to", "a2", "--restore", "files").exception, TranscriptError)


def test_a_rewind_needs_a_goal(session: Path) -> None:
    assert isinstance(run("rewind", "s1").exception, UsageError)
    assert isinstance(run("rewind", "s1", "--undo", "--to", "a1").exception, UsageError)
    assert isinstance(run("rewind", "s1", "--to", "nobody").exception, TranscriptError)


@pytest.mark.parametrize("arguments", [("rewind", "s1", "--to", "a1"), ("rewind", "s1", "--undo"), ("fork", "s1")])
def test_a_damaged_history_is_not_changed(session: Path, arguments: tuple[str, ...]) -> None:
    """F29: reading is lenient, changing history on an incomplete view is not."""
    with session.open("ab") as file:
        file.write(b'{"half\n')
    before = session.read_bytes()
    refused = run(*arguments)
    assert isinstance(refused.exception, TranscriptError)
    assert "1 damaged line" in str(refused.exception)
    assert session.read_bytes() == before


def test_a_session_that_is_written_is_not_rewound_but_can_be_forked(session: Path, home: Path, tmp_path: Path) -> None:
    with JsonlSession.open(home, SessionHeader(session_id="s1", time="t", cwd=str(tmp_path))):
        refused = run("rewind", "s1", "--undo").exception
        assert isinstance(refused, SessionBusyError)
        assert str(os.getpid()) in refused.holder
        assert run("fork", "s1").exit_code == 0


@pytest.mark.req("R149")
def test_a_fork_is_a_session_of_its_own(session: Path, home: Path) -> None:
    with session.open("ab") as file:
        file.write(b'{"type":"poll","id":"x1","parent":"a2","time":"t","mood":"new"}\n')
    before = session.read_bytes()
    new = run("fork", "s1", "--at", "a1").stdout.strip()
    assert session.read_bytes() == before
    forked = session.with_name(f"{new}.jsonl")
    transcript = read_transcript(forked)
    assert transcript.header is not None
    assert (transcript.header.session_id, transcript.header.forked_from) == (new, "s1")
    # Every line of the source but its first, byte for byte.
    assert before.split(b"\n", 1)[1] in forked.read_bytes()
    assert path_ids(forked) == ["u1", "a1"]
    assert {info.session_id: info.forked_from for info in list_sessions(home)} == {"s1": None, new: "s1"}


def test_export_in_three_forms(session: Path, tmp_path: Path) -> None:
    lines = run("export", "s1").stdout_bytes.splitlines()
    assert [json.loads(line)["type"] for line in lines] == ["session", "user", "assistant", "user", "assistant"]
    messages = json.loads(run("export", "s1", "--format", "messages").stdout)
    assert messages[0] == {"role": "user", "content": [{"type": "text", "text": "first question"}]}
    run("export", "s1", "--format", "markdown", "-o", str(tmp_path / "page.md"))
    assert "## Assistant, 2026-01-01 10:04:00\n\nsecond answer\n" in (tmp_path / "page.md").read_text()


def test_gc_removes_what_nothing_names(session: Path, home: Path) -> None:
    named, unnamed = (compile_head(HeadParts(system=((Fragment(text, ORIGIN),),))) for text in ("one", "two"))
    heads = HeadStore(home)
    for head in (named, unnamed):
        heads.put(head)
    with session.open("ab") as file:
        send = {"type": "send", "request_id": "r", "head_digest": named.digest}
        file.write(json.dumps(send).encode() + b"\n")
    folder = home / "heads"
    assert run("gc").exit_code == 0
    # Young: a writer stores a head before it names it.
    assert len(list(folder.iterdir())) == 2
    for path in folder.iterdir():
        os.utime(path, (0, 0))
    assert "1 file," in run("gc", "--dry-run").stderr
    assert len(list(folder.iterdir())) == 2
    run("gc")
    assert [path.stem for path in folder.iterdir()] == [named.digest]


def test_gc_removes_nothing_on_an_incomplete_view(session: Path) -> None:
    with session.open("ab") as file:
        file.write(b'{"type":"send","head_dig')
    assert isinstance(run("gc").exception, TranscriptError)
