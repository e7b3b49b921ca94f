"""What is shown: no control characters from outside, no color where none is wanted, any width."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compositor.interactive.screen import Screen
from compositor.interactive.themes import THEMES, choose_theme

HUNK = {"oldStart": 8, "newStart": 8, "lines": [" same", "-old\x1b[2J", "+new", "\t tab"]}


@given(st.text(alphabet=st.sampled_from("a\x1b[]0;\x07\x9b2J\r\b\n"), max_size=40))
def test_law_no_text_reaches_the_terminal_with_control_in_it(text: str) -> None:
    import contextlib
    import io

    shown = io.StringIO()
    screen = Screen(THEMES["none"])
    with contextlib.redirect_stdout(shown):
        screen.line(text)
        screen.markdown(text)
        screen.tool(text, allowed=False, reason=text)
        screen.below(text)
    assert not set(shown.getvalue()) & set("\x1b\x07\x9b\r\b")


def test_a_difference_counts_the_lines_of_its_own_file(capsys: pytest.CaptureFixture[str]) -> None:
    Screen(THEMES["none"], plain=True).diff([HUNK])
    assert [line.split()[:2] for line in capsys.readouterr().out.splitlines()] == [
        ["8", "same"], ["9", "-"], ["9", "+"], ["10", "tab"],
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("environ", "name"),
    [({}, "light"), ({"NO_COLOR": "1"}, "none"), ({"NO_COLOR": ""}, "light"), ({"TERM": "dumb"}, "none")],
)
def test_no_color_and_a_terminal_without_any_beat_the_settings(environ: dict[str, str], name: str) -> None:
    assert choose_theme("light", environ).name == name
