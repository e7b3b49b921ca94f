"""The session store: what is acknowledged stays, and only one process writes."""

import fcntl
import os
import resource
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from msgspec import Raw

from compositor.adapters.home import project_key
from compositor.adapters.sessions.jsonl import JsonlSession
from compositor.adapters.sessions.lock import SessionLock
from compositor.adapters.sessions.reading import read_transcript
from compositor.context.transcript.codec import SessionHeader, encode_record
from compositor.errors import SessionBusyError, TranscriptError, TranscriptFormatError, UsageError
from compositor.ports import SessionStore
from compositor.types.blocks import TextBlock
from compositor.types.entries import MarkerEntry, ProgressEntry, UserEntry
from compositor.types.journal import OutcomeRecord, SendOutcome
from compositor.types.provenance import Attribution, Fragment, Lane, Lifetime, Source
from compositor.types.request import Head, HeadParts
from compositor.types.snapshot import EventName, PrefixEvent


def header(session_id: str = "s1", cwd: str = "/project") -> SessionHeader:
    return SessionHeader(session_id=session_id, time="2026-01-01T00:00:00.000Z", cwd=cwd, program="compositor/0")


def user(uuid: str, text: str = "hi") -> UserEntry:
    return UserEntry(uuid=uuid, parent=None, time="2026-01-01T00:00:01.000Z", content=(TextBlock(text),))


def path_of(home: Path, session_id: str = "s1") -> Path:
    return home / "sessions" / project_key("/project") / f"{session_id}.jsonl"


def ids(path: Path) -> list[str]:
    return [entry.uuid for entry in read_transcript(path).entries]


def test_records_are_in_the_file_when_append_returns(tmp_path: Path) -> None:
    outcome = OutcomeRecord(request_id="r", time="t", outcome=SendOutcome.LOST)
    event = PrefixEvent(name=EventName.CLEAR, cause="asked")
    with JsonlSession.open(tmp_path, header()) as session:
        store: SessionStore = session
        assert (store.session_id, store.path) == ("s1", str(path_of(tmp_path)))
        store.append([user("1"), outcome])
        session.append([event])
        expected = b"".join(encode_record(record) for record in (header(), user("1"), outcome, event))
        assert path_of(tmp_path).read_bytes() == expected


@pytest.mark.req("R149")
def test_a_resumed_session_only_grows(tmp_path: Path) -> None:
    with JsonlSession.open(tmp_path, header()) as session:
        session.append([user("1")])
    before = path_of(tmp_path).read_bytes()
    with JsonlSession.open(tmp_path, header()) as session:
        session.append([user("2")])
    after = path_of(tmp_path).read_bytes()
    assert after == before + encode_record(user("2"))


@pytest.mark.req("R161")
def test_progress_is_not_stored(tmp_path: Path) -> None:
    progress = ProgressEntry(uuid="p", parent="1", time="t", text="working")
    with JsonlSession.open(tmp_path, header()) as session:
        session.append([progress])
        assert path_of(tmp_path).stat().st_size == 0
        session.append([user("1"), progress, user("2")])
    assert ids(path_of(tmp_path)) == ["1", "2"]


def test_a_session_that_says_nothing_leaves_nothing(tmp_path: Path) -> None:
    with JsonlSession.open(tmp_path, header()):
        pass
    assert list(path_of(tmp_path).parent.iterdir()) == []


def test_a_closed_session_refuses_records(tmp_path: Path) -> None:
    session = JsonlSession.open(tmp_path, header())
    session.append([user("1")])
    session.close()
    session.close()
    with pytest.raises(UsageError, match="is closed"):
        session.append([user("2")])


