"""Finding and reading a transcript from disk, whoever wrote it."""

from pathlib import Path

import pytest

from compositor.adapters.sessions.jsonl import JsonlSession
from compositor.adapters.sessions.reading import find_session, read_transcript
from compositor.context.transcript.codec import SessionHeader, encode_record
from compositor.errors import TranscriptError, TranscriptFormatError
from compositor.types.blocks import TextBlock
from compositor.types.entries import UserEntry

USER = UserEntry(uuid="u1", parent=None, time="t", content=(TextBlock("hi"),))


def store(home: Path, session_id: str, cwd: str) -> Path:
    with JsonlSession.open(home, SessionHeader(session_id=session_id, time="t", cwd=cwd)) as session:
        session.append([USER])
        return Path(session.path)


def test_both_formats_are_read(tmp_path: Path) -> None:
    own = store(tmp_path, "s1", "/p")
    foreign = tmp_path / "foreign.jsonl"
    foreign.write_text(
        '{"type":"summary","summary":"s","leafUuid":"x"}\n'
        '{"type":"user","uuid":"u1","parentUuid":null,"sessionId":"s","timestamp":"t","message":{"role":"user","content":"hi"}}\n'
    )
    assert read_transcript(own).entries == read_transcript(foreign).entries == (USER,)


@pytest.mark.parametrize("content", [b"", b"# Notes\n", b'{"messages":[]}\n', b"\0\0\0"])
def test_what_is_no_transcript_is_refused_with_its_place(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "notes.md"
    path.write_bytes(content)
    with pytest.raises(TranscriptFormatError, match="not a transcript") as refused:
        read_transcript(path)
    assert refused.value.where == str(path)


def test_a_later_version_is_refused_with_file_and_line(tmp_path: Path) -> None:
    path = tmp_path / "new.jsonl"
    path.write_bytes(encode_record(SessionHeader(session_id="s", time="t", cwd="/", version=9)))
    with pytest.raises(TranscriptFormatError) as refused:
        read_transcript(path)
    assert (refused.value.where, refused.value.line, refused.value.version) == (f"{path}:1", 1, "9")


def test_a_missing_file_and_a_folder_are_refused_in_one_sentence(tmp_path: Path) -> None:
    for path, reason in ((tmp_path / "none.jsonl", "No such file"), (tmp_path, "Is a directory")):
        with pytest.raises(TranscriptError, match=reason) as refused:
            read_transcript(path)
        assert refused.value.where == str(path)


def test_a_session_is_found_by_id_and_by_its_beginning(tmp_path: Path) -> None:
    own = store(tmp_path, "abc-1", "/p")
    other = store(tmp_path, "abc-2", "/q")
    assert find_session(tmp_path, "abc-1", cwd="/p") == own
    assert find_session(tmp_path, "abc", cwd="/p") == own
    assert find_session(tmp_path, "abc-2", cwd="/p") == other
    assert find_session(tmp_path, "abc-2", cwd="/elsewhere") == other


def test_an_exact_id_is_never_ambiguous(tmp_path: Path) -> None:
    exact = store(tmp_path, "abc", "/p")
    store(tmp_path, "abcd", "/p")
    assert find_session(tmp_path, "abc", cwd="/p") == exact


def test_an_ambiguous_or_unknown_id_is_refused(tmp_path: Path) -> None:
    store(tmp_path, "abc-1", "/p")
    store(tmp_path, "abc-2", "/p")
    with pytest.raises(TranscriptError, match="ambiguous: abc-1, abc-2"):
        find_session(tmp_path, "abc", cwd="/p")
    for unknown in ("zzz", "", "../abc-1"):
        with pytest.raises(TranscriptError, match="there is no session"):
            find_session(tmp_path, unknown, cwd="/p")
