"""Lines on a terminal and lines in a pipe."""

import io

import pytest

from compositor.cli.terminal import fitted, printable


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def _sixty_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")


def test_on_a_terminal_what_does_not_fit_goes_on_below() -> None:
    lines = fitted("missing  key   " + "word " * 30, Terminal(), indent=15).splitlines()
    assert len(lines) > 2
    assert max(map(len, lines)) <= 60
    assert lines[0].startswith("missing  key   word")
    assert {line[:16] for line in lines[1:]} == {" " * 15 + "w"}


def test_in_a_pipe_nothing_is_broken() -> None:
    text = "word " * 30
    assert fitted(text, io.StringIO(), indent=4) == text


def test_breaks_of_the_text_itself_stay() -> None:
    assert fitted("\n  a\n\nb", Terminal(), indent=4) == "\n  a\n\nb"


def test_a_path_is_never_cut() -> None:
    path = "/" + "x" * 80
    assert path in fitted(f"at {path} it is", Terminal(), indent=4)


def test_nothing_that_is_said_can_steer_a_terminal() -> None:
    said = "plain\ttext\n\x1b]0;mine\x07\x1b[2Jgone\r\x9b1m"
    shown = printable(said, Terminal())
    assert not any(ord(char) < 32 and char not in "\t\n" for char in shown)
    assert "\x9b" not in shown
    assert shown.startswith("plain\ttext\n")
    assert printable(said, io.StringIO()) == said
