"""Captured output: the same however it arrives, and free of terminal control."""

import resource
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compositor.adapters.tools.output import Captured, OutputCapture, clean_output


def captured(folder: Path, data: bytes, step: int) -> Captured:
    capture = OutputCapture(str(folder), "test")
    for start in range(0, len(data), step):
        assert capture.write(data[start : start + step])
    result = capture.finish()
    capture.close()
    return result


@pytest.mark.parametrize("size", [0, 1, 29_999, 30_001, 119_999, 120_001, 400_000])
def test_the_way_it_arrives_does_not_matter(tmp_path: Path, size: int) -> None:
    data = ("é€\n" * size).encode()[:size]
    results = [captured(tmp_path, data, step) for step in (1_000, 65_536, 1_000_000)]
    texts = {result.text.replace(result.path or "-", "PATH") for result in results}
    assert len(texts) == 1
    assert "\ufffd" not in next(iter(texts)).rstrip("\ufffd")
    for result in results:
        assert result.size == size
        assert result.path is None or Path(result.path).read_bytes() == data


def test_a_full_disk_costs_the_rest_and_not_the_call(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (150_000, hard))
    try:
        result = captured(tmp_path, b"x" * 300_000, 65_536)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert Path(result.path or "").stat().st_size == 150_000
    assert f"Its first 150,000 bytes are in {result.path} (the rest could not be kept: File too large)" in result.text


def test_a_folder_that_cannot_be_made_costs_the_middle(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    result = captured(tmp_path / "file/below", b"x" * 300_000, 65_536)
    assert result.path is None
    assert "The middle is lost (the rest could not be kept: Not a directory)" in result.text


def test_a_name_from_outside_cannot_leave_the_folder(tmp_path: Path) -> None:
    capture = OutputCapture(str(tmp_path / "out"), "../../etc/passwd\0\n")
    capture.write(b"x" * 200_000)
    assert Path(capture.finish().path or "").parent == tmp_path / "out"


@pytest.mark.parametrize(
    ("raw", "clean"),
    [
        ("\x1b[1;31mred\x1b[0m", "red"),
        ("\x1b]8;;https://example.invalid\x1b\\link\x1b]8;;\x07", "link"),
        ("\x1b]0;never ends", ""),
        ("\x1bPdevice\x1b\\x", "x"),
        ("\x1b(Bx\x1b7\x1b=", "x"),
        ("\x9b31mx", "x"),
        ("10%\r100%\r\n", "10%\n100%\n"),
        ("a\tb\nc\x00\x08\x7f\x85", "a\tb\nc"),
        ("é€👩\u200d💻", "é€👩\u200d💻"),
        ("\x1b", ""),
        ("\x1b\n", "\n"),
    ],
)
def test_terminal_control_is_taken_out(raw: str, clean: str) -> None:
    assert clean_output(raw) == clean


@given(st.text(alphabet=st.sampled_from("\x1b[]0;mA\x07\\\r\n\x9b P"), max_size=40))
def test_nothing_that_a_terminal_acts_on_is_left(raw: str) -> None:
    clean = clean_output(raw)
    assert not set(clean) & set("\x1b\x07\x9b\r")
    assert clean_output(clean) == clean