def test_everything_is_private(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        with JsonlSession.open(tmp_path / "home", header(), durable=True) as session:
            session.append([user("1")])
            session.put_head(HEAD)
            modes = {
                path.relative_to(tmp_path).parts[-1]: stat.S_IMODE(path.stat().st_mode)
                for path in (tmp_path / "home").rglob("*")
            }
    finally:
        os.umask(before)
    assert modes == {
        "sessions": 0o700,
        project_key("/project"): 0o700,
        "s1.jsonl": 0o600,
        "s1.lock": 0o600,
        "heads": 0o700,
        f"{HEAD.digest}.json": 0o600,
    }


# --- torn tails (F30)


def begin(home: Path) -> Path:
    with JsonlSession.open(home, header()) as session:
        session.append([user("1")])
    return path_of(home)


@pytest.mark.parametrize("size", [20, 70_000, 200_000])
def test_an_unfinished_line_is_set_aside_before_the_first_append(tmp_path: Path, size: int) -> None:
    path = begin(tmp_path)
    fragment = b'{"type":"assistant","mess' + b"x" * size
    with path.open("ab") as file:
        file.write(fragment)
    with JsonlSession.open(tmp_path, header()) as session:
        session.append([user("2")])
    with JsonlSession.open(tmp_path, header()) as session:
        session.append([user("3")])
    loaded = read_transcript(path)
    assert [entry.uuid for entry in loaded.entries] == ["1", "2", "3"]
    assert loaded.damaged == ()
    assert path.with_suffix(".torn").read_bytes() == fragment + b"\n"
    assert stat.S_IMODE(path.with_suffix(".torn").stat().st_mode) == 0o600


def test_a_whole_record_without_its_line_break_only_gets_one(tmp_path: Path) -> None:
    path = begin(tmp_path)
    with path.open("ab") as file:
        file.write(encode_record(user("2", "x" * 100_000)).rstrip())
    with JsonlSession.open(tmp_path, header()) as session:
        session.append([user("3")])
    assert ids(path) == ["1", "2", "3"]
    assert not path.with_suffix(".torn").exists()


def test_a_tail_of_nul_bytes_is_cut(tmp_path: Path) -> None:
    path = begin(tmp_path)
    with path.open("ab") as file:
        file.write(b"\0" * 4096)
    with JsonlSession.open(tmp_path, header()) as session:
        session.append([user("2")])
    loaded = read_transcript(path)
    assert [entry.uuid for entry in loaded.entries] == ["1", "2"]
    assert loaded.damaged == ()


def test_a_file_that_is_one_fragment_begins_anew(tmp_path: Path) -> None:
    path = begin(tmp_path)
    path.write_bytes(b'{"type":"sess')
    with JsonlSession.open(tmp_path, header()) as session:
        session.append([user("2")])
    assert read_transcript(path).header == header()
    assert ids(path) == ["2"]


def test_damage_inside_the_file_is_left_as_it_is(tmp_path: Path) -> None:
    path = begin(tmp_path)
    with path.open("ab") as file:
        file.write(b"\0\0\0\n")
    before = path.read_bytes()
    with JsonlSession.open(tmp_path, header()) as session:
        session.append([user("2")])
    assert path.read_bytes().startswith(before)
    assert len(read_transcript(path).damaged) == 1


# --- a disk that refuses


@contextmanager
def file_limit(size: int) -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_batch_that_does_not_fit_is_not_stored_in_part(tmp_path: Path) -> None:
    with JsonlSession.open(tmp_path, header()) as session:
        session.append([user("1")])
        before = path_of(tmp_path).read_bytes()
        with file_limit(len(before) + 500), pytest.raises(TranscriptError, match="cannot be written") as refused:
            session.append([user("2"), user("3", "x" * 2000)])
        assert path_of(tmp_path).read_bytes() == before
        assert refused.value.where == str(path_of(tmp_path))
        session.append([user("4")])
    assert ids(path_of(tmp_path)) == ["1", "4"]


def test_a_record_that_cannot_be_written_spoils_nothing(tmp_path: Path) -> None:
    broken = MarkerEntry(uuid="m", parent=None, time="t", subtype="s", detail=Raw(b"{broken"))
    with JsonlSession.open(tmp_path, header()) as session:
        with pytest.raises(TranscriptFormatError):
            session.append([user("1"), broken])
        session.append([user("2")])
    assert ids(path_of(tmp_path)) == ["2"]


# --- two writers (F31)


def test_a_second_writer_is_told_who_holds_the_session(tmp_path: Path) -> None:
    with JsonlSession.open(tmp_path, header()) as session:
        session.append([user("1")])
        with pytest.raises(SessionBusyError, match=rf"'s1' is being written by process {os.getpid()} on ") as refused:
            JsonlSession.open(tmp_path, header())
        assert refused.value.holder is not None
        assert refused.value.where == str(path_of(tmp_path))
        with JsonlSession.open(tmp_path, header("s2")) as other:
            other.append([user("1")])
    with JsonlSession.open(tmp_path, header()) as session:
        session.append([user("2")])
    assert ids(path_of(tmp_path)) == ["1", "2"]


SECOND = """
import sys
from pathlib import Path
from compositor.adapters.sessions.jsonl import JsonlSession
from compositor.context.transcript.codec import SessionHeader
from compositor.errors import SessionBusyError
try:
    JsonlSession.open(Path(sys.argv[1]), SessionHeader(session_id="s1", time="t", cwd="/project"))
except SessionBusyError as busy:
    print(busy.holder)
else:
    print("opened")
"""


def second_process(home: Path) -> str:
    run = subprocess.run([sys.executable, "-c", SECOND, str(home)], capture_output=True, text=True, check=True)
    return run.stdout.strip()


def test_another_process_is_refused_until_the_first_is_done(tmp_path: Path) -> None:
    session = JsonlSession.open(tmp_path, header())
    session.append([user("1")])
    assert second_process(tmp_path).startswith(f"process {os.getpid()} on ")
    session.close()
    assert second_process(tmp_path) == "opened"


def test_the_lock_of_a_dead_process_holds_nobody_up(tmp_path: Path) -> None:
    path = begin(tmp_path)
    path.with_suffix(".lock").write_text('{"pid":1,"host":"elsewhere"}')
    with JsonlSession.open(tmp_path, header()) as session:
        session.append([user("2")])
    assert ids(path) == ["1", "2"]


def test_a_holder_that_left_no_name_is_another_process(tmp_path: Path) -> None:
    with JsonlSession.open(tmp_path, header()):
        path_of(tmp_path).with_suffix(".lock").write_bytes(b"")
        with pytest.raises(SessionBusyError, match="another process"):
            JsonlSession.open(tmp_path, header())


def test_a_lock_file_that_was_removed_meanwhile_is_not_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The holder before us removes the name after we opened the file and before we locked it."""
    path = tmp_path / "s1.jsonl"
    real = fcntl.flock
    removals = iter([True, False])

    def flock(descriptor: int, operation: int) -> None:
        if next(removals):
            path.with_suffix(".lock").unlink()
        real(descriptor, operation)

    monkeypatch.setattr(fcntl, "flock", flock)
    lock = SessionLock.take(path)
    monkeypatch.undo()
    with pytest.raises(SessionBusyError):
        SessionLock.take(path)
    lock.release()
    lock.release()
    SessionLock.take(path).release()
    assert list(tmp_path.iterdir()) == []


def test_a_session_that_cannot_be_opened_is_not_left_locked(tmp_path: Path) -> None:
    path = path_of(tmp_path)
    path.mkdir(parents=True)
    with pytest.raises(IsADirectoryError):
        JsonlSession.open(tmp_path, header())
    path.rmdir()
    with JsonlSession.open(tmp_path, header()) as session:
        session.append([user("1")])


# --- heads


def head(digest: str, text: str) -> Head:
    origin = Attribution(Source("context", "git"), Lane.USER_CONTEXT, Lifetime.SESSION)
    parts = HeadParts(context=(Fragment(text, origin),))
    return Head(parts=parts, tools=(), deferred=(), system=(), context=None, digest=digest)


HEAD = head("ab" * 32, "status")


@pytest.mark.req("R424")
def test_a_head_is_kept_under_its_digest_once(tmp_path: Path) -> None:
    with JsonlSession.open(tmp_path, header()) as session:
        assert session.get_head(HEAD.digest) is None
        session.put_head(HEAD)
        stored = tmp_path / "heads" / f"{HEAD.digest}.json"
        first = stored.stat()
        session.put_head(HEAD)
    with JsonlSession.open(tmp_path, header("s2")) as other:
        other.put_head(HEAD)
        assert other.get_head(HEAD.digest) == HEAD.parts
    assert (stored.stat().st_ino, stored.stat().st_mtime_ns) == (first.st_ino, first.st_mtime_ns)


def test_a_damaged_head_is_refused_on_read_and_replaced_on_write(tmp_path: Path) -> None:
    with JsonlSession.open(tmp_path, header()) as session:
        session.put_head(HEAD)
    stored = tmp_path / "heads" / f"{HEAD.digest}.json"
    for damage in (stored.read_bytes().replace(b"status", b"STATUS"), stored.read_bytes()[:40], b""):
        stored.write_bytes(damage)
        with JsonlSession.open(tmp_path, header()) as session:
            with pytest.raises(TranscriptFormatError) as refused:
                session.get_head(HEAD.digest)
            assert refused.value.where == str(stored)
            session.put_head(HEAD)
            assert session.get_head(HEAD.digest) == HEAD.parts


def test_a_head_under_a_wrong_name_is_refused(tmp_path: Path) -> None:
    with JsonlSession.open(tmp_path, header()) as session:
        session.put_head(HEAD)
        (tmp_path / "heads" / f"{HEAD.digest}.json").rename(tmp_path / "heads" / f"{'cd' * 32}.json")
        with pytest.raises(TranscriptFormatError, match="is not what was written"):
            session.get_head("cd" * 32)


@pytest.mark.parametrize("digest", ["../../etc/passwd", "", "xyz", "AB" * 32])
def test_what_is_no_digest_names_no_file(tmp_path: Path, digest: str) -> None:
    with JsonlSession.open(tmp_path, header()) as session, pytest.raises(UsageError, match="not the digest"):
        session.get_head(digest)
