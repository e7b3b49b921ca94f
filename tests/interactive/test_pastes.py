"""What is put into a prompt: long texts and pictures as marks, and their contents when it is sent."""

import io
from pathlib import Path

import pytest
from PIL import Image

from compositor.adapters.tools.results import Problem
from compositor.interactive.pastes import Pastes, read_clipboard


@pytest.fixture
def picture(tmp_path: Path) -> Path:
    stream = io.BytesIO()
    Image.new("RGB", (3, 3), "blue").save(stream, "PNG")
    path = tmp_path / "a blue one.png"
    path.write_bytes(stream.getvalue())
    return path


def test_a_short_paste_is_typed_and_a_long_one_marked() -> None:
    pastes = Pastes()
    assert pastes.take("two\r\nlines") == "two\nlines"
    assert pastes.take("x" * 801) == "[Pasted #1]"
    assert pastes.take("\n" * 8) == "[Pasted #2]"
    sent = pastes.submission("look: [Pasted #1] and [Pasted #9]")
    assert sent.text == f"look: {'x' * 801} and [Pasted #9]"
    assert (sent.typed, dict(sent.pastes)) == ("look: [Pasted #1] and [Pasted #9]", {1: "x" * 801})


def test_a_mark_of_an_earlier_prompt_is_asked_for() -> None:
    asked: list[int] = []
    pastes = Pastes(lambda number: asked.append(number) or "from before")
    assert pastes.submission("[Pasted #3]").text == "from before"
    assert asked == [3]


@pytest.mark.parametrize("form", ["{}", "'{}'", "file://{}"])
def test_the_path_of_a_picture_that_is_dropped_is_the_picture(picture: Path, form: str) -> None:
    name = str(picture).replace(" ", "%20") if form.startswith("file") else str(picture)
    pastes = Pastes()
    assert pastes.take(form.format(name)) == "[Image #1]"
    assert pastes.take(str(picture).replace(" ", "\\ ")) == "[Image #2]"
    assert len(pastes.submission("[Image #1] [Image #2] [Image #1] [Image #7]").pictures) == 2


def test_what_is_no_picture_stays_text(tmp_path: Path) -> None:
    (tmp_path / "no.png").write_text("text")
    pastes = Pastes()
    for text in (str(tmp_path / "no.png"), str(tmp_path / "gone.png"), "see a.png"):
        assert pastes.take(text) == text


def test_a_clipboard_without_a_picture_says_why(tmp_path: Path) -> None:
    assert "none of wl-paste" in str(getattr(read_clipboard({"PATH": str(tmp_path)}), "message", ""))
    tool = tmp_path / "xclip"
    tool.write_text("#!/bin/sh\nexit 1\n")
    tool.chmod(0o755)
    found = read_clipboard({"PATH": f"{tmp_path}:/bin"})
    assert isinstance(found, Problem)
    assert found.message == "There is no picture on the clipboard."
