"""Files below a path: each once, kept results reused while they hold, damage counted, nothing raised for one bad file."""

import os
from pathlib import Path

import pytest

from compositor.adapters.replay.reading import find_transcripts, replay_files
from compositor.errors import TranscriptError
from tests.insight.replay.planted import BREAKS, begun


def write(path: Path, lines: list[bytes]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(lines))
    return path


def replayed(top: Path, home: Path | None) -> list:
    return list(replay_files(find_transcripts([str(top)]), home=home, said={}))


def test_a_file_is_found_once_whatever_names_it(tmp_path: Path) -> None:
    path = write(tmp_path / "a" / "one.jsonl", begun().lines)
    (tmp_path / "a" / "two.jsonl").symlink_to(path)
    (tmp_path / "a" / "notes.txt").write_text("x")
    assert len(find_transcripts([str(tmp_path), str(path)])) == 1


def test_a_missing_path_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(TranscriptError, match="there is nothing at"):
        find_transcripts([str(tmp_path / "gone")])


def test_a_second_run_reads_only_what_changed(tmp_path: Path) -> None:
    home = tmp_path / "home"
    path = write(tmp_path / "t" / "one.jsonl", BREAKS["a night"][1]().lines)
    first, second = replayed(tmp_path / "t", home), replayed(tmp_path / "t", home)
    assert [one.kept for one in (*first, *second)] == [False, True]
    assert first[0].session == second[0].session
    assert len(second[0].session.breaks) == 1
    with path.open("ab") as file:
        file.write(begun().lines[0].replace(b"u-1", b"u-99"))
    assert replayed(tmp_path / "t", home)[0].kept is False
    (kept,) = (home / "replay").iterdir()
    assert kept.stat().st_mode & 0o077 == 0


def test_a_kept_result_that_is_damaged_is_made_anew(tmp_path: Path) -> None:
    home = tmp_path / "home"
    write(tmp_path / "t" / "one.jsonl", begun().lines)
    replayed(tmp_path / "t", home)
    (kept,) = (home / "replay").iterdir()
    kept.write_bytes(kept.read_bytes()[:100])
    (again,) = replayed(tmp_path / "t", home)
    assert (again.kept, len(again.session.requests)) == (False, 4)


def test_damage_and_other_files_are_told(tmp_path: Path) -> None:
    lines = begun().lines
    write(tmp_path / "t" / "a.jsonl", [*lines[:3], b"\x00\x00\n", b'{"torn', b"\n", *lines[3:]])
    write(tmp_path / "t" / "b.jsonl", [b'{"x": 1}\n'])
    os.mkfifo(tmp_path / "t" / "c.txt")
    found = replayed(tmp_path / "t", None)
    assert found[0].session.damaged == 2
    assert len(found[0].session.requests) == 4
    assert (found[1].session, found[1].problem) == (None, "is no transcript")


def test_a_folder_named_like_a_transcript_is_no_failure(tmp_path: Path) -> None:
    (tmp_path / "t" / "x.jsonl").mkdir(parents=True)
    write(tmp_path / "t" / "x.jsonl" / "one.jsonl", begun().lines)
    assert [len(one.session.requests) for one in replayed(tmp_path / "t", None)] == [4]


def test_a_run_that_was_broken_off_goes_on_where_it_stopped(tmp_path: Path) -> None:
    home = tmp_path / "home"
    for name in "abc":
        write(tmp_path / "t" / f"{name}.jsonl", begun().lines)
    running = replay_files(find_transcripts([str(tmp_path / "t")]), home=home, said={})
    next(running)
    next(running)
    running.close()
    assert [one.kept for one in replayed(tmp_path / "t", home)] == [True, True, False]


def test_a_pipe_and_an_endless_line_stop_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("compositor.adapters.replay.reading.LONGEST", 100_000)
    write(tmp_path / "t" / "a.jsonl", [*begun().lines, b'{"x": "' + b"y" * 250_000 + b'"}\n', *begun().lines[:1]])
    os.mkfifo(tmp_path / "t" / "b.jsonl")
    (found,) = replayed(tmp_path / "t", None)
    assert (len(found.session.requests), found.session.damaged) == (4, 3)
